import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import * as core from "@signpost/core";
import { signerChecks } from "@signpost/conformance";
import { local, openLocalSigner } from "@signpost/local";
import * as verify from "@signpost/verify";
import * as x509 from "@signpost/x509";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";

// A secret in the place of each argument and each option of each public function: a private key where a public one is expected, a
// token in place of a name. No error shows a part of it, whatever its form.

const wrong = misplacedSecrets("a misplaced secret");
const watch = watchLeaks(wrong.secrets);
const folder = mkdtempSync(join(tmpdir(), "signpost-arguments-"));
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(() => {
  watch[Symbol.dispose]();
  rmSync(folder, { recursive: true });
});

const signer = await openLocalSigner();
const publicKey = signer.publicKey;
const entry = { keyId: "sig-1", signer };
const keys = core.createKeySet([entry]);
const issuer = "https://op.example";
const dates = { announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
const spki = core.jwkToSpki(publicKey);
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
const jwt = await core.signJwt(keys, {
  iss: issuer,
  sub: "a",
  aud: issuer,
  exp: Math.floor(Date.now() / 1000) + 60,
  jti: "1",
});
const certificate = await x509.selfSigned(signer, { subject: "CN=op.example" });
const ownKeys = verify.createOwnKeySet(keys);
const replayStore = verify.createMemoryReplayStore();
const noFetch = (): Promise<never> => Promise.reject(new Error("no network"));
const clientOptions = { issuer, keysOf: () => ownKeys, replayStore };

/** A call that works, and the names of options that it leaves out. */
interface Entry {
  readonly call: (...args: never[]) => unknown;
  readonly args: readonly unknown[];
  /** Options of the last argument. */
  readonly names?: readonly string[];
}

const entryOf = (
  call: (...args: never[]) => unknown,
  args: readonly unknown[],
  ...names: readonly string[]
): Entry => ({ call, args, names });

const VERIFIER = { issuer, keys: ownKeys, audience: "rp" };
const TIMES = ["clockToleranceSeconds", "now"];
const REMOTE = [
  "allowInsecureLoopback",
  "allowMissingKid",
  "clock",
  "contentTypes",
  "defaultMaxAgeSeconds",
  "dispatcher",
  "failureMemoryMs",
  "fetch",
  "forcedRefetchBurst",
  "maxBodyBytes",
  "maxKeys",
  "now",
  "publicAddressesOnly",
  "revalidateWith",
  "staleIfErrorSeconds",
  "staleWhileRevalidate",
  "timeoutMs",
];
const CERTIFICATE = [
  "subjectAltNames",
  "extensions",
  "extensions.keyUsage",
  "extensions.extendedKeyUsage",
  "extensions.custom",
  "extensions.basicConstraints",
  "signal",
];

/** Each public function of these packages. */
const ENTRIES: Readonly<Record<string, Readonly<Record<string, Entry>>>> = {
  core: {
    clientAuthentication: entryOf(core.clientAuthentication, [keys, {}], "lifetimeSeconds", "now", "verify"),
    createInputSigner: entryOf(core.createInputSigner, [keys, {}], "verify"),
    createJwksEndpoint: entryOf(
      core.createJwksEndpoint,
      [{ issuer, keys: [entry] }],
      "mountPrefix",
      "endpoints",
      "endpoints.jwks",
      "allowInsecureIssuer",
      "cors",
      "encryptionKeyset",
      "legacyVerificationKeys",
      "jwksRotationActive",
      "onError",
      "weakIfNoneMatch",
      "certificateNoticeDays",
      "now",
    ),
    createKeySet: entryOf(core.createKeySet, [[entry], {}], "encryptionKeyset", "legacyVerificationKeys", "now"),
    "createKeySet, an entry": entryOf(
      (each) => core.createKeySet([each]),
      [{ ...entry, certificates: { chain: certificate.pem } }],
      "publicKey",
      "certificates.chain",
      "certificates.publish",
      "certificates.trustAnchors",
    ),
    "createKeySet, a retiring entry": entryOf(
      (each) => core.createKeySet([entry, each]),
      [{ keyId: "sig-0", publicKey: core.createKeySet([{ signer: await openLocalSigner() }]).active.publicKey }],
      "certificates",
    ),
    "createKeySet, an encryption key": entryOf(
      (each) => core.createKeySet([entry], { encryptionKeyset: [each] }),
      [{ keyId: "enc-1", publicKey: rsa, alg: "RSA-OAEP-256" }],
    ),
    "createKeySet, a legacy key": entryOf(
      (each) => core.createKeySet([entry], { legacyVerificationKeys: [each] }),
      [{ keyId: "rsa-1", publicKey: rsa, alg: "RS256" }],
    ),
    createLimiter: entryOf(
      core.createLimiter,
      [{ concurrency: 1, maxQueue: 1 }],
      "rate",
      "rate.permits",
      "rate.perSeconds",
      "rate.burst",
    ),
    createRotationSchedule: entryOf(
      core.createRotationSchedule,
      [[{ ...entry, ...dates }], { maxTokenLifetimeSeconds: 60 }],
      "announceHours",
      "clockSkewSeconds",
      "hintAcceptanceHours",
      "now",
      "onDrop",
      "rotationWindowHours",
      "sharedCaches",
    ),
    "createRotationSchedule, an entry": entryOf(
      (each) => core.createRotationSchedule([each], { maxTokenLifetimeSeconds: 60 }),
      [{ ...entry, ...dates }],
      "publicKey",
      "emergencyAt",
      "certificates",
    ),
    currentKeySet: entryOf(core.currentKeySet, [keys]),
    ecdsaDerToRaw: entryOf(core.ecdsaDerToRaw, [core.ecdsaRawToDer(await signer.sign(new Uint8Array(32)))]),
    ecdsaRawToDer: entryOf(core.ecdsaRawToDer, [await signer.sign(new Uint8Array(32))]),
    ecPointToJwk: entryOf(core.ecPointToJwk, [spki.subarray(-65)]),
    emergencyRotation: entryOf(
      core.emergencyRotation,
      [
        [{ ...entry, ...dates }],
        { at: new Date(), revokedKeyId: "sig-1", replacement: { signer: await openLocalSigner() } },
      ],
      "announceHours",
    ),
    failoverSigner: entryOf(core.failoverSigner, [[await openLocalSigner({ policy: false })]]),
    guardSigner: entryOf(
      core.guardSigner,
      [await openLocalSigner({ policy: false }), {}],
      "attemptTimeoutMs",
      "concurrency",
      "deadlineMs",
      "hedgeAfterMs",
      "limiter",
      "maxAttempts",
      "maxQueue",
    ),
    jwkThumbprint: entryOf(core.jwkThumbprint, [publicKey]),
    jwkToSpki: entryOf(core.jwkToSpki, [publicKey]),
    openSigner: entryOf(core.openSigner, ["local:", [local()], {}], "policy", "signal"),
    requestPath: entryOf(core.requestPath, ["/jwks"]),
    rotationWindow: entryOf(core.rotationWindow, [{ startedAt: new Date() }], "hours", "now"),
    serializeJwks: entryOf(core.serializeJwks, [keys]),
    signJws: entryOf(
      core.signJws,
      [keys, "payload", {}],
      "typ",
      "cty",
      "kid",
      "header",
      "certificates",
      "verify",
      "signal",
    ),
    signJwt: entryOf(
      core.signJwt,
      [keys, { iss: issuer }, {}],
      "iat",
      "typ",
      "cty",
      "kid",
      "header",
      "certificates",
      "verify",
      "signal",
    ),
    "signJwt, the claims": entryOf(
      (claims) => core.signJwt(keys, claims),
      [{ iss: issuer, a: { b: ["c"] } }],
      "exp",
      "nbf",
      "iat",
      "aud",
      "sub",
    ),
    "signJwt, members that JSON would change": entryOf(
      (value) => core.signJwt(keys, { a: [value, undefined, value], b: Number.NaN, c: value }),
      [1],
    ),
    signRequestObject: entryOf(
      core.signRequestObject,
      [keys, { response_type: "code" }, { clientId: "rp", issuer }],
      "certificates",
      "lifetimeSeconds",
      "now",
      "verify",
    ),
    signWith: entryOf(core.signWith, [keys.active, new Uint8Array(1), {}], "verify", "signal"),
    spkiToJwk: entryOf(core.spkiToJwk, [spki]),
    "sign of a signer": entryOf(
      (digest, options) => signer.sign(digest, options),
      [new Uint8Array(32), {}],
      "signal",
      "signingInput",
    ),
    "sign of an input signer": entryOf((input) => core.createInputSigner(keys).sign(input), ["a.b"]),
    "signAs of an input signer": entryOf(
      (keyId, data) => core.createInputSigner(keys).signAs(keyId, data),
      ["sig-1", new Uint8Array(1)],
    ),
    "respond of an endpoint": entryOf(
      (...args) => core.createJwksEndpoint({ issuer, keys }).respond(...(args as unknown as ["GET"])),
      ["GET", '"tag"', {}],
      "origin",
      "requestHeaders",
      "requestMethod",
    ),
  },
  local: {
    local: entryOf(local, []),
    openLocalSigner: entryOf(openLocalSigner, [{}], "privateKey", "policy"),
    "a key URI": entryOf((uri) => core.openSigner(uri, [local()]), ["local:"]),
  },
  conformance: {
    signerChecks: entryOf(signerChecks, [{ open: () => openLocalSigner(), secrets: [] }], "faults"),
  },
  x509: {
    createCsr: entryOf(x509.createCsr, [signer, { subject: "CN=op.example" }], ...CERTIFICATE),
    selfSigned: entryOf(
      x509.selfSigned,
      [signer, { subject: "CN=op.example" }],
      "notAfter",
      "notBefore",
      "serialNumber",
      "validityDays",
      ...CERTIFICATE,
    ),
    readCertificates: entryOf(x509.readCertificates, [certificate.pem]),
    inspectChain: entryOf(x509.inspectChain, [x509.readCertificates(certificate.pem), {}], "now", "trustAnchors"),
  },
  verify: {
    createClientKeySets: entryOf(verify.createClientKeySets, [{ fetch: noFetch }], "maxClients", ...REMOTE),
    "keysOf of client key sets": entryOf(
      (id, given) => verify.createClientKeySets({ fetch: noFetch }).keysOf(id, given),
      ["rp", { jwks: { keys: [publicKey] } }],
      "jwksUri",
    ),
    createJwtVerifier: entryOf(
      verify.createJwtVerifier,
      [{ ...VERIFIER, type: "id_token" }],
      "algorithms",
      "maxTokenAgeSeconds",
      "authorizedParties",
      "otherAudiences",
      ...TIMES,
    ),
    "verify of a verifier": entryOf(
      (token, options) => verify.createJwtVerifier({ ...VERIFIER, type: "id_token" }).verify(token, options),
      [jwt, {}],
      "accessToken",
      "code",
      "maxAgeSeconds",
      "nonce",
      "signal",
    ),
    "verify of a verifier of access tokens": entryOf(
      (token, options) => verify.createJwtVerifier({ ...VERIFIER, type: "access_token" }).verify(token, options),
      [jwt, {}],
      "scopes",
      "signal",
    ),
    createMemoryReplayStore: entryOf(verify.createMemoryReplayStore, [{}], "clock", "maxEntries", "now"),
    "claim of a replay store": entryOf(
      (id, ms, options) => verify.createMemoryReplayStore().claim(id, ms, options),
      ["id", 1000, {}],
      "clientId",
    ),
    createOwnKeySet: entryOf(verify.createOwnKeySet, [keys, {}], "withdrawn"),
    createPublicDispatcher: entryOf(
      verify.createPublicDispatcher,
      [{}],
      "allowSubnets",
      "ca",
      "lookup",
      "nat64Prefixes",
    ),
    createRedisReplayStore: entryOf(
      verify.createRedisReplayStore,
      [{ call: () => Promise.resolve("OK") }, {}],
      "keyPrefix",
      "timeoutMs",
    ),
    createRemoteKeySet: entryOf(
      async (uri, options) => verify.createRemoteKeySet(uri, options).preload(),
      ["https://op.example/jwks", { fetch: noFetch }],
      ...REMOTE,
    ),
    createStaticKeySet: entryOf(verify.createStaticKeySet, [{ keys: [publicKey] }, {}], "allowMissingKid", "maxKeys"),
    "createStaticKeySet, an entry": entryOf(
      (jwk) => verify.createStaticKeySet({ keys: [jwk] }),
      [{ ...publicKey, kid: "a" }],
      "alg",
      "use",
      "key_ops",
      "x5c",
      "d",
    ),
    discoverKeySet: entryOf(
      async (given, options) => verify.discoverKeySet(given, options).preload(),
      [issuer, { fetch: noFetch }],
      ...REMOTE,
    ),
    verifyClientAssertion: entryOf(
      verify.verifyClientAssertion,
      [jwt, clientOptions],
      "clientId",
      "otherAudiences",
      "algorithms",
      "maxLifetimeSeconds",
      "strictTyp",
      ...TIMES,
    ),
    verifyOwnJwt: entryOf(
      verify.verifyOwnJwt,
      [jwt, { issuer, keyFunction: ownKeys, purpose: "access_token", audience: "api" }],
      ...TIMES,
    ),
    verifyRequestObject: entryOf(
      verify.verifyRequestObject,
      [jwt, { issuer, clientId: "rp", keyFunction: ownKeys }],
      "allowOtherAudiences",
      "algorithms",
      "maxLifetimeSeconds",
      "strictTyp",
      ...TIMES,
    ),
  },
};

for (const [name, entries] of Object.entries(ENTRIES)) {
  describe(`a secret in the wrong place of @signpost/${name}`, () => {
    test.each(Object.entries(entries))("%s", async (what, { call, args, names = [] }) => {
      const attack = (given: readonly unknown[], where: string): Promise<unknown> =>
        watch.sawFailure(() => Reflect.apply(call, undefined, given) as unknown, `${what}: ${where}`);
      for (const [index, arg] of args.entries()) {
        const replaced = (value: unknown): unknown[] => args.map((each, at) => (at === index ? value : each));
        for (const [shape, value] of wrong.values) {
          await attack(replaced(value), `${shape} as argument ${index}`);
          if (Array.isArray(arg))
            await attack(replaced([value, ...(arg as unknown[])]), `${shape} in argument ${index}`);
        }
        if (!isOptions(arg)) continue;
        for (const [where, options] of misplacedIn(arg, index === args.length - 1 ? names : [], wrong)) {
          await attack(replaced(options), where);
        }
      }
    });
  });
}

function isOptions(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

describe("a secret in the path or the content of a file", () => {
  test("of a local key", async () => {
    for (const [what, value] of wrong.values) {
      if (typeof value !== "string") continue;
      const file = join(folder, "key.pem");
      writeFileSync(file, value);
      await watch.sawFailure(() => core.openSigner(`local:${file}`, [local()]), `a key file with ${what}`);
      await watch.sawFailure(() => core.openSigner(`local:${folder}/${value}`, [local()]), `a path with ${what}`);
    }
  });
});

test.each(Object.keys(ENTRIES))("each public function of @signpost/%s has a row", (name) => {
  const report = readFileSync(fileURLToPath(new URL(`../../etc/${name}.api.md`, import.meta.url)), "utf8");
  const functions = new Set([...report.matchAll(/^export function (\w+)/gm)].map(([, each = ""]) => each));
  expect(functions.size).toBeGreaterThan(0);
  expect(Object.keys(ENTRIES[name] ?? {})).toEqual(expect.arrayContaining([...functions]));
});
