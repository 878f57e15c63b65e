import { beforeAll, describe, expect, test } from "vitest";
import type { GuardedSigner } from "@signpost/core";
import { counted, openWhole } from "./support/counted.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, signsAndVerifies, until } from "./support/signing.ts";

// A key with CKA_ALWAYS_AUTHENTICATE wants a login (CKU_CONTEXT_SPECIFIC) for each signature.

const SESSIONS = 4;
const WRONG_PIN = "00000000";
const at = useShimmedToken(SESSIONS);
beforeAll(() => at.generateCarefulKey());

const openCareful = (options: Partial<GuardedOptions> = {}): Promise<GuardedSigner> =>
  openWhole(at, SESSIONS, { object: "careful", ...options });

const outcomes = async (signer: GuardedSigner, count: number): Promise<ReadonlySet<string>> =>
  new Set(await Promise.all(Array.from({ length: count }, () => outcome(signer))));

describe("a key with CKA_ALWAYS_AUTHENTICATE", () => {
  test("gets a context-specific login before each signature", async () => {
    const signer = await openCareful();
    const calls = await counted(at, ["C_Login", "C_Sign"], async () => {
      for (let count = 0; count < 5; count += 1) expect(await signsAndVerifies(signer)).toBe(true);
    });
    expect(calls).toEqual({ C_Login: 5, C_Sign: 5 });
  });

  test("signs in all sessions at once, with one login at a time", async () => {
    const signer = await openCareful();
    at.shim.delay("C_Sign", 20);
    expect(await outcomes(signer, 3 * SESSIONS)).toEqual(new Set(["signed"]));
    expect(at.shim.counter("maxInFlight")).toBeGreaterThan(1);
  });

  test("asks its source for the PIN for each signature", async () => {
    let asked = 0;
    const signer = await openCareful({
      pin: () => {
        asked += 1;
        return at.hsm.pin;
      },
    });
    const before = asked;
    expect(await outcomes(signer, 6)).toEqual(new Set(["signed"]));
    expect(asked - before).toBe(6);
  });

  test("tries a PIN that became wrong once, in one of its sessions, and then no more", async () => {
    let pin = at.hsm.pin;
    const signer = await openCareful({ pin: () => pin });
    pin = WRONG_PIN;
    const calls = await counted(at, ["C_Login", "C_Sign"], async () => {
      expect(await outcomes(signer, 4 * SESSIONS)).toEqual(new Set(["pin_incorrect"]));
      // Not even with the right one: until every signer of the token is closed.
      pin = at.hsm.pin;
      expect(await outcomes(signer, SESSIONS)).toEqual(new Set(["pin_incorrect"]));
    });
    expect(calls).toEqual({ C_Login: 1, C_Sign: 0 });
    expect(signer.health()).toMatchObject({ status: "down", lastCode: "pin_incorrect" });
    await signer.close();
    expect(await outcome(await openCareful({ pin: () => pin }))).toBe("signed");
  });

  test.each(["thread", "process"] as const)(
    "does not keep other keys of the token from signing while its PIN is refused, isolation %s",
    async (isolation) => {
      let pin = at.hsm.pin;
      const careful = await openCareful({ isolation, pin: () => pin });
      const other = await at.opener.open({ ...at.base, isolation, pin: () => pin });
      pin = WRONG_PIN;
      const calls = await counted(at, ["C_Login"], async () => {
        expect(await outcomes(careful, 2)).toEqual(new Set(["pin_incorrect"]));
        expect(await outcomes(other, 2 * SESSIONS)).toEqual(new Set(["signed"]));
        at.shim.fail("C_Sign", 0xb3, { times: 1 });
        expect(await outcomes(other, 2 * SESSIONS)).toEqual(new Set(["signed"]));
      });
      expect(calls).toEqual({ C_Login: 1 });
      await until(async () => {
        await outcome(careful);
        return careful.health().status === "down" && other.health().status === "degraded";
      });
      expect(other.health().notes).toEqual([expect.stringMatching(/refused the PIN/)]);
    },
  );

  test.each([
    ["locked", 0x40000, "pin_locked"],
    ["one wrong try from being locked", 0x20000, "pin_incorrect"],
  ])("does not try its PIN once the token says that it is %s", async (_what, flags, code) => {
    const signer = await openCareful();
    at.shim.token({ flags });
    const calls = await counted(at, ["C_Login", "C_SignInit"], async () =>
      expect(await outcomes(signer, 2 * SESSIONS)).toEqual(new Set([code])),
    );
    expect(calls).toEqual({ C_Login: 0, C_SignInit: 0 });
  });

  test.each<[what: string, source: () => string]>([
    [
      "fails",
      () => {
        throw new Error("the secret store is away");
      },
    ],
    ["gives none, as a file does that is just being written", () => ""],
  ])("is unavailable while the source of the PIN %s, and keeps its sessions", async (_what, source) => {
    let works = true;
    const signer = await openCareful({ pin: () => (works ? at.hsm.pin : source()) });
    works = false;
    const calls = await counted(at, ["C_OpenSession"], async () => {
      expect(await outcomes(signer, SESSIONS)).toEqual(new Set(["unavailable"]));
      const message = new RegExp(`token "${at.hsm.tokenLabel}".*the function of the option pin`);
      await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({
        code: "unavailable",
        transient: true,
        message: expect.stringMatching(message) as string,
      });
      works = true;
      await until(async () => (await outcome(signer)) === "signed");
    });
    expect(calls).toEqual({ C_OpenSession: 0 });
  });

  test("survives a lost session between its login and its signature", async () => {
    const signer = await openCareful();
    at.shim.fail("C_Sign", 0xb3, { times: 1 });
    expect(await outcome(signer)).toBe("signed");
    await until(() => signer.health().status === "ready");
    expect(await outcomes(signer, 2 * SESSIONS)).toEqual(new Set(["signed"]));
  });

  test("does not ask for a caller that has gone", async () => {
    let asked = 0;
    let answer = (): void => {};
    let slow = false;
    const signer = await openCareful({
      pin: async () => {
        asked += 1;
        if (slow) await new Promise<void>((resolve) => (answer = resolve));
        return at.hsm.pin;
      },
    });
    slow = true;
    const before = asked;
    const abort = new AbortController();
    const calls = Array.from({ length: SESSIONS }, () => signer.sign(new Uint8Array(32), { signal: abort.signal }));
    await until(() => asked > before);
    abort.abort();
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual(Array(SESSIONS).fill("rejected"));
    slow = false;
    answer();
    expect(await outcome(signer)).toBe("signed");
    expect(asked - before).toBe(2);
  });
});
