import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createKeySet, failoverSigner, guardSigner, SignerError, signWith, type Signer } from "@signpost/core";
import { createSigner } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { fails, scriptedSignerOf, signs } from "../support/scripted-signer.ts";

// A signer that was written by hand around a failover, and that returns other bytes than the failover gave: a copy has no marks.

const INPUT = new TextEncoder().encode("header.payload");
const down = fails(() => new SignerError("unavailable", "down"));

/** A failover whose second place has another key than it claims. */
function failoverWithWrongStandby() {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const first = { does: signs };
  const right = scriptedSignerOf(pair, (call) => first.does(call)).signer;
  const wrong = scriptedSignerOf(other, signs).signer;
  const place = (uri: string, { sign }: Signer): Signer =>
    createSigner({ uri, publicKey: right.publicKey, signDigest: (digest) => sign(digest), close: async () => {} });
  return { first, bare: failoverSigner([place("test:right", right), place("test:wrong", wrong)]) };
}

/** Returns a copy of what a signer gives. */
const copying = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:copying",
  sign: async (digest, options) => Uint8Array.from(await inner.sign(digest, options)),
});
/** Hands on a copy of the digest too. */
const copyingBoth = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:copying-both",
  sign: async (digest, options) => Uint8Array.from(await inner.sign(Uint8Array.from(digest), options)),
});
/** Sends both as text, as over a socket. */
const sending = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:sending",
  sign: async (digest, options) => {
    const received = Buffer.from(Buffer.from(digest).toString("hex"), "hex");
    return Buffer.from(Buffer.from(await inner.sign(received, options)).toString("base64"), "base64");
  },
});
/** Wipes what it got, once it has a copy. */
const wipingOwn = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:wiping-own",
  sign: async (digest, options) => {
    const copy = Uint8Array.from(digest);
    digest.fill(0);
    return Uint8Array.from(await inner.sign(copy, options));
  },
});
/** Wipes what it handed on, which was copied. */
const wipingHandedOn = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:wiping-handed-on",
  sign: async (digest, options) => {
    const copy = Uint8Array.from(digest);
    const signature = inner.sign(copy, options);
    copy.fill(0);
    return Uint8Array.from(await signature);
  },
});
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** Returns the other valid signature with the same r. */
const negating = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:negating",
  sign: async (digest, options) => {
    const signature = Buffer.from(await inner.sign(digest, options)).toString("hex");
    const s = (N - BigInt(`0x${signature.slice(64)}`)).toString(16).padStart(64, "0");
    return Buffer.from(`${signature.slice(0, 64)}${s}`, "hex");
  },
});
/** The same in the memory that it got. */
const negatingInPlace = (inner: Signer): Signer => ({
  ...inner,
  uri: "test:negating-in-place",
  sign: async (digest, options) => {
    const signature = await inner.sign(digest, options);
    signature.set(await negating({ ...inner, sign: async () => signature }).sign(digest));
    return signature;
  },
});
/** Returns each signature in the memory of the first one. */
const reusing = (inner: Signer): Signer => {
  let own: Uint8Array | undefined;
  return {
    ...inner,
    uri: "test:reusing",
    sign: async (digest, options) => {
      const signature = await inner.sign(digest, options);
      own ??= signature;
      own.set(signature);
      return own;
    },
  };
};
const created = (inner: Signer): Signer =>
  createSigner({
    uri: "test:created",
    publicKey: inner.publicKey,
    signDigest: async (digest) => Uint8Array.from(await inner.sign(digest)),
    close: async () => {},
  });

/** Signs with the first place of a wrapped failover, then with its standby, whose signatures are bad. */
async function expectBadStandbyFound(wrap: (failover: Signer) => Signer) {
  const { first, bare } = failoverWithWrongStandby();
  const { active } = createKeySet([{ signer: wrap(bare) }]);
  const sign = (): Promise<Uint8Array> => signWith(active, INPUT, { verify: "first" });
  await sign();
  await sign();
  first.does = down;
  // Without a guard, the first call after the first place fails only says so.
  const errors = [await failure(sign()), await failure(sign())];
  expect(errors).toContainEqual(expect.objectContaining({ code: "bad_signature" }));
  return { first, sign };
}

describe("verify: first over a signer that copies what a failover gives", () => {
  test.each<[string, (failover: Signer) => Signer]>([
    ["by itself", copying],
    ["twice", (failover) => copying(copying(failover))],
    ["in a guard", (failover) => guardSigner(copying(failover))],
    ["around a guard", (failover) => copying(guardSigner(failover))],
    ["as an adapter", created],
    ["as an adapter in a guard", (failover) => guardSigner(created(failover))],
    ["in another failover", (failover) => failoverSigner([copying(failover)])],
    ["and the digest", copyingBoth],
    ["and the digest, twice", (failover) => copyingBoth(copyingBoth(failover))],
    ["and the digest, in a guard", (failover) => guardSigner(copyingBoth(failover))],
    ["and the digest, around a guard", (failover) => copyingBoth(guardSigner(failover))],
    ["and the digest, in another failover", (failover) => failoverSigner([copyingBoth(failover)])],
    ["and the digest, as an adapter in a guard", (failover) => guardSigner(created(copyingBoth(failover)))],
    ["and the digest, as text", sending],
    ["and wipes its own digest", wipingOwn],
    ["and wipes its own digest, in a guard", (failover) => guardSigner(wipingOwn(failover))],
    ["and wipes its own digest, around a guard", (failover) => wipingOwn(guardSigner(failover))],
    ["and wipes the digest that it handed on", wipingHandedOn],
    ["and wipes the digest that it handed on, around a guard", (failover) => wipingHandedOn(guardSigner(failover))],
    ["into memory that it got before", reusing],
    ["into memory that it got before, in a guard", (failover) => guardSigner(reusing(failover))],
    ["into memory that it got before, around a guard", (failover) => reusing(guardSigner(failover))],
    ["into memory that it got before, in another failover", (failover) => failoverSigner([reusing(failover)])],
  ])("%s, proves each place, and leaves a bad one", async (_how, wrap) => {
    const { first, sign } = await expectBadStandbyFound(wrap);
    first.does = signs;
    // The standby is blamed, so the call after that goes to the first place.
    await sign().catch(() => undefined);
    expect(await sign()).toHaveLength(64);
  });

  test.each<[string, (failover: Signer) => Signer]>([
    ["by itself", negating],
    ["in a guard", (failover) => guardSigner(negating(failover))],
    ["around a guard", (failover) => negating(guardSigner(failover))],
    ["as an adapter", (failover) => created(negating(failover))],
    ["in place", negatingInPlace],
    ["in place, in a guard", (failover) => guardSigner(negatingInPlace(failover))],
    ["in place, around a guard", (failover) => negatingInPlace(guardSigner(failover))],
    ["in place, in another failover", (failover) => failoverSigner([negatingInPlace(failover)])],
  ])("verifies each signature of one that changes it, %s", async (_how, wrap) => {
    await expectBadStandbyFound(wrap);
  });

  test("verifies its signature that it writes into memory that a failover gave", async () => {
    const { bare } = failoverWithWrongStandby();
    let own: Uint8Array | undefined;
    const mixed: Signer = {
      ...bare,
      uri: "test:mixed",
      sign: async (digest, options) => {
        own?.fill(1);
        return (own ??= await bare.sign(digest, options));
      },
    };
    const { active } = createKeySet([{ signer: mixed }]);
    await signWith(active, INPUT, { verify: "first" });
    expect(await failure(signWith(active, INPUT, { verify: "first" }))).toMatchObject({ code: "bad_signature" });
  });

  test("takes the answer of one that retried a signer without a signature, and changed the next", async () => {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const good = scriptedSignerOf(pair, signs).signer;
    const answers: unknown[] = ["not a signature"];
    const inner = createSigner({
      uri: "test:inner",
      publicKey: good.publicKey,
      signDigest: async (digest) => (answers.pop() ?? (await good.sign(digest))) as Uint8Array,
      close: async () => {},
    });
    const retrying: Signer = {
      ...inner,
      uri: "test:retrying",
      sign: async (digest, options) => {
        await inner.sign(digest, options);
        return negating(inner).sign(digest, options);
      },
    };
    const { active } = createKeySet([{ signer: retrying }]);
    expect(await signWith(active, INPUT)).toHaveLength(64);
  });
});
