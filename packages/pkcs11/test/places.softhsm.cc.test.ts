import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import {
  type ActiveKey,
  createKeySet,
  type GuardedSigner,
  SIGN_CHANNEL,
  type SignEvent,
  signWith,
} from "@signpost/core";
import { moduleChild } from "./support/isolation.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { openingOutcome, outcome, until } from "./support/signing.ts";

const CKR_SESSION_HANDLE_INVALID = 0xb3;
const at = useShimmedToken(1);

/** Signs, and verifies what no signature was verified of yet. */
const signFirst = (entry: ActiveKey): Promise<string> =>
  openingOutcome(signWith(entry, Buffer.from("header.payload"), { verify: "first" }));

async function openEntry(isolation: "thread" | "process"): Promise<{ signer: GuardedSigner; entry: ActiveKey }> {
  const signer = await at.opener.open({ ...at.base, isolation });
  return { signer, entry: createKeySet([{ signer }]).active };
}

describe.each(["thread", "process"] as const)('verify: "first", isolation %s', (isolation) => {
  test("trusts a session of which a signature verified, and proves the next one", async () => {
    const { signer, entry } = await openEntry(isolation);
    expect(await signFirst(entry)).toBe("opened");
    at.shim.tamper("flip");
    // That is what "first" means: this session was proven.
    expect(await signFirst(entry)).toBe("opened");

    at.shim.tamper("none");
    at.shim.fail("C_Sign", CKR_SESSION_HANDLE_INVALID, { times: 1 });
    await until(async () => (await outcome(signer)) === "signed");
    at.shim.tamper("flip");
    expect(await signFirst(entry)).toBe("bad_signature");
    at.shim.tamper("none");
    expect(await signFirst(entry)).toBe("opened");
  });
});

test('verify: "first" proves the next child', async () => {
  const { signer, entry } = await openEntry("process");
  expect(await signFirst(entry)).toBe("opened");
  process.kill(await moduleChild(), "SIGKILL");
  await until(async () => (await outcome(signer)) === "signed");
  at.shim.tamper("flip");
  expect(await signFirst(entry)).toBe("bad_signature");
});

test("events name no place: a signer with sessions is one", async () => {
  const events: SignEvent[] = [];
  const listener = (event: unknown): void => void events.push(event as SignEvent);
  const { signer } = await openEntry("thread");
  subscribe(SIGN_CHANNEL, listener);
  expect(await outcome(signer)).toBe("signed");
  unsubscribe(SIGN_CHANNEL, listener);
  expect(events).toHaveLength(1);
  expect(events[0]).not.toHaveProperty("place");
});
