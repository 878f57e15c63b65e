import { createPublicKey, verify } from "node:crypto";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { expect, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  type KeySet,
  type OwnKeys,
  SignerError,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";

const HOUR = 3_600_000;

/** The object that the host asks for signatures, and which it never lets go of. */
async function signingKey(keys: OwnKeys, onError?: (error: Error) => void): Promise<ExternalSigningKey> {
  const issuer = "https://op.example";
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys, onError });
  const { jwks, features, clientDefaults } = signpost;
  const provider = new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } });
  signpost.attach(provider, createJwksEndpoint({ issuer, keys }), { servesRequests: false });
  const [key] = jwks.keys;
  if (key === undefined) throw new Error("expected a key that signs");
  return key;
}

/** Retired keys stay published, each behind the one that took over. */
async function rotations(...keyIds: string[]): Promise<KeySet[]> {
  const entries = await Promise.all(keyIds.map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  return entries.map((_entry, index) => createKeySet(entries.slice(0, index + 1).toReversed()));
}

function signingInput(header: unknown): Buffer {
  return Buffer.from(`${Buffer.from(JSON.stringify(header)).toString("base64url")}.e30`);
}

function verifies(set: KeySet, keyId: string, data: Uint8Array, signature: Uint8Array): boolean {
  const jwk = set.find(keyId)?.publicKey ?? {};
  const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
  return verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature);
}

test("a list of entries is read once: its first signs, and no other", async () => {
  const [a, b] = await Promise.all(["a", "b"].map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  if (a === undefined || b === undefined) throw new Error("expected two entries");
  const entries = [a, b];
  const key = await signingKey(entries);
  entries.reverse();
  const data = signingInput({ alg: "ES256", kid: "a" });
  expect(verifies(createKeySet([a]), "a", data, await key.sign(data))).toBe(true);
  await expect(key.sign(signingInput({ alg: "ES256", kid: "b" }))).rejects.toMatchObject({
    cause: { argument: "kid" },
  });
});

test("a signer without a guard that never answers ends each request, and gets no more calls than it may leave behind", async () => {
  const { publicKey } = await openLocalSigner();
  let calls = 0;
  const dead = {
    uri: "test:dead",
    publicKey,
    sign: () => {
      calls += 1;
      return new Promise<Uint8Array>(() => {});
    },
    close: async () => {},
  };
  const key = await signingKey([{ keyId: "a", signer: dead }]);
  const data = signingInput({ alg: "ES256", kid: "a" });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const first = Promise.allSettled(Array.from({ length: 16 }, async () => key.sign(data)));
    await vi.advanceTimersByTimeAsync(60_000);
    for (const result of await first) {
      expect(result).toMatchObject({ reason: { error: "temporarily_unavailable", cause: { code: "timeout" } } });
    }
    await expect(key.sign(data)).rejects.toMatchObject({ cause: { code: "unavailable" } });
    expect(calls).toBe(16);
  } finally {
    vi.useRealTimers();
  }
});

test("a header that was written just before a rotation is signed by the key that it names", async () => {
  const [first, second] = await rotations("a", "b");
  if (first === undefined || second === undefined) throw new Error("expected two sets");
  let keys = first;
  const key = await signingKey(() => keys);
  const data = signingInput({ alg: "ES256", kid: key.kid });
  keys = second;
  const signature = await key.sign(data);
  expect(verifies(second, "a", data, signature)).toBe(true);
  expect(key.kid).toBe("b");
});

test("a header that is two rotations old is refused", async () => {
  const [first, ...later] = await rotations("a", "b", "c");
  if (first === undefined) throw new Error("expected sets");
  let keys = first;
  const key = await signingKey(() => keys);
  const data = signingInput({ alg: "ES256", kid: key.kid });
  for (const next of later) {
    keys = next;
    expect(key.kid).toBe(next.active.keyId);
  }
  await expect(key.sign(data)).rejects.toMatchObject({ error: "server_error", cause: { argument: "kid" } });
});

test("a clock that jumps back and forth over the activation signs with the current key, and with the previous one", async () => {
  let time = 0;
  const schedule = createRotationSchedule(
    [
      { keyId: "a", signer: await openLocalSigner(), announcedFrom: new Date(0), activeFrom: new Date(0) },
      { keyId: "b", signer: await openLocalSigner(), announcedFrom: new Date(HOUR), activeFrom: new Date(10 * HOUR) },
    ],
    { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, now: () => time },
  );
  const key = await signingKey(schedule);
  for (const [written, signed, kid] of [
    [9.5, 10, "a"],
    [10, 9.5, "b"],
    [9.5, 10, "a"],
    [10, 10.5, "b"],
  ] as const) {
    time = written * HOUR;
    const data = signingInput({ alg: "ES256", kid: key.kid });
    time = signed * HOUR;
    const signature = await key.sign(data);
    expect(verifies(schedule.keySet(), kid, data, signature)).toBe(true);
  }
});

test.each([
  ["without a kid", signingInput({ alg: "ES256" })],
  ["with a kid that is no string", signingInput({ alg: "ES256", kid: 1 })],
  ["of another algorithm, by a customizer of the OP's", signingInput({ alg: "RS256", kid: "a" })],
  ["without an algorithm", signingInput({ kid: "a" })],
  ["that is null", signingInput(null)],
  ["that is no JSON", Buffer.from("eyJ.e30")],
  ["that is empty", Buffer.alloc(0)],
])("a header %s is refused with the host's own error", async (_name, data) => {
  const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
  const key = await signingKey(() => keys);
  await expect(key.sign(data)).rejects.toMatchObject({ error: "server_error", status: 500 });
});

test("a key that is withdrawn while it signs gives no signature, and the client may try again", async () => {
  const [a, b] = await Promise.all(["a", "b"].map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  if (a === undefined || b === undefined) throw new Error("expected two entries");
  const fresh = createKeySet([b]);
  const { signer } = a;
  const revoking = {
    ...signer,
    sign: async (...call: Parameters<typeof signer.sign>) => {
      keys = fresh;
      return signer.sign(...call);
    },
  };
  let keys = createKeySet([{ keyId: "a", signer: revoking }]);
  const key = await signingKey(() => keys);
  const signed = key.sign(signingInput({ alg: "ES256", kid: "a" }));
  await expect(signed).rejects.toMatchObject({
    error: "temporarily_unavailable",
    status: 503,
    cause: { code: "unavailable" },
  });
  expect(await key.sign(signingInput({ alg: "ES256", kid: "b" }))).toHaveLength(64);
});

test("a key that only retires while it signs gives its signature", async () => {
  const [a, b] = await Promise.all(["a", "b"].map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  if (a === undefined || b === undefined) throw new Error("expected two entries");
  const { signer } = a;
  const retiring = {
    ...signer,
    sign: async (...call: Parameters<typeof signer.sign>) => {
      keys = createKeySet([b, { keyId: "a", publicKey: { ...signer.publicKey } }]);
      return signer.sign(...call);
    },
  };
  let keys = createKeySet([{ keyId: "a", signer: retiring }]);
  const key = await signingKey(() => keys);
  expect(await key.sign(signingInput({ alg: "ES256", kid: "a" }))).toHaveLength(64);
});

test("a token that lives longer than its key is published is signed, and the operator gets one report", async () => {
  const now = Date.parse("2026-03-01T08:00:00Z");
  const schedule = createRotationSchedule(
    [{ keyId: "a", signer: await openLocalSigner(), announcedFrom: new Date(0), activeFrom: new Date(0) }],
    { maxTokenLifetimeSeconds: 600, clockSkewSeconds: 30, now: () => now },
  );
  const told: Error[] = [];
  const key = await signingKey(schedule, (error) => told.push(error));
  const token = (exp: unknown): Buffer => {
    const header = signingInput({ alg: "ES256", kid: "a" }).toString().split(".", 1)[0];
    return Buffer.from(`${header}.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}`);
  };
  const signAll = (...exps: unknown[]) => Promise.all(exps.map(async (exp) => key.sign(token(exp))));
  await signAll(now / 1000 + 630, undefined, "later");
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual([]);
  expect(await signAll(now / 1000 + 631, now / 1000 + 9000)).toEqual([expect.anything(), expect.anything()]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toMatchObject([{ name: "ConfigurationError", argument: "maxTokenLifetimeSeconds" }]);
});

test("a key that was revoked after the host wrote its header is a 503: the next header names another", async () => {
  const [a, b] = await Promise.all(["a", "b"].map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  if (a === undefined || b === undefined) throw new Error("expected two entries");
  let keys = createKeySet([a]);
  const key = await signingKey(() => keys);
  const data = signingInput({ alg: "ES256", kid: key.kid });
  keys = createKeySet([b]);
  await expect(key.sign(data)).rejects.toMatchObject({ error: "temporarily_unavailable", status: 503 });
});

test("a key that fails because it was revoked is a 503 too", async () => {
  const [a, b] = await Promise.all(["a", "b"].map(async (keyId) => ({ keyId, signer: await openLocalSigner() })));
  if (a === undefined || b === undefined) throw new Error("expected two entries");
  const disabled = {
    ...a.signer,
    sign: async (): Promise<Uint8Array> => {
      keys = createKeySet([b]);
      throw new SignerError("key_disabled", "the key is disabled");
    },
  };
  let keys = createKeySet([{ keyId: "a", signer: disabled }]);
  const key = await signingKey(() => keys);
  await expect(key.sign(signingInput({ alg: "ES256", kid: "a" }))).rejects.toMatchObject({
    status: 503,
    cause: { code: "unavailable", cause: { code: "key_disabled" } },
  });
});

test("what the signer failed with is told, also where the source of keys fails after it", async () => {
  const signer = await openLocalSigner();
  let failing = false;
  const away = {
    ...signer,
    sign: async (): Promise<Uint8Array> => {
      failing = true;
      throw new SignerError("unavailable", "the HSM is away");
    },
  };
  const keys = createKeySet([{ keyId: "a", signer: away }]);
  const key = await signingKey(() => {
    if (failing) throw new Error("the source of keys is away");
    return keys;
  });
  await expect(key.sign(signingInput({ alg: "ES256", kid: "a" }))).rejects.toMatchObject({
    error: "temporarily_unavailable",
    status: 503,
    cause: { code: "unavailable", message: "the HSM is away" },
  });
});

test.each([undefined, {}, "provider"])("attach refuses %j for a provider, and for an endpoint", async (wrong) => {
  const keys = createKeySet([{ signer: await openLocalSigner() }]);
  const issuer = "https://op.example";
  const { attach, jwks, features, clientDefaults } = signpostKeys({ ExternalSigningKey, errors, keys });
  const provider = new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } });
  const endpoint = createJwksEndpoint({ issuer, keys });
  expect(() => attach(wrong as never, endpoint)).toThrow(expect.objectContaining({ argument: "provider" }));
  expect(() => attach(provider, wrong as never)).toThrow(expect.objectContaining({ argument: "endpoint" }));
});
