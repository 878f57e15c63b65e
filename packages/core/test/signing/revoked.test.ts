import { decodeJwt, decodeProtectedHeader, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createKeySet,
  createRotationSchedule,
  currentKeySet,
  guardSigner,
  type KeySet,
  type RotationSchedule,
  SignerError,
  signJws,
  signJwt,
  signWith,
} from "@signpost/core";
import { failure } from "../support/failure.ts";
import { EPOCH, HOUR } from "../support/schedules.ts";
import { type Behaviour, scriptedSigner, signs } from "../support/scripted-signer.ts";

/** A key whose signature is there after `meanwhile` has run. */
function keyOf(keyId: string, meanwhile: () => void = () => {}) {
  const behaviour: Behaviour = async (call) => {
    await Promise.resolve();
    meanwhile();
    return call.sign();
  };
  const { signer, publicKey, calls } = scriptedSigner(behaviour);
  return { entry: { keyId, signer }, publicKey, calls };
}

describe("a key that is revoked while it signs", () => {
  test("gives no token: the new active key signs it", async () => {
    const fresh = keyOf("fresh");
    const revoked = keyOf("revoked", () => (keys = createKeySet([fresh.entry])));
    let keys: KeySet = createKeySet([revoked.entry]);
    const token = await signJwt(() => keys, { sub: "a" });
    expect(decodeProtectedHeader(token)).toMatchObject({ kid: "fresh" });
    expect((await jwtVerify(token, fresh.publicKey)).payload).toMatchObject({ sub: "a" });
  });

  test("holds for any payload", async () => {
    const fresh = keyOf("fresh");
    const revoked = keyOf("revoked", () => (keys = createKeySet([fresh.entry])));
    let keys: KeySet = createKeySet([revoked.entry]);
    expect(decodeProtectedHeader(await signJws(() => keys, "text"))).toMatchObject({ kid: "fresh" });
  });

  test("gives the requested token, even if the options change meanwhile", async () => {
    const fresh = keyOf("fresh");
    const header: Record<string, unknown> = { nonce: 1 };
    const options: { typ: string; header: typeof header } = { typ: "at+jwt", header };
    const revoked = keyOf("revoked", () => {
      keys = createKeySet([fresh.entry]);
      header["nonce"] = 2;
      options.typ = "logout+jwt";
    });
    let keys: KeySet = createKeySet([revoked.entry]);
    const token = await signJwt(() => keys, {}, options);
    expect(decodeProtectedHeader(token)).toEqual({ alg: "ES256", kid: "fresh", typ: "at+jwt", nonce: 1 });
  });

  test("gives its token if it only retires", async () => {
    const next = keyOf("next");
    const retiring = keyOf("retiring", () => {
      const { publicKey } = retiring.entry.signer;
      keys = createKeySet([next.entry, { keyId: "retiring", publicKey }]);
    });
    let keys: KeySet = createKeySet([retiring.entry]);
    expect(decodeProtectedHeader(await signJwt(() => keys, {}))).toMatchObject({ kid: "retiring" });
    expect(next.calls).toHaveLength(0);
  });

  test("ends as unavailable when the next key is revoked as well", async () => {
    let revocations = 0;
    let keys: KeySet;
    const next = (): KeySet => createKeySet([keyOf(`key-${(revocations += 1)}`, () => (keys = next())).entry]);
    keys = next();
    expect(await failure(signJwt(() => keys, {}))).toMatchObject({ code: "unavailable", transient: true });
    expect(revocations).toBe(3);
  });

  test("passes on an error that the source throws meanwhile", async () => {
    const error = new Error("the store is away");
    const revoked = keyOf("revoked", () => (broken = true));
    const keys = createKeySet([revoked.entry]);
    let broken = false;
    const source = (): KeySet => {
      if (broken) throw error;
      return keys;
    };
    expect(await failure(signJwt(source, {}))).toBe(error);
  });

  test("passes on the signer's error, even if the source throws after it", async () => {
    const refusal = new SignerError("key_disabled", "disabled");
    const broken = scriptedSigner(async () => {
      isAway = true;
      throw refusal;
    });
    let isAway = false;
    const keys = createKeySet([{ keyId: "disabled", signer: broken.signer }]);
    const source = (): KeySet => {
      if (isAway) throw new Error("the store is away");
      return keys;
    };
    expect(await failure(signJwt(source, {}))).toMatchObject({ code: "key_disabled", message: "disabled" });
  });

  test("stays under the caller's signal", async () => {
    const controller = new AbortController();
    const fresh = keyOf("fresh");
    const revoked = keyOf("revoked", () => {
      keys = createKeySet([{ keyId: "fresh", signer: guardSigner(fresh.entry.signer) }]);
      controller.abort();
    });
    let keys: KeySet = createKeySet([revoked.entry]);
    expect(await failure(signJwt(() => keys, {}, { signal: controller.signal }))).toMatchObject({ code: "aborted" });
    expect(fresh.calls).toHaveLength(0);
  });

  test("is not looked at by signWith, which has no source", async () => {
    const { active } = createKeySet([keyOf("only").entry]);
    expect(await signWith(active, new Uint8Array([1]))).toHaveLength(64);
  });
});

describe("the exp of a token over a schedule", () => {
  const now = EPOCH + HOUR;
  const schedule = (): RotationSchedule =>
    createRotationSchedule(
      [{ signer: scriptedSigner(signs).signer, announcedFrom: new Date(EPOCH), activeFrom: new Date(EPOCH) }],
      { maxTokenLifetimeSeconds: 600, clockSkewSeconds: 30, now: () => now },
    );

  beforeEach(() => void vi.useFakeTimers({ now, toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  test.each([[630], [600], [-5]])("%d s from now passes", async (seconds) => {
    const exp = now / 1000 + seconds;
    expect(decodeJwt(await signJwt(schedule(), { exp }))).toMatchObject({ exp });
  });

  test.each([[631], [630.5], [1e9]])("%d s from now is refused: its key would be withdrawn before", async (seconds) => {
    const exp = now / 1000 + seconds;
    expect(await failure(signJwt(schedule(), { exp }))).toMatchObject({
      name: "ConfigurationError",
      argument: "claims.exp",
    });
  });

  test("may be missing", async () => {
    expect(decodeJwt(await signJwt(schedule(), { sub: "a" }))).not.toHaveProperty("exp");
  });

  test("is not bounded over a set or a function, which promise no lifetime", async () => {
    const keys = createKeySet([{ signer: scriptedSigner(signs).signer }]);
    expect(decodeJwt(await signJwt(() => keys, { exp: 1e12 }))).toMatchObject({ exp: 1e12 });
  });
});

describe("a key that was revoked at its backend first", () => {
  const refuses = (meanwhile: () => void) => {
    const { signer } = scriptedSigner(async () => {
      meanwhile();
      throw new SignerError("key_disabled", "the key is disabled");
    });
    return { keyId: "revoked", signer };
  };

  test("is replaced by the key that is active by then", async () => {
    const fresh = keyOf("fresh");
    let keys: KeySet = createKeySet([refuses(() => (keys = createKeySet([fresh.entry])))]);
    expect(decodeProtectedHeader(await signJwt(() => keys, {}))).toMatchObject({ kid: "fresh" });
  });

  test("fails as it does while it is still published", async () => {
    const keys = createKeySet([refuses(() => {})]);
    expect(await failure(signJwt(() => keys, {}))).toMatchObject({ code: "key_disabled" });
  });

  test("gives no token under a kid that now names another key", async () => {
    const [fresh, other] = [keyOf("fresh"), keyOf("other")];
    const revoked = keyOf("revoked", () => {
      // Two sets later the kid names a key that only retires.
      keys = createKeySet([fresh.entry]);
      currentKeySet(source);
      keys = createKeySet([fresh.entry, { keyId: "revoked", publicKey: other.entry.signer.publicKey }]);
    });
    let keys: KeySet = createKeySet([revoked.entry]);
    const source = (): KeySet => keys;
    expect(await failure(signJwt(source, {}))).toMatchObject({ code: "kid_rebound" });
    keys = createKeySet([fresh.entry]);
    expect(decodeProtectedHeader(await signJwt(source, {}))).toMatchObject({ kid: "fresh" });
  });
});
