import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createLimiter, type GuardPolicy, type Limiter } from "@signpost/core";
import { withSharedRate } from "../src/shared-rate.ts";
import { isManagedHsm, parseVault, scopeOf } from "../src/vault.ts";

const vaultAt = (host: string): ReturnType<typeof parseVault> => parseVault("vault", host);

test.each<[host: string, domain: string | undefined, isHsm: boolean]>([
  ["op.vault.azure.net", "vault.azure.net", false],
  ["op.managedhsm.azure.net", "managedhsm.azure.net", true],
  ["op.vault.azure.cn", "vault.azure.cn", false],
  ["op.managedhsm.azure.cn", "managedhsm.azure.cn", true],
  ["op.vault.usgovcloudapi.net", "vault.usgovcloudapi.net", false],
  ["op.managedhsm.usgovcloudapi.net", "managedhsm.usgovcloudapi.net", true],
  ["vault.azure.net", undefined, false],
  ["opvault.azure.net", undefined, false],
  ["op.vault.azure.net.example", undefined, false],
  ["managedhsm.example", undefined, false],
])("%s is of the domain %s, and a Managed HSM: %s", (host, domain, isHsm) => {
  for (const vault of [vaultAt(host), vaultAt(`https://${host}`), vaultAt(`https://${host}:8443`)]) {
    expect([vault.domain, isManagedHsm(vault)]).toEqual([domain, isHsm]);
    expect(scopeOf(vault)).toBe(domain === undefined ? undefined : `https://${domain}/.default`);
  }
});

test.each(["op", "", "a/b.c", "a.b?c", "a.b#c", "u@a.b", "a.b\\c", "http://a.b", "http://127.0.0.1:1", 7, undefined])(
  "%j is no vault",
  (vault) => {
    expect(() => parseVault("vault", vault)).toThrow(/^vault: expected/);
  },
);

describe("the policy of a signer", () => {
  // No permit comes back by the time.
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const limiter = createLimiter({ concurrency: 1, maxQueue: 1 });
  const limiterOf = (policy: GuardPolicy | false, host: string): Limiter => {
    const limited = withSharedRate(policy, vaultAt(host));
    if (limited === false || limited.limiter === undefined) throw new Error("expected a limiter");
    return limited.limiter;
  };
  /** How many permits there are at once. */
  const takeAll = (of: Limiter): readonly (() => void)[] => {
    const releases: (() => void)[] = [];
    for (;;) {
      const permit = of.acquire(undefined, undefined);
      if (typeof permit !== "function") return releases;
      releases.push(permit);
    }
  };

  test("stays as it is for a bare signer, a limiter of the caller and a Managed HSM", () => {
    const policy: GuardPolicy = { maxAttempts: 2 };
    expect(withSharedRate(false, vaultAt("a.vault.azure.net"))).toBe(false);
    const own = { limiter };
    expect(withSharedRate(own, vaultAt("a.vault.azure.net"))).toBe(own);
    expect(withSharedRate(policy, vaultAt("a.managedhsm.azure.net"))).toBe(policy);
  });

  test("has a limiter in place of its slots, and keeps the rest", () => {
    const policy = withSharedRate({ maxAttempts: 2, concurrency: 3, maxQueue: 4 }, vaultAt("b.vault.azure.net"));
    expect(policy).toEqual({ maxAttempts: 2, limiter: expect.anything() });
  });

  test.each([
    ["the slots of the guard by default", {}, "c.vault.azure.net", 16],
    ["its own slots", { concurrency: 3 }, "d.vault.azure.net", 3],
    ["no more than a tenth of 2,000 in a moment", { concurrency: 1000 }, "e.vault.azure.net", 200],
  ])("allows %s at once", (_what, policy, host, expected) => {
    const limited = limiterOf(policy, host);
    const releases = takeAll(limited);
    expect([releases.length, limited.active]).toEqual([expected, expected === 200 ? 201 : expected]);
  });

  test("counts the permits of one vault for all its signers", () => {
    const [one, other] = [limiterOf({ concurrency: 150 }, "f.vault.azure.net"), limiterOf({}, "f.vault.azure.net")];
    for (let count = 0; count < 150; count += 1) void one.acquire(undefined, undefined);
    expect(takeAll(limiterOf({ concurrency: 1000 }, "f.vault.azure.net"))).toHaveLength(50);
    expect(typeof other.acquire(undefined, undefined)).not.toBe("function");
    expect(takeAll(limiterOf({ concurrency: 300 }, "g.vault.azure.net"))).toHaveLength(200);
  });

  test("queues as many calls as the guard, or as it says", async () => {
    for (const [policy, queued] of [
      [{ concurrency: 1 }, 1000],
      [{ concurrency: 1, maxQueue: 2 }, 2],
    ] as const) {
      const limited = limiterOf(policy, `h${queued}.vault.azure.net`);
      const waiting = Array.from({ length: queued + 1 }, () => limited.acquire(undefined, undefined));
      expect([limited.active, limited.queued]).toEqual([1, queued]);
      await expect(limited.acquire(undefined, undefined)).rejects.toMatchObject({ code: "overloaded" });
      const [first] = waiting;
      if (typeof first === "function") first();
      expect(typeof (await waiting[1])).toBe("function");
    }
  });

  test("gives the slot back with the permit, and if there is no permit", async () => {
    const limited = limiterOf({ concurrency: 1000 }, "i.vault.azure.net");
    const releases = takeAll(limited);
    for (const release of releases) release();
    expect(limited.active).toBe(1);
    const caller = new AbortController();
    const waiting = limited.acquire(caller.signal, undefined);
    expect(limited.active).toBe(2);
    caller.abort(new Error("gone"));
    await expect(waiting).rejects.toBeDefined();
    expect(limited.active).toBe(1);
  });
});
