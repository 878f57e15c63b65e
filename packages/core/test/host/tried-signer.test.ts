import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ActiveKey, createKeySet, SignerError } from "@signpost/core";
import { createTriedSigner, type TriedSigner } from "@signpost/core/adapter";
import { type ScriptedSigner, scriptedSigner } from "../support/scripted-signer.ts";

const DATA = new TextEncoder().encode("header.payload");

describe("a signer that is tried after a failure", () => {
  let failing: boolean;
  let scripted: ScriptedSigner;
  let key: ActiveKey;
  let tried: TriedSigner;

  beforeEach(() => {
    failing = false;
    scripted = scriptedSigner((call) => {
      if (failing) throw new SignerError("unavailable", "away");
      return call.sign();
    });
    key = createKeySet([{ keyId: "sig", signer: scripted.signer }]).active;
    tried = createTriedSigner({});
  });

  async function fail(): Promise<void> {
    failing = true;
    await expect(tried.sign(key, DATA)).rejects.toMatchObject({ code: "unavailable" });
  }

  test("signs nothing while the key works, and makes no caller wait", async () => {
    await tried.sign(key, DATA);
    expect(await tried.requireRecovered(key)).toBe(false);
    expect(scripted.calls).toHaveLength(1);
  });

  test("rejects while the key still fails", async () => {
    await fail();
    await expect(tried.requireRecovered(key)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("has the key sign once for all that wait, until it signs", async () => {
    await fail();
    failing = false;
    expect(await Promise.all([1, 2, 3].map(() => tried.requireRecovered(key)))).toEqual([true, true, true]);
    expect(scripted.calls).toHaveLength(2);
    expect(await tried.requireRecovered(key)).toBe(false);
  });

  test("counts a signature that was made in another way", async () => {
    await expect(tried.attempt(key, () => Promise.reject(new Error("elsewhere")))).rejects.toThrow("elsewhere");
    expect(await tried.requireRecovered(key)).toBe(true);
    await tried.attempt(key, async () => "token");
    expect(await tried.requireRecovered(key)).toBe(false);
  });

  test("gives each signature sixty seconds, and ends it with a signal", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const signals: AbortSignal[] = [];
    const outcome = tried
      .attempt(key, (signal) => {
        signals.push(signal);
        return new Promise(() => {});
      })
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(59_999);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await outcome).toMatchObject({ code: "timeout", message: "the key did not sign within 60000 ms" });
  });

  test("a signature that started before the failure does not show that the key signs again", async () => {
    let finish: (token: string) => void = () => {};
    const slow = tried.attempt(key, () => new Promise<string>((resolve) => (finish = resolve)));
    await fail();
    finish("token");
    await slow;
    await expect(tried.requireRecovered(key)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("remembers the failure of a key in each later set, as a schedule makes them during an outage", async () => {
    await fail();
    const { signer } = scripted;
    const next = scriptedSigner().signer;
    const later = createKeySet([
      { keyId: "sig", signer },
      { keyId: "next", publicKey: next.publicKey },
    ]).active;
    expect(later).not.toBe(key);
    await expect(tried.requireRecovered(later)).rejects.toMatchObject({ code: "unavailable" });
    failing = false;
    expect(await tried.requireRecovered(later)).toBe(true);
    expect(await tried.requireRecovered(key)).toBe(false);
  });

  test("keeps the failures of each key apart", async () => {
    await fail();
    const other = createKeySet([{ keyId: "other", signer: scriptedSigner().signer }]).active;
    expect(await tried.requireRecovered(other)).toBe(false);
  });
});
