import { describe, expect, test } from "vitest";
import { openSigner, type SignerErrorCode } from "@signpost/core";
import {
  azureKeyVault,
  azureKeyVaultKeys,
  openAzureKeyVaultSigner,
  type AzureKeyVaultSignerOptions,
} from "@signpost/azure-key-vault";
import { okReply, type FakeAzureKey } from "@signpost/test-backends/fake-azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, STEADY, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, options, open, count } = await startVaultFixture();
const VAULT = "https://op.vault.azure.net";
const now = (): number => Math.floor(Date.now() / 1000);

describe("a key is opened", () => {
  test.each(["EC", "EC-HSM"])("with kty %s", async (kty) => {
    fake.key.latest.kty = kty;
    expect(await signsTruly(await open())).toBe(true);
  });

  test("without a version at the latest, once, and its URI names that version for good", async () => {
    const first = fake.key.latest;
    const signer = await open();
    const uri = `azurekms:///op.vault.azure.net/keys/op/${first.version}`;
    expect(signer.uri).toBe(uri);
    fake.key.rotate();
    expect(await signsTruly(signer)).toBe(true);
    expect(fake.requests.at(-1)?.path).toBe(`/keys/op/${first.version}/sign`);
    expect(count("read")).toBe(1);
    // And what the URI names is opened again.
    const { credential, dispatcher } = options;
    const again = await openSigner(uri, [azureKeyVault({ credential, dispatcher })]);
    expect(again.publicKey).toEqual(signer.publicKey);
    await again.close();
    expect((await open()).uri).not.toBe(uri);
  });

  test("by its identifier, with and without a version, or with the version apart", async () => {
    const { version } = fake.key.latest;
    fake.key.rotate();
    const identifier = `${VAULT}/keys/op`;
    const uri = `azurekms:///op.vault.azure.net/keys/op/${version}`;
    for (const named of [
      { key: `${identifier}/${version}`, vault: undefined },
      { key: `${identifier}/${version}`, vault: "op.vault.azure.net", keyVersion: version },
      { key: identifier, vault: undefined, keyVersion: version },
      { key: identifier.replace("https", "HTTPS"), vault: undefined, keyVersion: version },
      { key: "op", vault: "op.vault.azure.net", keyVersion: version },
      { key: "op", vault: `${VAULT}/`, keyVersion: version },
    ]) {
      expect((await open(named)).uri).toBe(uri);
    }
    expect((await open({ key: identifier, vault: undefined })).uri).not.toBe(uri);
  });

  test("although the service spells its name with other upper and lower case", async () => {
    expect(await signsTruly(await open({ key: "OP" }))).toBe(true);
  });

  test("without a call if its public key is given, and the first signature shows whether it is right", async () => {
    const { version, material } = fake.key.latest;
    const publicKey = { kty: "EC", crv: "P-256", x: material.x, y: material.y } as const;
    const signer = await openAzureKeyVaultSigner({ ...options, keyVersion: version, publicKey });
    expect(fake.requests).toHaveLength(0);
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
    expect(await signsTruly(signer)).toBe(true);
    await signer.close();
  });

  test("with the API version that the caller names, and by default with 2025-07-01", async () => {
    await open();
    await open({ apiVersion: "7.4" });
    expect(fake.requests.filter(({ token }) => token).map(({ query }) => query.get("api-version"))).toEqual([
      "2025-07-01",
      "7.4",
    ]);
  });

  test("with what signing needs, and nothing else, on the wire", async () => {
    const signer = await open();
    await signer.sign(DIGEST);
    const { headers, body, method } = fake.requests.at(-1) ?? { headers: {}, body: "" };
    expect(method).toBe("POST");
    expect(JSON.parse(body)).toEqual({ alg: "ES256", value: Buffer.from(DIGEST).toString("base64url") });
    expect(Object.keys(headers).toSorted()).toEqual([
      "accept",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
    ]);
  });
});

describe("a key is refused", () => {
  test.each<[what: string, change: (key: FakeAzureKey) => void, code: SignerErrorCode, text: RegExp]>([
    ["a disabled version", ({ latest }) => (latest.attributes.enabled = false), "key_disabled", /is disabled$/],
    [
      "a version before its nbf",
      ({ latest }) => (latest.attributes.nbf = now() + 3600),
      "key_disabled",
      /is not valid before \d{4}-.*Z \(nbf\)$/,
    ],
    [
      "a version after its exp",
      ({ latest }) => (latest.attributes.exp = now() - 1),
      "key_disabled",
      /has expired at \d{4}-.*Z \(exp\)$/,
    ],
    [
      "a key that may only verify",
      ({ latest }) => (latest.keyOps = ["verify"]),
      "unsupported_key",
      /the key_ops of the key do not contain sign$/,
    ],
    [
      "an RSA key",
      ({ latest }) => (latest.kty = "RSA"),
      "unsupported_key",
      /the key is RSA P-256, expected EC or EC-HSM P-256$/,
    ],
    ["another curve", ({ latest }) => (latest.crv = "P-256K"), "unsupported_key", /EC-HSM P-256K, expected/],
    ["a type that is no word", ({ latest }) => (latest.kty = "x y"), "unsupported_key", /the key is P-256, expected/],
    ["a deleted key", (key) => (key.softDeleted = true), "key_not_found", /there is no such key/],
  ])("for %s, which the message says", async (_what, change, code, text) => {
    change(fake.key);
    const error = await rejection(open());
    expect(error).toMatchObject({ code, transient: false, uri: "azurekms:///op.vault.azure.net/keys/op" });
    expect(String(error)).toMatch(text);
    expect(String(error)).toContain("read op at https://op.vault.azure.net: ");
  });

  test("for a version or a name that is not there", async () => {
    expect(await rejection(open({ keyVersion: "f".repeat(32) }))).toMatchObject({ code: "key_not_found" });
    expect(await rejection(open({ key: "other" }))).toMatchObject({ code: "key_not_found" });
  });

  test.each([
    ["within its times", -60, 3600],
    ["at the second of its nbf", 0, 3600],
  ])("not %s", async (_what, nbf, exp) => {
    Object.assign(fake.key.latest.attributes, { nbf: now() + nbf, exp: now() + exp });
    expect(await signsTruly(await open())).toBe(true);
  });
});

test("health notes say what an operator should know of the key", async () => {
  const exp = now() + 86_400;
  Object.assign(fake.key.latest.attributes, { exportable: true, exp, recoveryLevel: "Recoverable+Purgeable" });
  await using signer = await openAzureKeyVaultSigner(options);
  expect(signer.health().notes).toEqual([
    expect.stringMatching(/^exportable: /),
    expect.stringMatching(/no purge protection/),
    `exp ${new Date(exp * 1000).toISOString()}: the service refuses to sign with this version from then on`,
  ]);
  fake.reset();
  await using plain = await openAzureKeyVaultSigner(options);
  expect(plain.health().notes).toEqual([]);
});

describe("an emulator at an address, which calls itself by the name of a vault,", () => {
  const emulator = (): Pick<AzureKeyVaultSignerOptions, "vault" | "key" | "credential" | "scope" | "tls"> => {
    fake.resource = "https://vault.azure.net";
    fake.calledAs = "https://op.vault.azure.net";
    const { credential } = options;
    const scope = "https://vault.azure.net/.default";
    return { vault: fake.url, key: "op", credential, scope, tls: { caFile: fake.caFile } };
  };
  const answerAs = (host: string): void =>
    fake.replyNext(
      okReply({
        kid: `https://${host}/keys/op/${fake.key.latest.version}`,
        value: Buffer.alloc(64, 1).toString("base64url"),
      }),
    );

  test("signs, and lists its versions with links to that name", async () => {
    await using signer = await openAzureKeyVaultSigner(emulator());
    expect(await signsTruly(signer)).toBe(true);
    expect(signer.uri).toBe(`azurekms:///127.0.0.1:${fake.port}/keys/op/${fake.key.latest.version}`);
    for (let more = 0; more < 30; more += 1) fake.key.rotate();
    await using keys = await azureKeyVaultKeys({ ...emulator(), policy: STEADY });
    expect(keys.versions).toHaveLength(31);
    expect(new Set(fake.requests.map(({ host }) => host))).toEqual(new Set([`127.0.0.1:${fake.port}`]));
  });

  test("must call itself the same in all answers", async () => {
    const signer = await openAzureKeyVaultSigner({ ...emulator(), policy: false });
    answerAs("op.vault.azure.net");
    expect(await signer.sign(DIGEST)).toHaveLength(64);
    answerAs("other.vault.azure.net");
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "wrong_key" });
    await signer.close();
  });
});
