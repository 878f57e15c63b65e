import { describe, expect, test } from "vitest";
import { Recovery, type RecoveryParts } from "../src/pool/recovery.ts";
import type { PooledSession } from "../src/pool/session.ts";
import { CommandError } from "../src/wire/command-error.ts";

const notLoggedIn = new CommandError({ kind: "cryptoki", call: "C_Sign", code: 0x101 });

/** A session with one key that was found in it. */
function session(ownsInstance = false): PooledSession {
  return {
    ownsInstance,
    keys: new Map([[0, { alwaysAuthenticate: false }]]),
  } as Partial<PooledSession> as PooledSession;
}

/** The recovery of a token, and how often it initialized the module again. */
function recovering(all: readonly PooledSession[]) {
  let starts = 0;
  const freshStarts = { reinitialize: async () => ((starts += 1), true) };
  const parts = { set: { all }, login: { refusal: undefined }, freshStarts } as unknown as RecoveryParts;
  const recovery = new Recovery(parts, () => {});
  const fail = async (failed: PooledSession): Promise<number> => {
    await recovery.startAfresh(failed, notLoggedIn);
    return starts;
  };
  return { recovery, fail };
}

describe("a session that needs a login, though it was opened again for that", () => {
  test("initializes the module again the third time: the module believes that it is logged in", async () => {
    const one = session();
    const { fail } = recovering([one]);
    expect([await fail(one), await fail(one), await fail(one)]).toEqual([0, 0, 1]);
  });

  test("does not count the other sessions, which one logout hits all at once", async () => {
    const all = Array.from({ length: 4 }, () => session());
    const { fail } = recovering(all);
    for (const each of [...all, ...all]) expect(await fail(each)).toBe(0);
  });

  test("counts from the last signature on", async () => {
    const one = session();
    const { recovery, fail } = recovering([one]);
    expect([await fail(one), await fail(one)]).toEqual([0, 0]);
    recovery.succeeded();
    expect([await fail(one), await fail(one), await fail(one)]).toEqual([0, 0, 1]);
  });

  test("never does so if the module has a private instance in this thread, which is replaced with the session", async () => {
    const one = session(true);
    const { fail } = recovering([one]);
    for (let count = 0; count < 5; count += 1) expect(await fail(one)).toBe(0);
  });

  test("makes every session find its keys again, each time", async () => {
    const all = [session(), session()];
    const [one = session()] = all;
    const { fail } = recovering(all);
    for (let count = 0; count < 3; count += 1) {
      for (const { keys } of all) keys.set(0, { alwaysAuthenticate: false });
      await fail(one);
      expect(all.map(({ keys }) => keys.size)).toEqual([0, 0]);
    }
  });
});
