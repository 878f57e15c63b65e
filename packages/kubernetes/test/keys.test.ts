import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createKeySet, createRotationSchedule, type ScheduledEntry } from "@signpost/core";
import {
  createKubernetesSigner,
  createPublicJwksEndpoint,
  type KubernetesLegacyKey,
  type KubernetesSignerOptions,
} from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { claimsOf, ISSUER } from "./support/claims.ts";

// What FetchKeys answers: the keys, when they changed, and when to ask again.

const HOUR_MS = 3_600_000;
const START = Date.parse("2026-03-01T08:00:00Z");
const [first, second] = await Promise.all([openLocalSigner(), openLocalSigner()]);

const pem = (key: KeyObject): string => key.export({ type: "spki", format: "pem" }).toString();
const ecKey = (namedCurve: string): KeyObject => generateKeyPairSync("ec", { namedCurve }).publicKey;
const rsaKey = (modulusLength: number): KeyObject => generateKeyPairSync("rsa", { modulusLength }).publicKey;
const rsa = rsaKey(2048);

const create = (options: Partial<KubernetesSignerOptions> = {}): ReturnType<typeof createKubernetesSigner> =>
  createKubernetesSigner({ issuer: ISSUER, keys: [{ signer: first }], maxTokenLifetimeSeconds: 3600, ...options });

/** The kid that kube-apiserver gives to a key. */
const kubeKidOf = (publicKey: object): string =>
  createHash("sha256")
    .update(createPublicKey({ key: { ...publicKey }, format: "jwk" }).export({ type: "spki", format: "der" }))
    .digest("base64url");

const withLegacy = (...legacyKeys: KubernetesLegacyKey[]): ReturnType<typeof create> => create({ legacyKeys });

/** A schedule with a rotation at START + 6 h. */
function rotation(now: () => number): ReturnType<typeof createRotationSchedule> {
  const at = (hours: number): Date => new Date(START + hours * HOUR_MS);
  const entries: ScheduledEntry[] = [
    { keyId: "old", signer: first, announcedFrom: at(-24), activeFrom: at(-24) },
    { keyId: "new", signer: second, announcedFrom: at(1), activeFrom: at(6) },
  ];
  return createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, rotationWindowHours: 0, now });
}

describe("legacy keys", () => {
  test.each([
    ["RSA", rsa],
    ["P-256", ecKey("P-256")],
    ["P-384", ecKey("P-384")],
    ["P-521", ecKey("P-521")],
  ])("%s, with the kid that kube-apiserver gave it", (_kind, key) => {
    const der = key.export({ type: "spki", format: "der" });
    for (const publicKey of [pem(key), key.export({ format: "jwk" })]) {
      const [, legacy] = withLegacy({ publicKey }).fetchKeys().keys;
      expect(legacy?.keyId).toBe(createHash("sha256").update(der).digest("base64url"));
      expect(Buffer.from(legacy?.spki ?? [])).toEqual(der);
      expect(legacy?.excludeFromDiscovery).toBe(false);
    }
  });

  test("one can be excluded from discovery", () => {
    const [, legacy] = withLegacy({ publicKey: pem(rsa), excludeFromDiscovery: true }).fetchKeys().keys;
    expect(legacy?.excludeFromDiscovery).toBe(true);
  });

  test.each([
    ["Ed25519", pem(generateKeyPairSync("ed25519").publicKey), /RSA key, or an EC key/],
    ["another curve", pem(ecKey("secp256k1")), /legacyKeys\[0\]\.publicKey/],
    ["a short RSA key", pem(rsaKey(1024)), /1024 bits/],
    ["an RSA exponent that Go does not read", { ...rsa.export({ format: "jwk" }), e: "AQAAAAE" }, /exponent/],
    [
      "a private key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
      /private/,
    ],
    ["no key", "sa.pub", /PUBLIC KEY/],
  ])("refused: %s", (_kind, publicKey, message) => {
    expect(() => withLegacy({ publicKey })).toThrow(message);
  });

  test("the same key twice is refused", () => {
    expect(() => withLegacy({ publicKey: pem(rsa) }, { publicKey: pem(rsa), excludeFromDiscovery: true })).toThrow(
      "legacyKeys[1]: the same key as legacyKeys[0]",
    );
  });

  test("the kid of a key that signs is refused, because an excluded key may not sign", () => {
    const publicKey = first.publicKey;
    const keyId = kubeKidOf(publicKey);
    const options = { keys: [{ keyId, signer: first }], legacyKeys: [{ publicKey, excludeFromDiscovery: true }] };
    expect(() => create(options)).toThrow("legacyKeys[0]: has the kid of a key of keys");
  });
});

test("keys of a set that kube-apiserver cannot read are left out", () => {
  const keys = createKeySet([{ keyId: "sa", signer: first }], {
    encryptionKeyset: [{ publicKey: ecKey("P-256").export({ format: "jwk" }) }],
    legacyVerificationKeys: [{ publicKey: pem(generateKeyPairSync("ed25519").publicKey), alg: "EdDSA" }],
  });
  expect(
    create({ keys })
      .fetchKeys()
      .keys.map(({ keyId }) => keyId),
  ).toEqual(["sa"]);
});

describe("a schedule", () => {
  test("announces a key, then signs with it, and the hint is never after the next change", () => {
    let time = START;
    const now = (): number => time;
    const signer = create({ keys: rotation(now), refreshHintSeconds: 3600, now });
    const at = (hours: number): readonly unknown[] => {
      time = START + hours * HOUR_MS;
      const { keys, dataTimestamp, refreshHintSeconds } = signer.fetchKeys();
      return [keys.map(({ keyId }) => keyId), dataTimestamp.toISOString(), refreshHintSeconds];
    };
    expect(at(0)).toEqual([["old"], "2026-03-01T08:00:00.000Z", 3600]);
    expect(at(0.5)).toEqual([["old"], "2026-03-01T08:00:00.000Z", 1800]);
    // Asked long after the change, it still says when it was.
    expect(at(3)).toEqual([["old", "new"], "2026-03-01T09:00:00.000Z", 3600]);
    expect(at(6 - 0.5 / 3600)).toEqual([["old", "new"], "2026-03-01T09:00:00.000Z", 1]);
    expect(at(6)).toEqual([["new", "old"], "2026-03-01T14:00:00.000Z", 3600]);
  });

  test("announces a key that is a legacy key too: it is published once, and not as one that is excluded", async () => {
    let time = START;
    const legacyKeys = [{ publicKey: second.publicKey, excludeFromDiscovery: true }, { publicKey: pem(rsa) }];
    const at = (hours: number): Date => new Date(START + hours * HOUR_MS);
    const keyId = kubeKidOf(second.publicKey);
    const entries: ScheduledEntry[] = [
      { keyId: "old", signer: first, announcedFrom: at(-24), activeFrom: at(-24) },
      { keyId, signer: second, announcedFrom: at(1), activeFrom: at(6) },
    ];
    const now = (): number => time;
    const keys = createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, rotationWindowHours: 0, now });
    const signer = create({ keys, legacyKeys, now });
    const flags = (): readonly unknown[] =>
      signer.fetchKeys().keys.map((key) => [key.keyId === keyId, key.excludeFromDiscovery]);
    const iat = START / 1000;
    const kid = async (): Promise<string> => (await signer.sign(claimsOf({ iat, exp: iat + 600 }))).keyId;
    expect([flags(), await kid()]).toEqual([
      [
        [false, false],
        [true, true],
        [false, false],
      ],
      "old",
    ]);
    const announced = [
      [false, false],
      [true, false],
      [false, false],
    ];
    time = START + 2 * HOUR_MS;
    expect([flags(), await kid()]).toEqual([announced, "old"]);
    time = START + 7 * HOUR_MS;
    expect(await kid()).toBe(keyId);
  });

  test("announces a key that is a legacy key too, also in the public key set", async () => {
    let time = START;
    const keyId = kubeKidOf(second.publicKey);
    const at = (hours: number): Date => new Date(START + hours * HOUR_MS);
    const entries: ScheduledEntry[] = [
      { keyId: "old", signer: first, announcedFrom: at(-24), activeFrom: at(-24) },
      { keyId, signer: second, announcedFrom: at(1), activeFrom: at(6) },
    ];
    const keys = createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, now: () => time });
    const errors: unknown[] = [];
    const endpoint = createPublicJwksEndpoint({
      issuer: ISSUER,
      keys,
      legacyKeys: [{ publicKey: second.publicKey }],
      onError: (error) => void errors.push(error),
    });
    const published = async (): Promise<readonly unknown[]> => {
      const response = endpoint.fetch(new Request(endpoint.jwksUri));
      return ((await response.json()) as { readonly keys: readonly { readonly kid: string }[] }).keys.map(
        ({ kid }) => kid,
      );
    };
    expect(await published()).toEqual(["old", keyId]);
    time = START + 7 * HOUR_MS;
    expect(await published()).toEqual([keyId, "old"]);
    expect(errors).toEqual([]);
  });

  test("that withdraws keys before their tokens expire is refused", () => {
    const keys = rotation(() => START);
    expect(() => create({ keys, maxTokenLifetimeSeconds: 7200, now: () => START })).toThrow(
      /^maxTokenLifetimeSeconds: expected no more than the schedule's/,
    );
  });
});

test.each([
  [undefined, 60],
  [1, 1],
  [3600, 3600],
])("the setting %s gives a hint of %s s without a schedule", (refreshHintSeconds, hint) => {
  expect(create({ refreshHintSeconds }).fetchKeys().refreshHintSeconds).toBe(hint);
});

test.each([
  [{ issuer: "" }, "issuer: "],
  [{ maxTokenLifetimeSeconds: 599 }, "maxTokenLifetimeSeconds: expected a whole number from 600"],
  [{ maxTokenLifetimeSeconds: 315_360_001 }, "maxTokenLifetimeSeconds: expected a whole number from 600 to 315360000"],
  [{ refreshHintSeconds: 0 }, "refreshHintSeconds: expected a whole number from 1 to 3600"],
  [{ refreshHintSeconds: 3601 }, "refreshHintSeconds: "],
  [{ keys: [] }, "keys: "],
  [{ legacyKeys: "sa.pub" as never }, "legacyKeys: expected a list of keys, got a string"],
  [{ legacyKey: [] } as never, "legacyKey: unknown option; did you mean legacyKeys?"],
])("the option %j is refused", (options, message) => {
  expect(() => create(options)).toThrow(message);
});

test.each([600, 315_360_000])("the longest lifetime may be %d s", (maxTokenLifetimeSeconds) => {
  expect(create({ maxTokenLifetimeSeconds }).maxTokenLifetimeSeconds).toBe(maxTokenLifetimeSeconds);
});

test("a schedule whose clock is a second behind is not refused, and one of two seconds is", () => {
  const behind = (ms: number): ReturnType<typeof createRotationSchedule> => {
    const activeFrom = new Date(START - 24 * HOUR_MS);
    const entries: ScheduledEntry[] = [{ signer: first, announcedFrom: activeFrom, activeFrom }];
    const options = { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, now: () => START - ms };
    return createRotationSchedule(entries, options);
  };
  const now = (): number => START;
  expect(() => create({ keys: behind(1000), now })).not.toThrow();
  expect(() => create({ keys: behind(2000), now })).toThrow("maxTokenLifetimeSeconds: ");
});

describe("an RSA exponent", () => {
  const withExponent = (e: string): (() => unknown) => {
    const publicKey = { ...rsa.export({ format: "jwk" }), e };
    return () => withLegacy({ publicKey });
  };

  test("of 31 bits is the largest that Go reads", () => {
    expect(withExponent(Buffer.from("7fffffff", "hex").toString("base64url"))).not.toThrow();
    expect(withExponent(Buffer.from("80000001", "hex").toString("base64url"))).toThrow(
      "legacyKeys[0].publicKey: expected an RSA exponent of at most 31 bits",
    );
  });
});

describe("the public key set", () => {
  const kidsOf = async (options: object): Promise<readonly unknown[]> => {
    const endpoint = createPublicJwksEndpoint({ issuer: ISSUER, keys: [{ keyId: "sa", signer: first }], ...options });
    const read = (await endpoint.fetch(new Request(endpoint.jwksUri)).json()) as { readonly keys: readonly object[] };
    return read.keys.map((key) => [Reflect.get(key, "kid"), Reflect.get(key, "alg")]);
  };
  const p256 = ecKey("P-256").export({ format: "jwk" });

  test("is at /openid/v1/jwks unless another path is given", () => {
    const paths = [{}, { endpoints: { jwks: "/keys" } }, { mountPrefix: "/a" }].map(
      (options) => createPublicJwksEndpoint({ issuer: ISSUER, keys: [{ signer: first }], ...options }).pathname,
    );
    expect(paths).toEqual(["/openid/v1/jwks", "/keys", "/a/openid/v1/jwks"]);
  });

  test("has the keys that sign, then legacy keys, without those that are excluded", async () => {
    const legacyKeys = [
      { publicKey: pem(rsa) },
      { publicKey: p256 },
      { publicKey: pem(ecKey("P-384")), excludeFromDiscovery: true },
      { publicKey: pem(rsaKey(2048)), excludeFromDiscovery: true },
    ];
    expect(await kidsOf({ legacyKeys })).toEqual([
      ["sa", "ES256"],
      [kubeKidOf(p256), "ES256"],
      [kubeKidOf(rsa.export({ format: "jwk" })), "RS256"],
    ]);
  });

  test("has no legacy and encryption keys of the set of the signer", async () => {
    const keys = createKeySet(
      [
        { keyId: "sa", signer: first },
        { keyId: "old", publicKey: second.publicKey },
      ],
      {
        encryptionKeyset: [{ publicKey: p256 }],
        legacyVerificationKeys: [{ publicKey: pem(rsa), alg: "RS256" }],
      },
    );
    expect(await kidsOf({ keys })).toEqual([
      ["sa", "ES256"],
      ["old", "ES256"],
    ]);
  });

  test.each(["P-384", "P-521"])("has no key on %s, and says which one it is", (curve) => {
    const legacyKeys = [{ publicKey: pem(rsa) }, { publicKey: pem(ecKey(curve)) }];
    expect(() => createPublicJwksEndpoint({ issuer: ISSUER, keys: [{ signer: first }], legacyKeys })).toThrow(
      "legacyKeys[1]: expected an RSA or P-256 key, or excludeFromDiscovery",
    );
  });

  test("is the same document until the keys change, and its cache mode is the one of the schedule", () => {
    let time = START;
    const endpoint = createPublicJwksEndpoint({ issuer: ISSUER, keys: rotation(() => time) });
    const { body, headers } = endpoint.respond("GET");
    expect(endpoint.respond("GET").body).toBe(body);
    time = START + 2 * HOUR_MS;
    const announced = endpoint.respond("GET");
    expect(announced.body).not.toBe(body);
    expect([headers["Cache-Control"], announced.headers["Cache-Control"]]).toEqual([
      "public, max-age=3600, stale-while-revalidate=3600",
      "public, max-age=300, must-revalidate",
    ]);
  });

  test.each([
    [{ issuer: 7 }, "issuer: "],
    [{ legacyKeys: "a" }, "legacyKeys: expected a list of keys"],
    [{ key: [] }, "key: unknown option; did you mean keys?"],
    [{ keys: [] }, "keys: "],
  ])("with %j is refused", (options, message) => {
    const given = { issuer: ISSUER, keys: [{ signer: first }], ...options } as never;
    expect(() => createPublicJwksEndpoint(given)).toThrow(message);
  });
});
