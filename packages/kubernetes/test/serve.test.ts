import { generateKeyPairSync } from "node:crypto";
import { connect } from "node:net";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createKeySet, type KeySet, SignerError, type Signer, SignpostError } from "@signpost/core";
import {
  type CallReport,
  createKubernetesSigner,
  type KubernetesSigner,
  type KubernetesSignerOptions,
  serveKubernetesSigner,
  type ServeKubernetesSignerOptions,
} from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { claimsOf, ISSUER } from "./support/claims.ts";
import { verifyWith } from "./support/cluster-keys.ts";
import { connectTo, type KubeClient, type Version } from "./support/grpc-client.ts";
import { privateFolder } from "./support/private-folder.ts";
import { slowSigner } from "./support/slow-signer.ts";

// The service over its socket, asked by a client that is not ours.

const key = await openLocalSigner();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

const signerOf = (options: Partial<KubernetesSignerOptions> = {}): KubernetesSigner =>
  createKubernetesSigner({
    issuer: ISSUER,
    keys: [{ keyId: "sa", signer: key }],
    maxTokenLifetimeSeconds: 3600,
    ...options,
  });

async function serve(
  options: Partial<ServeKubernetesSignerOptions> = {},
  version: Version = "v1",
): Promise<{ client: KubeClient; path: string; close: (withinMs?: number) => Promise<void> }> {
  const folder = await privateFolder();
  const path = folder.at("signer.sock");
  const server = await serveKubernetesSigner({ signer: signerOf(), socket: { path }, ...options });
  const client = connectTo(path, version);
  cleanups.push(
    () => folder[Symbol.asyncDispose](),
    () => server.close(0),
    () => client.close(),
  );
  return { client, path, close: (withinMs) => server.close(withinMs) };
}

describe.each(["v1", "v1alpha1"] as const)("%s", (version) => {
  test("signs, and publishes the key that verifies the token", async () => {
    const { client } = await serve({}, version);
    const claims = claimsOf();
    const answer = await client.sign(claims);
    expect(Object.keys(answer).toSorted()).toEqual(["header", "signature"]);
    expect(await verifyWith(await client.fetchKeys(), claims, answer)).toMatchObject({ iss: ISSUER });
  });

  test("FetchKeys has what an independent reader of the messages expects", async () => {
    const publicKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({ format: "jwk" });
    const legacyKeys = [{ publicKey, excludeFromDiscovery: true }];
    const signer = signerOf({ legacyKeys, refreshHintSeconds: 300, now: () => 1_800_000_000_123 });
    const { client } = await serve({ signer }, version);
    const { keys, dataTimestamp, refreshHintSeconds } = await client.fetchKeys();
    const published = signer.fetchKeys().keys;
    expect(keys).toEqual(
      published.map(({ keyId, spki, excludeFromDiscovery }) => ({
        keyId,
        key: Buffer.from(spki),
        excludeFromOidcDiscovery: excludeFromDiscovery,
      })),
    );
    expect(keys.map((each) => each.excludeFromOidcDiscovery)).toEqual([false, true]);
    expect(dataTimestamp).toEqual({ seconds: 1_800_000_000, nanos: 123_000_000 });
    expect(refreshHintSeconds).toBe(300);
  });

  test("Metadata has the longest lifetime that Sign allows", async () => {
    const { client } = await serve({ signer: signerOf({ maxTokenLifetimeSeconds: 86_400 }) }, version);
    expect(await client.metadata()).toEqual({ maxTokenExpirationSeconds: 86_400 });
    await expect(client.sign(claimsOf({ iat: 0, exp: 86_401 }))).rejects.toMatchObject({
      details: "lifetime_too_long",
    });
  });
});

const failing = (code: ConstructorParameters<typeof SignerError>[0]): Signer => ({
  uri: key.uri,
  publicKey: key.publicKey,
  close: () => Promise.resolve(),
  sign: () => Promise.reject(new SignerError(code, `a message with the secret of ${code}`)),
});

describe("an error is a status and our code, and nothing else:", () => {
  test.each([
    ["unavailable", status.UNAVAILABLE],
    ["throttled", status.RESOURCE_EXHAUSTED],
    ["overloaded", status.RESOURCE_EXHAUSTED],
    ["timeout", status.DEADLINE_EXCEEDED],
    ["access_denied", status.FAILED_PRECONDITION],
    ["key_disabled", status.FAILED_PRECONDITION],
    ["pin_locked", status.FAILED_PRECONDITION],
    ["integrity", status.INTERNAL],
    ["bad_signature", status.INTERNAL],
  ] as const)("%s", async (code, expected) => {
    const { client } = await serve({ signer: signerOf({ keys: [{ signer: failing(code) }] }) });
    await expect(client.sign(claimsOf())).rejects.toMatchObject({ code: expected, details: code });
  });

  test("claims that are refused", async () => {
    const { client } = await serve();
    const refused = { code: status.INVALID_ARGUMENT, details: "wrong_issuer" };
    await expect(client.sign(claimsOf({ iss: "other" }))).rejects.toMatchObject(refused);
  });

  test.each(["Sign", "FetchKeys", "Metadata"])("bytes that are no message of %s", async (method) => {
    const { client } = await serve();
    const refused = { code: status.INVALID_ARGUMENT, details: "invalid_request" };
    await expect(client.raw(method, Buffer.from("0aff", "hex"))).rejects.toMatchObject(refused);
  });

  test("something that is no error of ours", async () => {
    const signer = (): never => {
      throw new TypeError("a message with a secret");
    };
    const { client } = await serve({ signer });
    await expect(client.metadata()).rejects.toMatchObject({ code: status.INTERNAL, details: "internal" });
  });
});

test("a signature that does not verify never leaves", async () => {
  const wrong: Signer = {
    ...failing("integrity"),
    sign: async (digest) => {
      const signature = Uint8Array.from(await key.sign(digest));
      signature[40] = (signature[40] ?? 0) ^ 1;
      return signature;
    },
  };
  const { client } = await serve({ signer: signerOf({ keys: [{ signer: wrong }] }) });
  await expect(client.sign(claimsOf())).rejects.toMatchObject({ details: "bad_signature" });
});

describe("limits", () => {
  test("a message of more than 64 KiB is refused, and the next call works", async () => {
    const { client } = await serve();
    const long = claimsOf({ aud: ["a".repeat(60_000)] });
    await expect(client.sign(long)).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    await expect(client.sign(claimsOf({ aud: ["a".repeat(30_000)] }))).resolves.toHaveProperty("signature");
  });

  test("a call more than allowed is refused at once, and the others finish", async () => {
    const slow = await slowSigner();
    const { client } = await serve({ signer: signerOf({ keys: [{ signer: slow }] }), maxCalls: 2 });
    const calls = [client.sign(claimsOf()), client.sign(claimsOf())];
    await vi.waitFor(() => expect(slow.waiting()).toBe(2), 10_000);
    const refused = { code: status.RESOURCE_EXHAUSTED, details: "overloaded" };
    await expect(client.sign(claimsOf())).rejects.toMatchObject(refused);
    slow.release();
    expect(await Promise.all(calls)).toHaveLength(2);
    await expect(client.sign(claimsOf())).resolves.toHaveProperty("signature");
  });

  test("bytes that are no HTTP/2 end their connection, and no other", async () => {
    const { client, path } = await serve();
    await client.metadata();
    const socket = connect({ path });
    socket.on("error", () => undefined);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    await expect(client.metadata()).resolves.toBeDefined();
  });
});

describe("a client that no longer waits", () => {
  test("aborts the signing by its deadline", async () => {
    const slow = await slowSigner();
    const { client } = await serve({ signer: signerOf({ keys: [{ signer: slow }] }) });
    const sign = client.sign(claimsOf(), { deadline: Date.now() + 300 });
    await expect(sign).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
    await vi.waitFor(() => expect(slow.aborted()).toBe(1), 10_000);
  });

  test("aborts the signing when it goes away", async () => {
    const slow = await slowSigner();
    const { path } = await serve({ signer: signerOf({ keys: [{ signer: slow }] }) });
    const other = connectTo(path);
    const sign = other.sign(claimsOf()).catch((error: unknown) => error);
    await vi.waitFor(() => expect(slow.waiting()).toBe(1), 10_000);
    other.cancelAll();
    await vi.waitFor(() => expect(slow.aborted()).toBe(1), 10_000);
    expect(await sign).toMatchObject({ code: status.CANCELLED });
    other.close();
  });
});

describe("onCall", () => {
  test("is told how each call ended", async () => {
    const reports: CallReport[] = [];
    const { client } = await serve({ onCall: (report) => void reports.push(report) });
    await client.sign(claimsOf({ jti: "1" }));
    await client.sign(claimsOf({ jti: "2", iss: "other" })).catch(() => undefined);
    await client.fetchKeys();
    const sub = "system:serviceaccount:default:builder";
    expect(reports.map(({ ms: _ms, error: _error, ...report }) => report)).toEqual([
      { version: "v1", method: "Sign", code: "ok", jti: "1", sub, kid: "sa" },
      { version: "v1", method: "Sign", code: "wrong_issuer", jti: "2", sub },
      { version: "v1", method: "FetchKeys", code: "ok" },
    ]);
  });

  test("that fails keeps the token from leaving", async () => {
    const { client } = await serve({
      onCall: ({ method }) => (method === "Sign" ? Promise.reject(new Error("disk")) : undefined),
    });
    await expect(client.sign(claimsOf())).rejects.toMatchObject({ code: status.INTERNAL, details: "internal" });
    await expect(client.metadata()).resolves.toBeDefined();
  });
});

test("an onCall that fails with an error of ours is answered with its code", async () => {
  const onCall = (): Promise<void> => Promise.reject(new SignpostError("audit_failed", "disk"));
  const { client } = await serve({ onCall });
  const answered = { code: status.UNAVAILABLE, details: "audit_failed" };
  await expect(client.sign(claimsOf())).rejects.toMatchObject(answered);
  await expect(client.fetchKeys()).rejects.toMatchObject(answered);
});

describe("closing", () => {
  test.each([-1, 1.5, 2_147_483_648])("within %d ms is refused, and the server goes on", async (withinMs) => {
    const { client, close } = await serve();
    expect(() => close(withinMs)).toThrow("withinMs: expected a whole number from 0 to 2147483647");
    await expect(client.metadata()).resolves.toBeDefined();
  });

  test("finishes the calls that have begun", async () => {
    const slow = await slowSigner();
    const { client, path, close } = await serve({ signer: signerOf({ keys: [{ signer: slow }] }) });
    const claims = claimsOf();
    const keys = await client.fetchKeys();
    const sign = client.sign(claims);
    await vi.waitFor(() => expect(slow.waiting()).toBe(1), 10_000);
    const closed = close(30_000);
    await vi.waitFor(async () => expect(await connected(path)).toBe("ENOENT"), 10_000);
    slow.release();
    await expect(verifyWith(keys, claims, await sign)).resolves.toMatchObject({ iss: ISSUER });
    await closed;
  });

  test("ends calls that take longer than its bound", async () => {
    const slow = await slowSigner();
    const { client, close } = await serve({ signer: signerOf({ keys: [{ signer: slow }] }) });
    const sign = client.sign(claimsOf()).catch((error: unknown) => error);
    await vi.waitFor(() => expect(slow.waiting()).toBe(1), 10_000);
    await close(50);
    expect(await sign).toBeInstanceOf(Error);
  });

  test("ends a connection that sends nothing", async () => {
    const { path, close } = await serve();
    const silent = connect({ path });
    silent.on("error", () => undefined);
    silent.resume();
    const ended = new Promise((resolve) => silent.once("close", resolve));
    await new Promise((resolve) => silent.once("connect", resolve));
    await close(30_000);
    await ended;
    expect(silent.destroyed).toBe(true);
  });
});

/** The code of a connection's error, or undefined if it is accepted. */
function connected(path: string): Promise<unknown> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("error", (error) => resolve(Reflect.get(error, "code")));
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
  });
}

test.each([
  [{ signer: {} as never }, "signer: expected a signer of createKubernetesSigner"],
  [{ signer: null as never }, "signer: expected a signer of createKubernetesSigner, got null"],
  [{ signer: "a" as never }, "signer: expected a signer of createKubernetesSigner, got a string"],
  [{ onCall: 7 as never }, "onCall: "],
  [{ maxCalls: 100_001 }, "maxCalls: expected a whole number from 1 to 100000"],
  [{ maxCalls: 0 }, "maxCalls: "],
  [{ sockets: {} }, "sockets: unknown option; did you mean socket?"],
])("the option %j is refused", async (options, message) => {
  const socket = { path: "/nowhere/signer.sock" };
  await expect(serveKubernetesSigner({ signer: signerOf(), socket, ...options })).rejects.toThrow(message);
});

describe("a key that is revoked while its token is reported", () => {
  const setOf = async (keyId: string): Promise<KeySet> => createKeySet([{ keyId, signer: await openLocalSigner() }]);

  test("signs no token that leaves: the next key signs it", async () => {
    let set = await setOf("stolen");
    const reports: CallReport[] = [];
    const onCall = async (report: CallReport): Promise<void> => {
      if (reports.push(report) === 1) set = await setOf("next");
    };
    const { client } = await serve({ signer: signerOf({ keys: () => set }), onCall });
    const claims = claimsOf();
    const answer = await client.sign(claims);
    expect(JSON.parse(Buffer.from(answer.header, "base64url").toString())).toMatchObject({ kid: "next" });
    expect(await verifyWith(await client.fetchKeys(), claims, answer)).toMatchObject({ iss: ISSUER });
    expect(reports.slice(0, 2)).toMatchObject([
      { method: "Sign", code: "ok", kid: "stolen" },
      { method: "Sign", code: "ok", kid: "next" },
    ]);
  });

  test("is unavailable if the next one is revoked too", async () => {
    let set = await setOf("a");
    let revoked = 0;
    const onCall = async (): Promise<void> => {
      revoked += 1;
      set = await setOf(`next-${revoked}`);
    };
    const { client } = await serve({ signer: signerOf({ keys: () => set }), onCall });
    await expect(client.sign(claimsOf())).rejects.toMatchObject({ code: status.UNAVAILABLE, details: "unavailable" });
    expect(revoked).toBe(2);
  });

  test("and whose set cannot be read then, signs none either", async () => {
    const set = await setOf("a");
    let isAway = false;
    const keys = (): KeySet => {
      if (isAway) throw new SignerError("unavailable", "the set is away");
      return set;
    };
    const { client } = await serve({ signer: signerOf({ keys }), onCall: () => void (isAway = true) });
    await expect(client.sign(claimsOf())).rejects.toMatchObject({ code: status.UNAVAILABLE, details: "unavailable" });
  });
});
