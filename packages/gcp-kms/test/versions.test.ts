import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ConfigurationError, createKeySet, serializeJwks } from "@signpost/core";
import { type GcpKmsClientLike, listGcpKmsKeyVersions, openGcpKmsSigner } from "@signpost/gcp-kms";
import { DEFAULT_CRYPTO_KEY, type FakeGcpKms, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { CLIENTS } from "./support/clients.ts";
import { rejection } from "./support/signatures.ts";

let fake: FakeGcpKms;
beforeAll(async () => {
  fake = await startFakeGcpKms();
  // More than three of the fake's pages, and not in numeric order.
  for (const version of [10, 11, 2, 1, 3, 9, 4, 8, 5, 7, 6]) fake.addVersion({ version });
  fake.addVersion({ version: 12, state: "DISABLED" });
});
afterEach(() => {
  fake.faults.clear();
  fake.intercept(undefined);
});
afterAll(() => fake.stop());

describe.each(CLIENTS)("the versions of a key over $label", ({ connect }) => {
  let client: GcpKmsClientLike;
  beforeAll(() => {
    client = connect(fake);
  });
  afterAll(async () => {
    await client.close();
  });

  test("are all there, in numeric order, with state and time", async () => {
    const versions = await listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client });
    expect(versions).toEqual(
      Array.from({ length: 12 }, (_, index) => ({
        keyVersion: `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/${index + 1}`,
        state: index === 11 ? "DISABLED" : "ENABLED",
        createTime: new Date(Date.UTC(2026, 0, index + 2)),
      })),
    );
  });

  test("are not listed for a name with a version", async () => {
    const error = await rejection(listGcpKmsKeyVersions(`${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/1`, { client }));
    expect(error).toBeInstanceOf(ConfigurationError);
  });

  test("of a key that is not there are key_not_found", async () => {
    const error = await rejection(listGcpKmsKeyVersions(`${DEFAULT_CRYPTO_KEY}x`, { client }));
    expect(error).toMatchObject({
      code: "key_not_found",
      message: expect.stringContaining("cannot list the versions"),
    });
  });

  test("are listed inside a deadline, and until aborted", async () => {
    fake.faults.on("hang");
    expect(await rejection(listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client, deadlineMs: 100 }))).toMatchObject({
      code: "timeout",
    });
    const signal = AbortSignal.timeout(50);
    expect(await rejection(listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client, signal }))).toMatchObject({
      code: "aborted",
    });
  });

  test("are asked for page by page, and no more when nobody waits", async () => {
    fake.faults.latencyMs = 40;
    // A service whose pages never end.
    fake.intercept((_operation, answer) => ({ ...answer, nextPageToken: "3" }));
    const listing = listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client, deadlineMs: 300 });
    expect(await rejection(listing)).toMatchObject({ code: "timeout" });
    await pause(200);
    const asked = fake.faults.calls.length;
    expect(asked).toBeGreaterThan(1);
    await pause(200);
    expect(fake.faults.calls).toHaveLength(asked);
  });

  test("are asked for once, however the client would try again", async () => {
    fake.faults.on("unavailable");
    const listing = listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client });
    expect(await rejection(listing)).toMatchObject({ code: "unavailable" });
    expect(fake.faults.calls).toHaveLength(1);
  });

  test.each<[string, Record<string, unknown>, string, RegExp]>([
    [
      "of another key",
      { name: `${DEFAULT_CRYPTO_KEY}x/cryptoKeyVersions/1` },
      "wrong_key",
      /the service answered with/,
    ],
    ["without a name", { name: undefined }, "integrity", /without name$/],
    ["without a time", { createTime: undefined }, "integrity", /without createTime$/],
  ])("are not listed %s", async (_how, change, code, message) => {
    fake.intercept((_operation, answer) => ({
      ...answer,
      cryptoKeyVersions: (answer["cryptoKeyVersions"] as object[]).map((version) => ({ ...version, ...change })),
    }));
    expect(await rejection(listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client }))).toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  test("of a project's number are listed by the names that the service gives", async () => {
    const byNumber = DEFAULT_CRYPTO_KEY.replace(/^projects\/[^/]+/, "projects/123456789012");
    const [version] = await listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client });
    const byNumberToo = fake.addVersion({ cryptoKey: byNumber });
    fake.intercept((_operation, answer) => ({
      ...answer,
      cryptoKeyVersions: [{ name: version?.keyVersion, state: "ENABLED", createTime: byNumberToo.createTime }],
    }));
    const [listed] = await listGcpKmsKeyVersions(byNumber, { client });
    expect(listed?.keyVersion).toBe(version?.keyVersion);
  });

  test("name the active one, and publish one that is DISABLED by its public key", async () => {
    const versions = await listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client });
    const enabled = versions.filter(({ state }) => state === "ENABLED");
    const signer = await openGcpKmsSigner({ keyVersion: enabled.at(-1)?.keyVersion ?? "", client });
    const disabled = fake.addVersion({ cryptoKey: `${DEFAULT_CRYPTO_KEY}-old`, state: "DISABLED" });
    const publicKey = String(disabled.publicKey.export({ type: "spki", format: "pem" }));
    const set = createKeySet([
      { keyId: "active", signer },
      { keyId: "old", publicKey },
    ]);
    const { keys } = JSON.parse(Buffer.from(serializeJwks(set).body).toString()) as { keys: unknown[] };
    const { x, y } = disabled.publicKey.export({ format: "jwk" });
    expect(keys).toEqual([
      expect.objectContaining({ kid: "active", x: signer.publicKey.x }),
      expect.objectContaining({ kid: "old", x, y }),
    ]);
  });
});

describe("a client that answers something else than versions", () => {
  const version = { name: `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/1`, state: "ENABLED", createTime: { seconds: 1 } };
  test.each<[string, unknown, RegExp]>([
    ["no list", [undefined], /without cryptoKeyVersions$/],
    ["nothing in the list", [[undefined]], /without name$/],
    ["a state that is no word", [[{ ...version, state: {} }]], /without state$/],
    ["a time that is none", [[{ ...version, createTime: { seconds: "soon" } }]], /without createTime$/],
    ["a time beyond all dates", [[{ ...version, createTime: { seconds: "9".repeat(30) } }]], /without createTime$/],
  ])("is refused with %s", async (_what, page, message) => {
    const listCryptoKeyVersions = async (): Promise<unknown> => page;
    const client = { initialize: async () => ({}), asymmetricSign: () => {}, listCryptoKeyVersions };
    const listing = listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client: client as unknown as GcpKmsClientLike });
    expect(await rejection(listing)).toMatchObject({ code: "integrity", message: expect.stringMatching(message) });
  });
});
