import { generateKeyPairSync, sign } from "node:crypto";
import crc32c from "crc-32/crc32c.js";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import type { Connection } from "../src/connection.ts";
import { planCalls } from "../src/open.ts";
import { rejection } from "./support/signatures.ts";

const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
const NAME = `${KEY}/cryptoKeyVersions/3`;
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = String(publicKey.export({ type: "spki", format: "pem" }));
const checksum = (bytes: Uint8Array): { value: string } => ({ value: String(crc32c.buf(bytes) >>> 0) });
const ANSWER = {
  name: NAME,
  algorithm: "EC_SIGN_P256_SHA256",
  pem,
  pemCrc32c: checksum(Buffer.from(pem)),
  protectionLevel: "HSM",
};
const refused = Object.assign(new Error("7 PERMISSION_DENIED"), { code: 7 });

const client = {
  getPublicKey: vi.fn<GcpKmsClientLike["getPublicKey"]>(),
  asymmetricSign: vi.fn<GcpKmsClientLike["asymmetricSign"]>(),
  listCryptoKeyVersions: vi.fn<GcpKmsClientLike["listCryptoKeyVersions"]>(),
};
const state = vi.hoisted(() => ({ connected: [] as unknown[], trouble: undefined as string | undefined, closed: 0 }));
vi.mock("../src/connection.ts", async (load) => ({
  ...(await load<typeof import("../src/connection.ts")>()),
  connect: async (options: unknown, name: string): Promise<Connection> => {
    state.connected.push([options, name]);
    return {
      call: async ({ timeoutMs, signal }, _subject, call) =>
        call(client as unknown as GcpKmsClientLike, { timeout: timeoutMs, retry: null, signal }),
      trouble: () => state.trouble,
      close: async () => void (state.closed += 1),
    };
  },
}));

beforeEach(() => {
  state.connected.length = 0;
  state.trouble = undefined;
  state.closed = 0;
  client.getPublicKey.mockReset().mockResolvedValue([ANSWER]);
  client.asymmetricSign.mockReset().mockImplementation(async ({ digest }) => {
    const signature = sign("sha256", digest.sha256, privateKey);
    return [{ name: NAME, signature, signatureCrc32c: checksum(signature), verifiedDigestCrc32c: true }];
  });
  client.listCryptoKeyVersions.mockReset();
});

describe("the plan of the calls", () => {
  test.each([
    [{}, 2000, 5000],
    [{ callTimeoutMs: 7 }, 7, 5000],
    [{ policy: false as const }, 5000, 5000],
    [{ policy: false as const, callTimeoutMs: 7 }, 7, 5000],
    [{ policy: { attemptTimeoutMs: 9 } }, 9, 5000],
    [{ policy: { attemptTimeoutMs: 9 }, callTimeoutMs: 7, openDeadlineMs: 30 }, 7, 30],
  ])("of %j gives a call %i ms, and the opening %i ms", (options, attemptTimeoutMs, deadlineMs) => {
    expect(planCalls(options).bounds).toMatchObject({ attemptTimeoutMs, deadlineMs });
  });
});

describe("a signer", () => {
  const digest = new Uint8Array(32).fill(7);

  test("reads its key and signs by its name, with the digest's checksum, and closes its connection", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: NAME, transport: "rest", callTimeoutMs: 4000, policy: false });
    expect(state.connected).toEqual([[expect.objectContaining({ transport: "rest" }), NAME]]);
    expect(await signer.sign(digest)).toHaveLength(64);
    const options = { timeout: 4000, retry: null, signal: expect.any(AbortSignal) as AbortSignal };
    expect(client.getPublicKey.mock.calls).toMatchObject([[{ name: NAME }, options]]);
    const request = { name: NAME, digest: { sha256: digest }, digestCrc32c: { value: crc32c.buf(digest) >>> 0 } };
    expect(client.asymmetricSign.mock.calls).toMatchObject([[request, options]]);
    expect(state.closed).toBe(0);
    await signer.close();
    expect(state.closed).toBe(1);
  });

  test("says which permission each call needs", async () => {
    client.getPublicKey.mockRejectedValueOnce(refused);
    expect(String(await rejection(openGcpKmsSigner({ keyVersion: NAME })))).toContain(
      `cannot read the public key of ${NAME}: permission denied (PERMISSION_DENIED); this needs cloudkms.cryptoKeyVersions.viewPublicKey`,
    );
    const signer = await openGcpKmsSigner({ keyVersion: NAME });
    client.asymmetricSign.mockRejectedValueOnce(refused);
    expect(String(await rejection(signer.sign(digest)))).toContain(
      `cannot sign with ${NAME}: permission denied (PERMISSION_DENIED); this needs cloudkms.cryptoKeyVersions.useToSign`,
    );
    await signer.close();
  });

  test("is degraded while its token cannot be renewed, and says so behind its service", async () => {
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "a.example");
    onTestFinished(() => void vi.unstubAllEnvs());
    const signer = await openGcpKmsSigner({ keyVersion: NAME });
    const notes = ["endpoint https://cloudkms.a.example, from GOOGLE_CLOUD_UNIVERSE_DOMAIN", "protection level HSM"];
    expect(signer.health()).toMatchObject({ status: "ready", notes });
    state.trouble = "the token cannot be replaced";
    expect(signer.health()).toMatchObject({ status: "degraded", notes: [notes[0], state.trouble, notes[1]] });
    state.trouble = undefined;
    expect(signer.health()).toMatchObject({ status: "ready", notes });
    await signer.close();
  });
});

describe("a key without a version is refused", () => {
  const versionOf = (number: number, said: string): object => ({
    name: `${KEY}/cryptoKeyVersions/${number}`,
    state: said,
    createTime: { seconds: 1 },
  });
  const hint = (list: string): string =>
    `keyVersion: expected a version, such as …/cryptoKeyVersions/1; ENABLED versions of ${KEY}: ${list}`;

  test.each<[versions: readonly object[], list: string]>([
    [[versionOf(2, "ENABLED"), versionOf(1, "ENABLED")], `${KEY}/cryptoKeyVersions/1, ${KEY}/cryptoKeyVersions/2`],
    [[versionOf(1, "DISABLED"), versionOf(2, "ENABLED")], `${KEY}/cryptoKeyVersions/2`],
    [[versionOf(1, "DISABLED")], "none"],
    [[], "none"],
  ])("with those that are enabled: %#", async (versions, list) => {
    client.listCryptoKeyVersions.mockResolvedValue([versions]);
    const error = await rejection(
      openGcpKmsSigner({ keyVersion: KEY, transport: "rest", endpoint: "https://a.example" }),
    );
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "keyVersion", message: hint(list) });
    expect(error).not.toHaveProperty("cause");
    expect(state.connected).toEqual([
      [expect.objectContaining({ transport: "rest", endpoint: "https://a.example" }), KEY],
    ]);
    expect(client.listCryptoKeyVersions.mock.calls[0]?.[1].timeout).toBeLessThanOrEqual(5000);
  });

  test("with the reason, if they cannot be listed", async () => {
    client.listCryptoKeyVersions.mockRejectedValue(refused);
    const error = await rejection(openGcpKmsSigner({ keyVersion: KEY }));
    expect(error).toMatchObject({ message: hint("could not be listed"), cause: { code: "access_denied" } });
  });

  test("at the deadline of the opening, if their list does not come", async () => {
    client.listCryptoKeyVersions.mockReturnValue(new Promise(() => undefined));
    const error = await rejection(openGcpKmsSigner({ keyVersion: KEY, openDeadlineMs: 30 }));
    expect(error).toMatchObject({
      cause: { code: "timeout", message: expect.stringContaining("within 30 ms") as string },
    });
  });

  test("unless the caller gave up", async () => {
    const caller = new AbortController();
    client.listCryptoKeyVersions.mockImplementation(async () => {
      caller.abort();
      return [[]];
    });
    expect(await rejection(openGcpKmsSigner({ keyVersion: KEY, signal: caller.signal }))).toMatchObject({
      code: "aborted",
    });
  });
});
