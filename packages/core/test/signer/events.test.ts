import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createHash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  createKeySet,
  guardSigner,
  SIGN_CHANNEL,
  type Signer,
  type SignEvent,
  SignerError,
  signWith,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import { fails, scriptedSigner, signs, signsAfter } from "../support/scripted-signer.ts";

const DIGEST = createHash("sha256").update("secret claims").digest();
const request = new AsyncLocalStorage<string>();
let events: { event: SignEvent; request: string | undefined }[] = [];
const listener = (event: unknown): void => {
  events.push({ event: event as SignEvent, request: request.getStore() });
};

beforeEach(() => {
  events = [];
  subscribe(SIGN_CHANNEL, listener);
});
afterEach(() => {
  unsubscribe(SIGN_CHANNEL, listener);
});

describe("the channel signpost:sign", () => {
  test("is named as documented", () => {
    expect(SIGN_CHANNEL).toBe("signpost:sign");
  });

  test("gets one message per call, with fixed fields and no code on success", async () => {
    await guardSigner(scriptedSigner(signs).signer).sign(DIGEST);
    expect(events.map(({ event }) => event)).toEqual([
      { uri: "scripted:key", attempts: 1, queueMs: expect.any(Number), backendMs: expect.any(Number) },
    ]);
  });

  test("gets a second message when the signature of a call does not verify", async () => {
    const guard = guardSigner(scriptedSigner(({ digest }) => scriptedSigner().signer.sign(digest)).signer);
    const { active } = createKeySet([{ signer: guard }]);
    await request.run("a", () => failure(signWith(active, DIGEST)));
    expect(events).toMatchObject([
      { event: { attempts: 1 }, request: "a" },
      { event: { uri: "scripted:key", attempts: 0, code: "bad_signature" }, request: "a" },
    ]);
    expect(events[0]?.event).not.toHaveProperty("code");
    expect(events[1]?.event).not.toHaveProperty("place");
  });

  test("says how many attempts a call took, and its code when it failed", async () => {
    const { signer } = scriptedSigner(fails(() => new SignerError("unavailable", "down")));
    await failure(guardSigner(signer, { maxAttempts: 2 }).sign(DIGEST));
    expect(events.map(({ event }) => event)).toMatchObject([{ attempts: 2, code: "unavailable" }]);
  });

  test("names no place for a signer that fails itself, and the place of one that passes calls on", async () => {
    const down = (uri: string) => () => Promise.reject(new SignerError("unavailable", "down", { uri }));
    const failing = (uri: string, failedAt: string): Signer => ({
      ...scriptedSigner().signer,
      uri,
      sign: down(failedAt),
    });
    await failure(guardSigner(failing("test:own", "test:own"), { maxAttempts: 1 }).sign(DIGEST));
    await failure(guardSigner(failing("test:own", "test:place"), { maxAttempts: 1 }).sign(DIGEST));
    expect(events[0]?.event).not.toHaveProperty("place");
    expect(events[1]?.event).toMatchObject({ uri: "test:own", place: "test:place", code: "unavailable" });
  });

  test("says so when a call never reached the backend", async () => {
    const guard = guardSigner(scriptedSigner(signsAfter(5)).signer, { concurrency: 1, maxQueue: 0 });
    const first = guard.sign(DIGEST);
    await failure(guard.sign(DIGEST));
    await first;
    expect(events.map(({ event }) => [event.attempts, event.code])).toEqual([
      [0, "overloaded"],
      [1, undefined],
    ]);
  });

  test("is published in the caller's async context, even if the end of another call gave it its slot", async () => {
    const guard = guardSigner(scriptedSigner(signsAfter(5)).signer, { concurrency: 1 });
    await Promise.all(["a", "b", "c"].map((id) => request.run(id, () => guard.sign(DIGEST))));
    expect(events.map((entry) => entry.request)).toEqual(["a", "b", "c"]);
  });

  test("holds nothing of the payload", async () => {
    const input = Buffer.from("secret claims");
    await guardSigner(scriptedSigner(signs).signer).sign(DIGEST, { signingInput: input });
    const told = JSON.stringify(events);
    expect(told).not.toContain("secret");
    expect(told).not.toContain(DIGEST.toString("base64url"));
    expect(told).not.toContain(DIGEST.toString("hex"));
  });
});
