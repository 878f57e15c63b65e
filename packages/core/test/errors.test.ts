import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, test, vi } from "vitest";
import * as core from "@signpost/core";
import { failure } from "./support/failure.ts";
import { fails, scriptedSigner, scriptedSignerOf, signs } from "./support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const { ConfigurationError, EncodingError, failoverSigner, guardSigner, SignerError, SignpostError, VerifyError } =
  core;

let copy: typeof core;
beforeAll(async () => {
  vi.resetModules();
  copy = await import("@signpost/core");
});

describe("the errors of another copy of this package", () => {
  test("are instances of another class", () => {
    expect(copy.SignerError).not.toBe(SignerError);
  });

  test("are instances of our class with the same name, and apart from that only of the base class", () => {
    const errors = [
      new copy.SignerError("throttled", "slow down"),
      new copy.ConfigurationError("argument", "expected something"),
      new copy.EncodingError("invalid_der", "der"),
      new copy.VerifyError("code", "token"),
      new copy.SignpostError("code", "text"),
    ];
    const classes = [SignerError, ConfigurationError, EncodingError, VerifyError];
    expect(errors.map((error) => classes.map((type) => error instanceof type))).toEqual([
      [true, false, false, false],
      [false, true, false, false],
      [false, false, true, false],
      [false, false, false, true],
      [false, false, false, false],
    ]);
    expect(errors.every((error) => error instanceof SignpostError)).toBe(true);
  });

  test("keep their code in the guard, and are tried again when they are transient", async () => {
    const { signer, calls } = scriptedSigner(
      fails(() => new copy.SignerError("unavailable", "gone")),
      signs,
    );
    const guard = guardSigner(signer);
    expect(await guard.sign(DIGEST)).toHaveLength(64);
    expect(calls).toHaveLength(2);
    const refused = guardSigner(scriptedSigner(fails(() => new copy.SignerError("key_disabled", "no"))).signer);
    expect(await failure(refused.sign(DIGEST))).toMatchObject({ code: "key_disabled" });
  });

  test("move a failover along", async () => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const first = scriptedSignerOf(
      key,
      fails(() => new copy.SignerError("unavailable", "gone")),
    );
    const second = scriptedSignerOf(key, signs);
    const failover = failoverSigner([first.signer, second.signer]);
    expect(await failure(failover.sign(DIGEST))).toMatchObject({ code: "unavailable" });
    expect(await failover.sign(DIGEST)).toHaveLength(64);
    expect([first.calls.length, second.calls.length]).toEqual([1, 1]);
  });
});

describe("instanceof", () => {
  class OwnError extends SignerError {}

  test("holds for a subclass as for any class", () => {
    expect(new OwnError("closed", "own") instanceof SignerError).toBe(true);
    expect(new OwnError("closed", "own") instanceof OwnError).toBe(true);
    expect(new SignerError("closed", "ours") instanceof OwnError).toBe(false);
    expect(new copy.SignerError("closed", "theirs") instanceof OwnError).toBe(false);
  });

  test.each([undefined, null, "SignerError", { name: "SignerError", code: "closed" }, new Error("closed")])(
    "does not hold for %o",
    (value) => {
      expect(value instanceof SignerError).toBe(false);
      expect(value instanceof SignpostError).toBe(false);
    },
  );
});

test.each<[transient: boolean, codes: string]>([
  [true, "unavailable throttled timeout overloaded"],
  [false, "aborted closed key_not_found key_disabled access_denied ambiguous_key unsupported_key wrong_key"],
  [false, "pin_incorrect pin_locked bad_signature invalid_argument"],
])("whether the same call may succeed later follows from the code: %s for %s", (transient, codes) => {
  for (const code of codes.split(" ") as core.SignerErrorCode[]) {
    expect(new SignerError(code, "text").transient).toBe(transient);
    // Only that of integrity can be chosen.
    expect(new SignerError(code, "text", { transient: !transient }).transient).toBe(transient);
  }
  expect(new SignerError("integrity", "text").transient).toBe(false);
  expect(new SignerError("integrity", "text", { transient: true }).transient).toBe(true);
});
