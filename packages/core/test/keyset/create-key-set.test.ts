import { createHash } from "node:crypto";
import fc from "fast-check";
import { calculateJwkThumbprint } from "jose";
import { describe, expect, test } from "vitest";
import { createKeySet, type KeySetEntry, serializeJwks } from "@signpost/core";
import {
  GOLDEN_ETAG,
  GOLDEN_JWK,
  goldenSet,
  newEcKey,
  newOkpKey,
  newP256Jwk,
  newRsaKey,
  parseBody,
  publishingSigner,
} from "../support/key-fixtures.ts";

const RSA = newRsaKey(2048);
const P384 = newEcKey("P-384");
const ED25519 = newOkpKey("ed25519");

const signing = (keyId?: string): KeySetEntry => ({ keyId, signer: publishingSigner(newP256Jwk()) });
const publishedKids = (...args: Parameters<typeof createKeySet>) =>
  parseBody(serializeJwks(createKeySet(...args)).body).keys.map((key) => key["kid"]);

describe("the document", () => {
  test("is the golden vector, byte for byte", () => {
    const { body, etag } = serializeJwks(goldenSet());
    expect(Buffer.from(body).toString("latin1")).toBe(
      '{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",' +
        '"y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":"sig-golden","alg":"ES256","use":"sig"}]}',
    );
    expect(body).toHaveLength(182);
    expect(etag).toBe(GOLDEN_ETAG);
  });

  test("is the same object at every call", () => {
    const set = goldenSet();
    expect(serializeJwks(set)).toBe(serializeJwks(set));
  });

  test("has its own memory, which no other buffer shares", () => {
    const { body } = serializeJwks(goldenSet());
    expect(body.buffer.byteLength).toBe(body.length);
  });

  test("lists signing keys in configured order, then legacy keys, then encryption keys", () => {
    const options = {
      encryptionKeyset: [{ keyId: "enc", publicKey: RSA.jwk }],
      legacyVerificationKeys: [{ keyId: "old", publicKey: RSA.jwk, alg: "RS256" as const }],
    };
    expect(publishedKids([signing("b"), signing("a")], options)).toEqual(["b", "a", "old", "enc"]);
  });

  test("changes its ETag with the order, a kid and the membership", () => {
    const first = signing("a");
    const second = signing("b");
    const renamed = { ...second, keyId: "c" };
    const lists = [[first, second], [second, first], [first], [first, renamed]];
    const etags = lists.map((entries) => serializeJwks(createKeySet(entries)).etag);
    expect(new Set(etags).size).toBe(lists.length);
  });

  test("is the same on every replica: it depends only on the entries", () => {
    expect(serializeJwks(goldenSet())).toEqual(serializeJwks(goldenSet()));
  });

  test("carries every kid unchanged, with the SHA-256 of exactly its bytes as the ETag", () => {
    const kid = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => text.length <= 256);
    fc.assert(
      fc.property(fc.uniqueArray(kid, { minLength: 1, maxLength: 4 }), (kids) => {
        const entries = kids.map((keyId) => ({ keyId, signer: publishingSigner() }));
        const { body, etag } = serializeJwks(createKeySet(entries));
        expect(parseBody(body).keys.map((key) => key["kid"])).toEqual(kids);
        expect(etag).toBe(`"${createHash("sha256").update(body).digest("hex")}"`);
      }),
    );
  });

  test("takes no member from a polluted Object.prototype", () => {
    Reflect.defineProperty(Object.prototype, "n", { value: "AQAB", configurable: true });
    try {
      expect(serializeJwks(goldenSet()).etag).toBe(GOLDEN_ETAG);
    } finally {
      Reflect.deleteProperty(Object.prototype, "n");
    }
  });

  test("has no line break and no byte order mark", () => {
    const { body } = serializeJwks(goldenSet());
    expect([body[0], body.at(-1)]).toEqual([0x7b, 0x7d]);
    expect(body).not.toContain(0x0a);
  });
});

describe("signing entries", () => {
  test("have the first as the active key and the later ones retiring", () => {
    const signer = publishingSigner();
    const set = createKeySet([{ keyId: "new", signer }, signing("old"), { keyId: "older", publicKey: newP256Jwk() }]);
    expect(set.active).toEqual({ keyId: "new", publicKey: GOLDEN_JWK, signer });
    expect(set.keys.map(({ keyId, role }) => [keyId, role])).toEqual([
      ["new", "active"],
      ["old", "retiring"],
      ["older", "retiring"],
    ]);
  });

  test("are published with exactly the members kty, crv, x, y, kid, alg, use", () => {
    const retiring = { keyId: "old", publicKey: { ...newP256Jwk(), x5c: ["AAAA"], ext: true, key_ops: ["verify"] } };
    for (const key of parseBody(serializeJwks(createKeySet([signing("new"), retiring])).body).keys) {
      expect(Object.keys(key)).toEqual(["kty", "crv", "x", "y", "kid", "alg", "use"]);
      expect(key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" });
    }
  });

  test("take the thumbprint of the key as the default kid", async () => {
    const publicKey = newP256Jwk();
    const set = createKeySet([{ signer: publishingSigner(publicKey) }]);
    expect(set.active.keyId).toBe(await calculateJwkThumbprint({ ...publicKey }));
  });

  test("may be public keys in PEM", () => {
    const { jwk, pem } = newEcKey("P-256");
    const set = createKeySet([signing("new"), { keyId: "old", publicKey: pem }]);
    expect(set.find("old")?.publicKey).toEqual(jwk);
  });

  test("may hold one key under two kids, for the time of a rename", () => {
    const publicKey = newP256Jwk();
    const set = createKeySet([
      { keyId: "b", signer: publishingSigner(publicKey) },
      { keyId: "a", publicKey },
    ]);
    expect(set.find("a")?.publicKey).toEqual(set.find("b")?.publicKey);
  });

  test("have their public key read once: a signer that later shows another one changes nothing", () => {
    const signer = { ...publishingSigner() };
    const set = createKeySet([{ keyId: "sig-golden", signer }]);
    Object.assign(signer, { publicKey: newP256Jwk() });
    expect(set.active.publicKey).toEqual(GOLDEN_JWK);
    expect(serializeJwks(set).etag).toBe(GOLDEN_ETAG);
  });

  test("accept a kid of 256 characters, with spaces and non-ASCII kept", () => {
    const keyId = ` Schlüssel 🔑 ${"x".repeat(240)} `.slice(0, 256);
    expect(publishedKids([signing(keyId)])).toEqual([keyId]);
  });
});

describe("encryption keys", () => {
  const enc = (publicKey: object | string, alg?: string) =>
    createKeySet([signing("sig")], { encryptionKeyset: [{ keyId: "enc", publicKey, alg }] });
  const published = (set: ReturnType<typeof enc>) => parseBody(serializeJwks(set).body).keys[1];

  test("of type RSA have the members kty, n, e, kid, alg, use and the default alg RSA-OAEP-256", () => {
    const { n, e } = RSA.jwk;
    expect(JSON.stringify(published(enc(RSA.jwk)))).toBe(
      JSON.stringify({ kty: "RSA", n, e, kid: "enc", alg: "RSA-OAEP-256", use: "enc" }),
    );
  });

  test.for(["P-256", "P-384", "P-521"])("of type EC on %s have crv, x, y and the default alg ECDH-ES", (crv) => {
    const { jwk } = newEcKey(crv);
    expect(JSON.stringify(published(enc(jwk)))).toBe(
      JSON.stringify({ kty: "EC", crv, x: jwk["x"], y: jwk["y"], kid: "enc", alg: "ECDH-ES", use: "enc" }),
    );
  });

  test("have the same bytes from a JWK and from PEM", () => {
    for (const { jwk, pem } of [RSA, P384]) {
      expect(
        serializeJwks(
          createKeySet([{ keyId: "s", signer: publishingSigner() }], { encryptionKeyset: [{ publicKey: pem }] }),
        ),
      ).toEqual(
        serializeJwks(
          createKeySet([{ keyId: "s", signer: publishingSigner() }], { encryptionKeyset: [{ publicKey: jwk }] }),
        ),
      );
    }
  });

  test.for([
    [RSA, "RSA-OAEP"],
    [RSA, "RSA-OAEP-512"],
    [P384, "ECDH-ES+A256KW"],
  ] as const)("carry the alg that is given (row %#)", ([{ jwk }, alg]) => {
    expect(published(enc(jwk, alg))).toMatchObject({ alg });
  });

  test("take the thumbprint of the key as the default kid", async () => {
    const set = createKeySet([signing("sig")], { encryptionKeyset: [{ publicKey: RSA.jwk }] });
    expect(set.keys[1]?.keyId).toBe(await calculateJwkThumbprint({ ...RSA.jwk }));
  });

  test("never sign: their role and use say so", () => {
    expect(enc(RSA.jwk).find("enc")).toMatchObject({ role: "encryption", use: "enc" });
  });
});

describe("legacy verification keys", () => {
  test.for([
    ["RS256", RSA.jwk, ["kty", "n", "e", "kid", "alg", "use"]],
    ["PS256", RSA.pem, ["kty", "n", "e", "kid", "alg", "use"]],
    ["EdDSA", ED25519.jwk, ["kty", "crv", "x", "kid", "alg", "use"]],
    ["EdDSA", ED25519.pem, ["kty", "crv", "x", "kid", "alg", "use"]],
  ] as const)("of %s are published with use sig and never sign", ([alg, publicKey, members]) => {
    const set = createKeySet([signing("sig")], { legacyVerificationKeys: [{ keyId: "old", publicKey, alg }] });
    const key = parseBody(serializeJwks(set).body).keys[1] ?? {};
    expect(Object.keys(key)).toEqual(members);
    expect(key).toMatchObject({ kid: "old", alg, use: "sig" });
    expect(set.find("old")?.role).toBe("legacy");
    expect(set.active.keyId).toBe("sig");
  });
});

describe("a set", () => {
  test("finds a key by its exact kid and by nothing else", () => {
    const set = createKeySet([signing("Sig-1")]);
    expect(set.find("Sig-1")?.keyId).toBe("Sig-1");
    for (const other of ["sig-1", "Sig-1 ", " Sig-1", "Sig-", "", "__proto__", "constructor"]) {
      expect(set.find(other)).toBeUndefined();
    }
  });

  test("is frozen to its last member", () => {
    const set = createKeySet([signing("a")], { encryptionKeyset: [{ publicKey: RSA.jwk }] });
    const parts = [
      set,
      set.keys,
      set.active,
      set.active.publicKey,
      ...set.keys,
      ...set.keys.map((key) => key.publicKey),
    ];
    expect(parts.map((part) => Object.isFrozen(part))).toEqual(parts.map(() => true));
    expect(Object.isFrozen(serializeJwks(set))).toBe(true);
  });

  test("does not change with the arrays and objects that it was made of", () => {
    const retiring = { keyId: "old", publicKey: { ...newP256Jwk() } };
    const entries: KeySetEntry[] = [signing("new"), retiring];
    const set = createKeySet(entries);
    const before = Buffer.from(serializeJwks(set).body).toString();
    retiring.keyId = "changed";
    Object.assign(retiring.publicKey, newP256Jwk());
    entries.length = 0;
    expect(set.keys.map((key) => key.keyId)).toEqual(["new", "old"]);
    expect(set.find("old")?.publicKey).not.toEqual(retiring.publicKey);
    expect(Buffer.from(serializeJwks(set).body).toString()).toBe(before);
  });

  test("leaves the caller's own objects unfrozen", () => {
    const publicKey = { ...newP256Jwk() };
    const signer = publishingSigner(publicKey);
    createKeySet([{ signer }]);
    expect([signer, publicKey].map((value) => Object.isFrozen(value))).toEqual([false, false]);
  });
});
