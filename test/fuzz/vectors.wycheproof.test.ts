import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ecdsaDerToRaw, ecdsaRawToDer, ecPointToJwk, spkiToJwk, type P256PublicJwk } from "@signpost/core";
import { createStaticKeySet, RP_SIGNING_ALGORITHMS, type StaticKeyFunction } from "@signpost/verify";
import { compactVerify } from "jose";
import { expect, test } from "vitest";
import { wycheproofFolder } from "../../scripts/backends/wycheproof.mjs";

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly result: "valid" | "invalid" | "acceptable";
  readonly flags: readonly string[];
  readonly msg?: string;
  readonly sig?: string;
  readonly public?: string;
  readonly jws?: string;
}

interface Group {
  readonly comment?: string;
  readonly publicKeyPem?: string;
  readonly publicKeyDer?: string;
  readonly publicKeyJwk?: P256PublicJwk;
  readonly private?: object;
  readonly public?: object;
  readonly tests: readonly Vector[];
}

/** Whether Signpost accepts a vector. */
type Accepts = (vector: Vector, group: Group) => boolean | Promise<boolean>;

const isSymmetric = (_vector: Vector, { private: key }: Group): boolean => JSON.stringify(key).includes('"kty":"oct"');

/** What is decided in another way than Wycheproof does, by file: for which vectors, and why. */
const DIFFERENT: Readonly<Record<string, readonly (readonly [why: string, of: typeof isSymmetric])[]>> = {
  json_web_key: [
    ["no key set of Signpost has a key with a shared secret", isSymmetric],
    ["a verifier does not look for keys of a weak generator (ROCA)", ({ comment }) => comment.includes("Roca")],
  ],
  json_web_signature: [
    ["no key set of Signpost has a key with a shared secret", isSymmetric],
    ["the header says PS384, and the alg of the key is PS256", ({ comment }) => comment === "Figure20"],
    ["the alg of the key is ES521, which no specification has", ({ comment }) => comment === "Figure27"],
  ],
};

async function disagreements(
  file: string,
  accepts: Accepts,
): Promise<{ readonly found: readonly string[]; readonly count: number }> {
  const { testGroups } = JSON.parse(readFileSync(join(wycheproofFolder(), `${file}_test.json`), "utf8")) as {
    testGroups: readonly Group[];
  };
  const found: string[] = [];
  const reasons = new Set(DIFFERENT[file]?.map(([why]) => why));
  let count = 0;
  for (const group of testGroups) {
    for (const vector of group.tests) {
      count += 1;
      const accepted = await accepts(vector, group);
      if (vector.result === "acceptable" || accepted === (vector.result === "valid")) continue;
      const reason = DIFFERENT[file]?.find(([, of]) => of(vector, group));
      if (reason !== undefined) {
        reasons.delete(reason[0]);
        continue;
      }
      found.push(
        `${group.comment ?? ""} ${vector.tcId} ${vector.comment} [${vector.flags.join()}]: ${vector.result}, ${accepted ? "accepted" : "refused"}`,
      );
    }
  }
  return { found: [...found, ...[...reasons].map((why) => `no vector needs: ${why}`)], count };
}

const hex = (text: string | undefined): Uint8Array => new Uint8Array(Buffer.from(text ?? "", "hex"));

function accepted(work: () => boolean): boolean {
  try {
    return work();
  } catch {
    return false;
  }
}

const isSignature = (jwk: P256PublicJwk, message: Uint8Array, raw: Uint8Array): boolean =>
  verify(
    "sha256",
    message,
    { key: createPublicKey({ key: { ...jwk }, format: "jwk" }), dsaEncoding: "ieee-p1363" },
    raw,
  );

test.each<[file: string, accepts: Accepts]>([
  [
    "ecdsa_secp256r1_sha256",
    ({ msg, sig }, { publicKeyPem = "", publicKeyDer }) =>
      accepted(() => {
        const jwk = spkiToJwk(publicKeyPem);
        expect(spkiToJwk(hex(publicKeyDer))).toEqual(jwk);
        return isSignature(jwk, hex(msg), ecdsaDerToRaw(hex(sig)));
      }),
  ],
  [
    "ecdsa_secp256r1_sha256_p1363",
    ({ msg, sig }, { publicKeyPem = "" }) =>
      accepted(() => isSignature(spkiToJwk(publicKeyPem), hex(msg), ecdsaDerToRaw(ecdsaRawToDer(hex(sig))))),
  ],
  ["ecdh_secp256r1_ecpoint", ({ public: point }) => accepted(() => ecPointToJwk(hex(point)).kty === "EC")],
  ["ecdh_secp256r1_pem", ({ public: pem = "" }) => accepted(() => spkiToJwk(pem).kty === "EC")],
  ["json_web_key", ({ jws = "" }, group) => isVerified(jws, group)],
  ["json_web_signature", ({ jws = "" }, group) => isVerified(jws, group)],
])("%s", async (file, accepts) => {
  const { found, count } = await disagreements(file, accepts);
  expect(found).toEqual([]);
  expect(count).toBeGreaterThan(20);
});

/** The signature with jose, with the keys that our key function finds. Our own reader of tokens wants JSON claims too. */
async function isVerified(jws: string, { public: given, private: secret }: Group): Promise<boolean> {
  const keys = keysOf(given ?? secret);
  if (keys === undefined) return false;
  try {
    await compactVerify(jws, keys, {
      algorithms: [...RP_SIGNING_ALGORITHMS, "ES384", "ES512", "PS384", "PS512", "RS256", "RS384", "RS512"],
    });
    return true;
  } catch {
    return false;
  }
}

function keysOf(jwks: object | undefined): StaticKeyFunction | undefined {
  const list: unknown = Reflect.get(Object(jwks), "keys") ?? [jwks];
  try {
    return createStaticKeySet({ keys: list as readonly unknown[] }, { allowMissingKid: true });
  } catch {
    return undefined;
  }
}
