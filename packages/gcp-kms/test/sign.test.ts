import { EventEmitter, once } from "node:events";
import crc32c from "crc-32/crc32c.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { type GcpKmsClientLike, type GcpKmsSignerOptions, openGcpKmsSigner } from "@signpost/gcp-kms";
import {
  type FakeGcpKms,
  type FakeKeyVersion,
  RpcStatus,
  startFakeGcpKms,
  type StatusName,
} from "@signpost/test-backends/fake-gcp-kms";
import { CLIENTS } from "./support/clients.ts";
import { newMessage, rejection, signsTruly, verifies } from "./support/signatures.ts";

let fake: FakeGcpKms;
let version: FakeKeyVersion;

beforeAll(async () => {
  fake = await startFakeGcpKms();
  version = fake.addVersion();
});
afterEach(() => {
  fake.faults.clear();
  fake.intercept(undefined);
  fake.sayState(true);
  version.state = "ENABLED";
});
afterAll(() => fake.stop());

/** What each status that the service can answer with becomes. */
const STATUS_CODES: readonly (readonly [StatusName, SignerErrorCode])[] = [
  ["CANCELLED", "unavailable"],
  ["UNKNOWN", "unavailable"],
  ["INVALID_ARGUMENT", "invalid_argument"],
  ["DEADLINE_EXCEEDED", "timeout"],
  ["NOT_FOUND", "key_not_found"],
  ["ALREADY_EXISTS", "invalid_argument"],
  ["PERMISSION_DENIED", "access_denied"],
  ["RESOURCE_EXHAUSTED", "throttled"],
  ["FAILED_PRECONDITION", "unavailable"],
  ["ABORTED", "unavailable"],
  ["OUT_OF_RANGE", "invalid_argument"],
  ["UNIMPLEMENTED", "invalid_argument"],
  ["INTERNAL", "unavailable"],
  ["UNAVAILABLE", "unavailable"],
  ["DATA_LOSS", "integrity"],
  ["UNAUTHENTICATED", "access_denied"],
];

describe.each(CLIENTS)("signing over $label", ({ connect, transport }) => {
  let client: GcpKmsClientLike;
  beforeAll(() => {
    client = connect(fake);
  });
  afterAll(async () => {
    await client.close();
  });

  const openBare = (more: Partial<GcpKmsSignerOptions> = {}): ReturnType<typeof openGcpKmsSigner> =>
    openGcpKmsSigner({ keyVersion: version.name, client, policy: false, ...more });

  const signCalls = (): number => fake.faults.calls.filter(({ operation }) => operation === "AsymmetricSign").length;

  test("takes one call a signature, and node:crypto verifies it", async () => {
    const signer = await openBare();
    for (let round = 1; round <= 5; round += 1) {
      expect(await signsTruly(signer)).toBe(true);
      expect(signCalls()).toBe(round);
    }
  });

  test("sends the digest's checksum also when it is zero", async () => {
    const signer = await openBare();
    const digest = digestWithChecksum(0);
    expect(crc32c.buf(digest)).toBe(0);
    // The fake says `verifiedDigestCrc32c` only when it received one, and refuses a wrong one.
    expect(await signer.sign(digest)).toHaveLength(64);
  });

  test.each(STATUS_CODES)("%s is %s, after one attempt", async (status, code) => {
    const signer = await openBare();
    fake.intercept((operation, answer) => {
      if (operation === "AsymmetricSign") throw new RpcStatus(status, `the service says ${status}`);
      return answer;
    });
    const error = await rejection(signer.sign(newMessage().digest));
    expect(error).toMatchObject({ name: "SignerError", code });
    expect((error as Error).message).toContain(`cannot sign with ${version.name}`);
    expect((error as { cause: Error }).cause.message).toContain(`the service says ${status}`);
    expect(signCalls()).toBe(1);
  });

  describe("an answer", () => {
    test.each<[string, Record<string, unknown>, SignerErrorCode, boolean, RegExp]>([
      ["without a name", { name: undefined }, "integrity", true, /was answered without name$/],
      [
        "without a checksum",
        { signatureCrc32c: undefined },
        "integrity",
        true,
        /was answered without signatureCrc32c$/,
      ],
      ["with a wrong checksum", { signatureCrc32c: "17" }, "integrity", true, /signatureCrc32c does not match/],
      [
        "without word of the digest's checksum",
        { verifiedDigestCrc32c: undefined },
        "integrity",
        true,
        /did not receive/,
      ],
      ["that says the digest was not verified", { verifiedDigestCrc32c: false }, "integrity", true, /did not receive/],
      ["without a signature", { signature: undefined }, "integrity", true, /was answered without signature$/],
    ])("%s is refused", async (_how, change, code, transient, message) => {
      const signer = await openBare();
      fake.intercept((_operation, answer) => ({ ...answer, ...change }));
      const error = await rejection(signer.sign(newMessage().digest));
      expect(error).toMatchObject({ code, transient, message: expect.stringMatching(message) });
    });

    test("of another version is wrong_key, although its signature is a true one", async () => {
      const signer = await openBare();
      const other = `${version.name}1`;
      fake.intercept((_operation, answer) => ({ ...answer, name: other }));
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({
        code: "wrong_key",
        message: `asked for ${version.name}, but the service answered for ${other}`,
      });
    });
  });

  describe("a version that can no longer sign", () => {
    test.each(["DISABLED", "DESTROYED", "DESTROY_SCHEDULED"] as const)("%s is named", async (state) => {
      const signer = await openBare();
      version.state = state;
      for (const said of [true, false]) {
        fake.sayState(said);
        expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({
          code: "key_disabled",
          message: expect.stringContaining(`the version is ${state}`),
        });
      }
    });

    test("is key_disabled also for a caller who may not read its state", async () => {
      const signer = await openBare();
      version.state = "DISABLED";
      fake.sayState(false);
      fake.faults.on("access-denied", "GetCryptoKeyVersion");
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({
        code: "key_disabled",
        message: expect.stringContaining("the version is not enabled"),
      });
    });

    test("of another algorithm, behind a pinned key, is unsupported_key", async () => {
      const p384 = fake.addVersion({
        cryptoKey: version.name.replace(/\/cryptoKeyV.*/, "-p384"),
        algorithm: "EC_SIGN_P384_SHA384",
      });
      const publicKey = version.publicKey.export({ format: "jwk" });
      const signer = await openBare({ keyVersion: p384.name, publicKey });
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "unsupported_key" });
    });
  });

  describe("inside the guard", () => {
    test.each([
      "unavailable",
      "backend-timeout",
      "throttle",
      "reset",
      "html",
      "corrupted",
      "corrupted-request",
      "empty",
      "missing-checksum",
    ] as const)("%s is tried again", async (fault) => {
      const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
      fake.faults.next(fault, 1, "AsymmetricSign");
      expect(await signsTruly(signer)).toBe(true);
      expect(signCalls()).toBe(2);
    });

    test.each(["access-denied", "key-not-found", "key-disabled", "wrong-key"] as const)("%s is not", async (fault) => {
      const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
      fake.faults.on(fault, "AsymmetricSign");
      await rejection(signer.sign(newMessage().digest));
      expect(signCalls()).toBe(1);
    });

    test("the caller's deadline holds, whatever the client's own retries would do", async () => {
      const policy = { deadlineMs: 1_500, maxAttempts: 100 };
      const signer = await openGcpKmsSigner({ keyVersion: version.name, client, policy });
      fake.faults.on("unavailable");
      const startedAt = performance.now();
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ transient: true });
      expect(performance.now() - startedAt).toBeLessThan(20_000);
      fake.faults.off("unavailable");
      expect(await signsTruly(signer)).toBe(true);
    });
  });

  test("a service that says nothing is a timeout, also without a guard", async () => {
    const signer = await openBare({ callTimeoutMs: 600 });
    for (const fault of ["hang", "hang-after-headers"] as const) {
      fake.faults.on(fault);
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout", transient: true });
      fake.faults.off(fault);
    }
    expect(await signsTruly(signer)).toBe(true);
  });

  test("an abort releases the caller at once; the call is cancelled, or ends by its own timeout", async () => {
    const recorded = recording(client);
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client: recorded.client, callTimeoutMs: 3_000 });
    fake.faults.on("hang");
    const controller = new AbortController();
    const call = rejection(signer.sign(newMessage().digest, { signal: controller.signal }));
    await recorded.started;
    controller.abort(new Error("the user went away"));
    expect(await call).toMatchObject({ code: "aborted", cause: { message: "the user went away" } });
    // Over REST only the caller is released.
    if (transport === "rest") return expect(recorded.ended()).toBe(false);
    await recorded.end;
    expect(recorded.ended()).toBe(true);
  });

  test.each([
    ["aborted", { deadlineMs: 20_000, attemptTimeoutMs: 20_000 }],
    ["out of time", { deadlineMs: 20_000, attemptTimeoutMs: 100 }],
  ])("a call that is %s keeps its place until the client is done with it", async (how, policy) => {
    const recorded = recording(client);
    const signer = await openGcpKmsSigner({
      keyVersion: version.name,
      client: recorded.client,
      // Pinned, since the short limit would hold for opening too.
      publicKey: version.publicKey.export({ format: "jwk" }),
      policy: { ...policy, concurrency: 1, maxAttempts: 1 },
    });
    fake.faults.latencyMs = 400;
    const controller = new AbortController();
    const first = rejection(signer.sign(newMessage().digest, { signal: controller.signal }));
    await recorded.started;
    if (how === "aborted") controller.abort();
    expect(await first).toMatchObject({ code: how === "aborted" ? "aborted" : "timeout" });
    const second = signer.sign(newMessage().digest).catch((error: unknown) => error);
    fake.faults.latencyMs = 0;
    await second;
    expect(recorded.mostAtOnce()).toBe(1);
  });

  test("a bare signer too is released when its call does not end by itself", async () => {
    const signer = await openBare({ callTimeoutMs: 20_000 });
    fake.faults.on("hang");
    const signal = AbortSignal.timeout(50);
    expect(await rejection(signer.sign(newMessage().digest, { signal }))).toMatchObject({ code: "aborted" });
  });

  test("a refusal does not wait for its explanation", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
    version.state = "DISABLED";
    fake.sayState(false);
    fake.faults.on("hang", "GetCryptoKeyVersion");
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "key_disabled" });
    expect(signCalls()).toBe(1);
  });

  test("concurrent calls each get the signature of their own digest", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
    const messages = Array.from({ length: 50 }, newMessage);
    const signatures = await Promise.all(messages.map(({ digest }) => signer.sign(digest)));
    const verified = messages.map((message, index) =>
      verifies(signer.publicKey, message, signatures[index] ?? new Uint8Array()),
    );
    expect(verified).toEqual(messages.map(() => true));
  });

  test("closing a signer leaves the caller's client open", async () => {
    const [first, second] = [await openBare(), await openBare()];
    await first.close();
    expect(await rejection(first.sign(newMessage().digest))).toMatchObject({ code: "closed" });
    expect(await signsTruly(second)).toBe(true);
  });
});

test.each(CLIENTS)("a client that its owner closed is closed, over $label", async ({ connect }) => {
  const client = connect(fake);
  const signer = await openGcpKmsSigner({ keyVersion: version.name, client, policy: false });
  await client.close();
  const error = await rejection(signer.sign(newMessage().digest));
  expect(error).toMatchObject({ name: "SignerError", code: "closed", transient: false });
});

interface Recording {
  readonly client: GcpKmsClientLike;
  /** The first signature was asked for. */
  readonly started: Promise<void>;
  /** The client has settled it. */
  readonly end: Promise<void>;
  ended(): boolean;
  /** How many signatures the client was asked for at the same time, at most. */
  mostAtOnce(): number;
}

function recording(client: GcpKmsClientLike): Recording {
  const events = new EventEmitter();
  let isEnded = false;
  let running = 0;
  let mostAtOnce = 0;
  const settle = (): void => {
    isEnded = true;
    running -= 1;
    events.emit("end");
  };
  return {
    client: {
      initialize: () => client.initialize(),
      auth: client.auth,
      getPublicKey: (request, options) => client.getPublicKey(request, options),
      getCryptoKeyVersion: (request, options) => client.getCryptoKeyVersion(request, options),
      listCryptoKeyVersions: (request, options) => client.listCryptoKeyVersions(request, options),
      close: () => client.close(),
      asymmetricSign: (request, options) => {
        running += 1;
        mostAtOnce = Math.max(mostAtOnce, running);
        const call = client.asymmetricSign(request, options);
        call.then(settle, settle);
        events.emit("started");
        return call;
      },
    },
    started: once(events, "started").then(() => undefined),
    end: once(events, "end").then(() => undefined),
    ended: () => isEnded,
    mostAtOnce: () => mostAtOnce,
  };
}

/** CRC32C is affine over GF(2): the last 32 bits of a digest can be solved for any checksum. */
function digestWithChecksum(wanted: number): Uint8Array {
  const base = newMessage().digest;
  base.fill(0, 28);
  const checksumOf = (tail: number): number => {
    const digest = Buffer.from(base);
    digest.writeUInt32LE(tail >>> 0, 28);
    return crc32c.buf(digest) >>> 0;
  };
  let missing = (checksumOf(0) ^ wanted) >>> 0;
  let tail = 0;
  const rows = Array.from({ length: 32 }, (_, bit) => {
    const input = (1 << bit) >>> 0;
    return { input, output: (checksumOf(input) ^ checksumOf(0)) >>> 0 };
  });
  for (let bit = 31; bit >= 0; bit -= 1) {
    const mask = (1 << bit) >>> 0;
    const index = rows.findIndex(({ output }) => (output & mask) !== 0);
    const pivot = rows[index];
    if (pivot === undefined) continue;
    rows.splice(index, 1);
    for (const row of rows) {
      if ((row.output & mask) === 0) continue;
      row.output = (row.output ^ pivot.output) >>> 0;
      row.input = (row.input ^ pivot.input) >>> 0;
    }
    if ((missing & mask) === 0) continue;
    missing = (missing ^ pivot.output) >>> 0;
    tail = (tail ^ pivot.input) >>> 0;
  }
  const digest = Buffer.from(base);
  digest.writeUInt32LE(tail, 28);
  return digest;
}
