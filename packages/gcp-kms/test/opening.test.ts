import { generateKeyPairSync, sign } from "node:crypto";
import crc32c from "crc-32/crc32c.js";
import { describe, expect, test, vi } from "vitest";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { OPENING_CASES, type Answer, type OpeningHarness } from "@signpost/test-backends/opening-cases";
import { rejection } from "./support/signatures.ts";

const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = String(publicKey.export({ type: "spki", format: "pem" }));
const checksum = (bytes: Uint8Array): { value: string } => ({ value: String(crc32c.buf(bytes) >>> 0) });
const KEY = { name: NAME, algorithm: "EC_SIGN_P256_SHA256", pem, pemCrc32c: checksum(Buffer.from(pem)) };

const refused = (code: number, message = "made up"): Error => Object.assign(new Error(message), { code });

/** A client without a network: it answers in the words of the table, and hears no signal. */
async function answered<Response>(answer: Answer, whole: Response): Promise<[Response]> {
  if (answer === "silence") return new Promise<never>(() => {});
  if (answer === "outage") throw refused(14);
  if (answer === "refusal") throw refused(7);
  return [answer === "incomplete" ? { ...whole, name: undefined } : whole];
}

function signed(digest: Uint8Array): object {
  const signature = sign("sha256", digest, privateKey);
  return { name: NAME, signature, signatureCrc32c: checksum(signature), verifiedDigestCrc32c: true };
}

function clientWith(changes: Partial<GcpKmsClientLike>): GcpKmsClientLike {
  return {
    initialize: async () => ({ getChannel: () => undefined }),
    getPublicKey: async () => [KEY],
    asymmetricSign: async ({ digest }) => [signed(digest.sha256)],
    getCryptoKeyVersion: () => Promise.reject(refused(7)),
    listCryptoKeyVersions: () => Promise.reject(refused(7)),
    close: async () => undefined,
    ...changes,
  };
}

const harness: OpeningHarness = {
  connect: (next) => {
    const client = clientWith({
      getPublicKey: () => answered(next("readKey"), KEY),
      asymmetricSign: ({ digest }) => answered(next("sign"), signed(digest.sha256)),
    });
    return { open: (options) => openGcpKmsSigner({ keyVersion: NAME, client, ...options }) };
  },
};

describe("opening", () => {
  test.each(OPENING_CASES)("$name", async ({ run }) => {
    await expect(run(harness)).resolves.toBeUndefined();
  });
});

test.each<[string, unknown]>([
  ["grpc", { getChannel: () => undefined }],
  ["rest", {}],
  ["what it does not say", null],
])("the longest time of a call fits a timer of a client over %s", async (_transport, stub) => {
  const longest = 2_147_483_647;
  const getPublicKey = vi.fn<GcpKmsClientLike["getPublicKey"]>(async () => [KEY]);
  const client = clientWith({ initialize: async () => stub, getPublicKey });
  await openGcpKmsSigner({ keyVersion: NAME, client, callTimeoutMs: longest, openDeadlineMs: longest });
  expect(getPublicKey.mock.calls[0]?.[1].timeout).toBe(longest);
});

const hangs = (): Promise<never> => new Promise(() => {});

test.each<[what: string, changes: Partial<GcpKmsClientLike>]>([
  ["looks for credentials", { initialize: hangs }],
  ["asks for a token", { initialize: async () => ({}), auth: { getRequestHeaders: hangs } }],
  ["reads the key", { getPublicKey: hangs }],
])("a client that hangs while it %s keeps the opening no longer than openDeadlineMs", async (_what, changes) => {
  const client = clientWith(changes);
  const opening = openGcpKmsSigner({ keyVersion: NAME, client, callTimeoutMs: 60_000, openDeadlineMs: 300 });
  expect(await rejection(opening)).toMatchObject({
    code: "timeout",
    transient: true,
    uri: `gcpkms://${NAME}`,
    message: expect.stringMatching(/ within (?:the deadline of )?(?:2\d\d|300) ms/) as string,
  });
});

describe("a version that is still being made", () => {
  /** Is in the state for some calls, and then ENABLED. */
  function pendingFor(calls: number, state: string): { readonly client: GcpKmsClientLike; made(): number } {
    let made = 0;
    const client = clientWith({
      getPublicKey: async () => {
        made += 1;
        if (made <= calls) throw refused(9, `The version is not enabled, current state is: ${state}.`);
        return [KEY];
      },
    });
    return { client, made: () => made };
  }

  test.each(["PENDING_GENERATION", "PENDING_IMPORT"])("costs no attempt while it is %s", async (state) => {
    const { client, made } = pendingFor(4, state);
    const options = { keyVersion: NAME, client, policy: { maxAttempts: 1 }, openDeadlineMs: 30_000 };
    await (await openGcpKmsSigner(options)).close();
    expect(made()).toBe(5);
  });

  test("is waited for until the deadline", async () => {
    const { client, made } = pendingFor(Number.POSITIVE_INFINITY, "PENDING_GENERATION");
    const policy = { maxAttempts: 1 };
    const error = await rejection(openGcpKmsSigner({ keyVersion: NAME, client, openDeadlineMs: 1500, policy }));
    expect(error).toMatchObject({
      name: "SignerError",
      code: "unavailable",
      transient: true,
      uri: `gcpkms://${NAME}`,
    });
    expect(String(error)).toContain("the version is PENDING_GENERATION");
    expect(made()).toBeGreaterThan(2);
  });

  test("is not waited for in any other state", async () => {
    const { client, made } = pendingFor(1, "DISABLED");
    const opening = openGcpKmsSigner({ keyVersion: NAME, client });
    expect(await rejection(opening)).toMatchObject({ code: "key_disabled" });
    expect(made()).toBe(1);
  });
});
