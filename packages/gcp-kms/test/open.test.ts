import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError, createKeySet, openSigner, signWith } from "@signpost/core";
import { type GcpKmsClientLike, gcpKms, openGcpKmsSigner } from "@signpost/gcp-kms";
import {
  DEFAULT_CRYPTO_KEY,
  type FakeGcpKms,
  type FakeKeyVersion,
  type FakeVersionState,
  RpcStatus,
  startFakeGcpKms,
} from "@signpost/test-backends/fake-gcp-kms";
import { CLIENTS } from "./support/clients.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

let fake: FakeGcpKms;
let version: FakeKeyVersion;

beforeAll(async () => {
  fake = await startFakeGcpKms();
  version = fake.addVersion({ protectionLevel: "HSM" });
});
afterEach(() => {
  fake.faults.clear();
  fake.intercept(undefined);
  fake.sayState(true);
  version.state = "ENABLED";
});
afterAll(() => fake.stop());

/** A key of its own, so that tests do not see each other's versions. */
let keys = 0;
function newCryptoKey(): string {
  keys += 1;
  return `${DEFAULT_CRYPTO_KEY}-${keys}`;
}

describe.each(CLIENTS)("opening over $label", ({ connect }) => {
  let client: GcpKmsClientLike;
  beforeAll(() => {
    client = connect(fake);
  });
  afterAll(async () => {
    await client.close();
  });

  test("reads the public key by one call and signs with it", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
    const { x, y } = version.publicKey.export({ format: "jwk" });
    expect(signer.publicKey).toEqual({ kty: "EC", crv: "P-256", x, y });
    expect(signer.uri).toBe(`gcpkms://${version.name}`);
    expect(fake.faults.calls.map(({ operation }) => operation)).toEqual(["GetPublicKey"]);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("shows the protection level to the operator", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
    expect(signer.health().notes).toEqual(["protection level HSM"]);
  });

  test("accepts versions/N, and names the version as the service does", async () => {
    const keyVersion = version.name.replace("/cryptoKeyVersions/", "/versions/");
    const signer = await openGcpKmsSigner({ keyVersion, client });
    expect(signer.uri).toBe(`gcpkms://${version.name}`);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("by its key URI gives the same signer", async () => {
    const signer = await openSigner(`gcpkms://${version.name}`, [gcpKms({ client })]);
    expect(signer.uri).toBe(`gcpkms://${version.name}`);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("with a pinned public key makes no call", async () => {
    const publicKey = String(version.publicKey.export({ type: "spki", format: "pem" }));
    const signer = await openGcpKmsSigner({ keyVersion: version.name, publicKey, client });
    expect(fake.faults.calls).toEqual([]);
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("with a pinned key that is not the version's shows at the first signature", async () => {
    const other = fake.addVersion({ cryptoKey: newCryptoKey() });
    const publicKey = other.publicKey.export({ format: "jwk" });
    const signer = await openGcpKmsSigner({ keyVersion: version.name, publicKey, client });
    const { active } = createKeySet([{ signer }]);
    expect(await rejection(signWith(active, Buffer.from("input")))).toMatchObject({ code: "bad_signature" });
  });

  test("waits for a version that is PENDING_GENERATION", async () => {
    const pending = fake.addVersion({ cryptoKey: newCryptoKey(), pendingMs: 300 });
    const signer = await openGcpKmsSigner({ keyVersion: pending.name, client });
    expect(fake.faults.calls.length).toBeGreaterThan(1);
    expect(await signsTruly(signer)).toBe(true);
  });

  test("does not wait for it beyond the deadline, and says why", async () => {
    const pending = fake.addVersion({ cryptoKey: newCryptoKey(), state: "PENDING_GENERATION" });
    const opening = openGcpKmsSigner({ keyVersion: pending.name, client, openDeadlineMs: 1_000 });
    expect(await rejection(opening)).toMatchObject({
      code: "unavailable",
      transient: true,
      message: expect.stringContaining("the version is PENDING_GENERATION"),
    });
  });

  test("waits for it too when only the version itself tells its state", async () => {
    fake.sayState(false);
    const pending = fake.addVersion({ cryptoKey: newCryptoKey(), pendingMs: 150 });
    const signer = await openGcpKmsSigner({ keyVersion: pending.name, client });
    expect(await signsTruly(signer)).toBe(true);
  });

  test.each<FakeVersionState>(["DISABLED", "DESTROYED", "DESTROY_SCHEDULED"])(
    "on a version that is %s fails at once and says so",
    async (state) => {
      version.state = state;
      for (const said of [true, false]) {
        fake.sayState(said);
        expect(await rejection(openGcpKmsSigner({ keyVersion: version.name, client }))).toMatchObject({
          code: "key_disabled",
          transient: false,
          message: expect.stringContaining(`the version is ${state}`),
        });
      }
    },
  );

  test("names another algorithm, also where the service only says that it refuses", async () => {
    const p384 = fake.addVersion({ cryptoKey: newCryptoKey(), algorithm: "EC_SIGN_P384_SHA384" });
    expect(await rejection(openGcpKmsSigner({ keyVersion: p384.name, client }))).toMatchObject({
      code: "unsupported_key",
      message: `${p384.name} has the algorithm EC_SIGN_P384_SHA384, expected EC_SIGN_P256_SHA256`,
    });
    fake.intercept((operation, answer) => {
      if (operation === "GetPublicKey") throw new RpcStatus("FAILED_PRECONDITION", "Precondition check failed.");
      return answer;
    });
    expect(await rejection(openGcpKmsSigner({ keyVersion: p384.name, client }))).toMatchObject({
      code: "unsupported_key",
    });
  });

  test("on a version that is not there is key_not_found", async () => {
    const keyVersion = `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/4711`;
    expect(await rejection(openGcpKmsSigner({ keyVersion, client }))).toMatchObject({ code: "key_not_found" });
  });

  test("refuses an answer for another version", async () => {
    fake.faults.on("wrong-key", "GetPublicKey");
    expect(await rejection(openGcpKmsSigner({ keyVersion: version.name, client }))).toMatchObject({
      code: "wrong_key",
    });
  });

  test.each(["corrupted", "unavailable", "throttle", "reset"] as const)(
    "gets over one answer that is %s",
    async (fault) => {
      fake.faults.next(fault, 1, "GetPublicKey");
      const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
      expect(await signsTruly(signer)).toBe(true);
    },
  );

  test("can be aborted while it waits", async () => {
    const pending = fake.addVersion({ cryptoKey: newCryptoKey(), state: "PENDING_GENERATION" });
    const controller = new AbortController();
    const opening = openGcpKmsSigner({ keyVersion: pending.name, client, signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 80);
    expect(await rejection(opening)).toMatchObject({ code: "aborted", cause: { message: "enough" } });
  });

  test("can be aborted while the service says nothing", async () => {
    fake.faults.on("hang");
    const controller = new AbortController();
    const opening = openGcpKmsSigner({ keyVersion: version.name, client, signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    expect(await rejection(opening)).toMatchObject({ code: "aborted" });
  });

  describe("with a name without a version is refused", () => {
    test("with the list of the ENABLED ones, in numeric order", async () => {
      const cryptoKey = newCryptoKey();
      for (const number of [10, 2, 1, 9]) fake.addVersion({ cryptoKey, version: number });
      fake.addVersion({ cryptoKey, version: 3, state: "DISABLED" });
      const error = await rejection(openGcpKmsSigner({ keyVersion: cryptoKey, client }));
      const list = [1, 2, 9, 10].map((number) => `${cryptoKey}/cryptoKeyVersions/${number}`).join(", ");
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({
        argument: "keyVersion",
        message: `keyVersion: expected a version, such as …/cryptoKeyVersions/1; ENABLED versions of ${cryptoKey}: ${list}`,
      });
    });

    test("and can be aborted while they are listed", async () => {
      fake.faults.on("hang");
      const signal = AbortSignal.timeout(50);
      const opening = openGcpKmsSigner({ keyVersion: DEFAULT_CRYPTO_KEY, client, signal });
      expect(await rejection(opening)).toMatchObject({ name: "SignerError", code: "aborted" });
    });

    test("without waiting longer for the list than for a key", async () => {
      fake.faults.on("hang");
      const opening = openGcpKmsSigner({ keyVersion: DEFAULT_CRYPTO_KEY, client, openDeadlineMs: 100 });
      expect(await rejection(opening)).toMatchObject({
        message: expect.stringMatching(/: could not be listed$/),
        cause: { code: "timeout", message: expect.stringContaining("within 100 ms") },
      });
    });

    test("also when none is ENABLED", async () => {
      const cryptoKey = newCryptoKey();
      fake.addVersion({ cryptoKey, state: "DESTROYED" });
      const error = await rejection(openGcpKmsSigner({ keyVersion: cryptoKey, client }));
      expect(error).toMatchObject({ message: expect.stringMatching(/: none$/) });
    });

    test("also when they may not be listed, with the reason as the cause", async () => {
      fake.faults.on("access-denied", "ListCryptoKeyVersions");
      const error = await rejection(openGcpKmsSigner({ keyVersion: DEFAULT_CRYPTO_KEY, client }));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({
        message: expect.stringMatching(/: could not be listed$/),
        cause: { code: "access_denied" },
      });
    });
  });
});

describe("options that cannot work are refused", () => {
  const [kind] = CLIENTS;

  test.each<[string, Record<string, unknown>, string]>([
    ["a client and an endpoint", { endpoint: "http://127.0.0.1:1" }, "client"],
    ["a client and a transport", { transport: "rest" }, "client"],
    ["a transport that is none", { client: undefined, transport: "http" }, "transport"],
    ["a client that is none", { client: {} }, "client"],
    ["a null client", { client: null }, "client"],
    ["an endpoint in the clear", { client: undefined, endpoint: "http://kms.example" }, "endpoint"],
    ["a timeout of zero", { callTimeoutMs: 0 }, "callTimeoutMs"],
    ["a timeout that no timer keeps", { callTimeoutMs: 2 ** 31 }, "callTimeoutMs"],
    ["a deadline that is no number", { openDeadlineMs: Number.NaN }, "openDeadlineMs"],
    ["a policy out of bounds", { policy: { maxAttempts: 0 } }, "policy.maxAttempts"],
  ])("%s", async (_what, change, argument) => {
    const client = kind?.connect(fake);
    const options = { keyVersion: version.name, client, ...change } as never;
    const error = await rejection(openGcpKmsSigner(options));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument });
    await client?.close();
  });
});
