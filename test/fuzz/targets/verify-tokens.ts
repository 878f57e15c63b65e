import { createPrivateKey, sign } from "node:crypto";
import { createKeySet } from "@signpost/core";
import {
  createJwtVerifier,
  createOwnKeySet,
  createStaticKeySet,
  verifyClientAssertion,
  verifyOwnJwt,
  verifyRequestObject,
  createMemoryReplayStore,
} from "@signpost/verify";
import { compactVerify, decodeProtectedHeader, importJWK } from "jose";
import { parseCompactJws } from "../../../packages/verify/src/token/compact.ts";
import { type Target, must, mustEqual } from "../engine/target.ts";
import { EC_PRIVATE, EC_PUBLIC, ED25519_PUBLIC, ES256_JWS, jsonOr, jws, latin1, utf8 } from "./material.ts";

const NOW_SECONDS = 1_800_000_000;
const ISSUER = "https://op.example";
const CLAIMS = { iss: ISSUER, sub: "alice", aud: "client-1", iat: NOW_SECONDS - 10, exp: NOW_SECONDS + 300 };
const EC_KEY = createPrivateKey({ key: EC_PRIVATE, format: "jwk" });
/** RFC 8037 appendix A.1. Its signatures are the same in each run. */
const ED_KEY = createPrivateKey({
  key: { ...ED25519_PUBLIC, d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" },
  format: "jwk",
});
const keySet = createStaticKeySet({
  keys: [
    { ...EC_PUBLIC, kid: "ec", alg: "ES256" },
    { ...ED25519_PUBLIC, kid: "ed", alg: "EdDSA" },
  ],
});
const now = (): number => NOW_SECONDS * 1000;
const common = { issuer: ISSUER, keys: keySet, algorithms: ["ES256", "EdDSA"] as const, now };
const signer = {
  uri: "example:key",
  publicKey: EC_PUBLIC,
  sign: async () => new Uint8Array(64),
  close: async () => undefined,
};
const OWN_KEYS = createOwnKeySet(createKeySet([{ keyId: "ec", signer }]));
const ID_TOKENS = createJwtVerifier({ ...common, type: "id_token", audience: "client-1" });
const ACCESS_TOKENS = createJwtVerifier({ ...common, type: "access_token", audience: "client-1" });

/** A token with a good signature over any bytes as claims. */
function signed(header: object, claims: Uint8Array | string): string {
  const input = `${Buffer.from(JSON.stringify(header)).toString("base64url")}.${Buffer.from(claims).toString("base64url")}`;
  const signature =
    Reflect.get(header, "alg") === "EdDSA"
      ? sign(null, Buffer.from(input), ED_KEY)
      : sign("sha256", Buffer.from(input), { key: EC_KEY, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

export const VERIFY_TOKENS: readonly Target[] = [
  {
    name: "compact-jws",
    parsers: ["verify/token/compact.ts", "verify/jwk/json.ts"],
    says: "accepts three canonical parts with JSON objects, and reads the same header as jose",
    structure: "jwt",
    seeds: [
      ES256_JWS,
      jws({ alg: "ES256", kid: "ec", typ: "at+jwt" }, CLAIMS),
      jws({ alg: "none" }, {}),
      `${ES256_JWS}.`,
      ES256_JWS.replace(/.$/, "R"),
    ],
    words: ["crit", "b64", "alg", "none", "=", ".", "e30", "\ufeff"],
    check(input, probe) {
      const token = latin1(input);
      const read = probe.attempt(() => parseCompactJws(token));
      if (!read.ok) return read.outcome;
      const { header, claims, signature } = read.value;
      const parts = token.split(".").map((part) => Buffer.from(part, "base64url"));
      mustEqual(parts.map((part) => part.toString("base64url")).join("."), token, "the parts are canonical");
      mustEqual(
        [header, claims],
        parts.slice(0, 2).map((part) => JSON.parse(new TextDecoder().decode(part)) as unknown),
        "the parts are JSON",
      );
      mustEqual(decodeProtectedHeader(token), header, "jose reads the same header");
      must(Buffer.compare(signature, parts[2] ?? Buffer.alloc(0)) === 0, "the signature is the third part");
      return `alg ${typeof header["alg"]}`;
    },
  },
  {
    name: "jwt-signature",
    parsers: ["verify/token/signature.ts", "verify/jwt/create-jwt-verifier.ts", "verify/jwk/select.ts"],
    says: "accepts no token that jose refuses",
    structure: "jwt",
    seeds: [
      signed({ alg: "EdDSA", kid: "ed" }, JSON.stringify(CLAIMS)),
      signed({ alg: "EdDSA", kid: "ed", typ: "JWT" }, JSON.stringify(CLAIMS)),
      jws({ alg: "ES256", kid: "ec" }, CLAIMS),
    ],
    words: ["none", "HS256", "ES384", "__proto__", "constructor", "toString", "jku", "jwk", "x5c"],
    share: 0.4,
    async check(input, probe) {
      const token = latin1(input);
      const verified = await probe.settle(() => ID_TOKENS.verify(token));
      if (!verified.ok) return verified.outcome;
      const key = await importJWK(ED25519_PUBLIC, "EdDSA");
      const { payload } = await compactVerify(token, key, { algorithms: ["EdDSA"] });
      mustEqual(verified.value.claims, JSON.parse(utf8(payload)) as unknown, "jose verifies the same claims");
      return "verified";
    },
  },
  {
    name: "jwt-claims",
    parsers: [
      "verify/token/claims.ts",
      "verify/jwt/check-id-token.ts",
      "verify/jwt/check-access-token.ts",
      "verify/client/client-assertion.ts",
      "verify/client/request-object.ts",
      "verify/own/verify-own-jwt.ts",
    ],
    says: "refuses wrong claims behind a good signature with a TokenError that shows none of them",
    structure: "json",
    seeds: [
      CLAIMS,
      { ...CLAIMS, client_id: "client-1", jti: "a", scope: "read" },
      { ...CLAIMS, aud: ["client-1"], azp: "client-1", nonce: "n", auth_time: NOW_SECONDS - 20 },
      { ...CLAIMS, iss: "client-1", sub: "client-1", aud: ISSUER, jti: "b" },
      { ...CLAIMS, events: { "http://schemas.openid.net/event/backchannel-logout": {} }, jti: "c", sid: "s" },
    ].map((claims) => JSON.stringify(claims)),
    words: [
      "iss",
      "aud",
      "azp",
      "exp",
      "nbf",
      "iat",
      "jti",
      "sid",
      "events",
      "scope",
      "client_id",
      "request",
      ISSUER,
      "client-1",
    ],
    share: 0.1,
    async check(input, probe) {
      const token = (typ?: string): string =>
        signed({ alg: "ES256", kid: "ec", ...(typ !== undefined && { typ }) }, input);
      const own = { keyFunction: OWN_KEYS, issuer: ISSUER, now } as const;
      const client = { issuer: ISSUER, now } as const;
      const results = [
        await probe.settle(() => ID_TOKENS.verify(token(), { nonce: "n", maxAgeSeconds: 60 })),
        await probe.settle(() => ACCESS_TOKENS.verify(token("at+jwt"), { scopes: ["read"] })),
        await probe.settle(() =>
          verifyClientAssertion(token(), { ...client, keysOf: () => keySet, replayStore: createMemoryReplayStore() }),
        ),
        await probe.settle(() =>
          verifyRequestObject(token("oauth-authz-req+jwt"), { ...client, clientId: "client-1", keyFunction: keySet }),
        ),
        await probe.settle(() =>
          verifyOwnJwt(token("logout+jwt"), { ...own, purpose: "logout_token", audience: "client-1" }),
        ),
        await probe.settle(() => verifyOwnJwt(token(), { ...own, purpose: "id_token_hint" })),
      ];
      if (results.some(({ ok }) => ok)) must(isJsonObject(input), "only an object has claims");
      return results.map(({ outcome }) => outcome.split(":")[0]).join();
    },
  },
];

function isJsonObject(input: Uint8Array): boolean {
  const value = jsonOr(input);
  // A parser may skip a byte order mark (RFC 8259 section 8.1).
  return typeof value === "string" ? value.startsWith("\ufeff") : typeof value === "object" && value !== null;
}
