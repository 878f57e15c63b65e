import { describe, expect, test, vi } from "vitest";
import { createKeySet, type Signer } from "@signpost/core";
import { azureKeyVaultKeys, type AzureKeyVaultApi, type AzureKeyVaultKeys } from "@signpost/azure-key-vault";
import { okReply, type FakeKeyVersion } from "@signpost/test-backends/fake-azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, STEADY, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, options, count } = await startVaultFixture();
const now = (): number => Math.floor(Date.now() / 1000);

const open = (others: object = {}): Promise<AzureKeyVaultKeys> =>
  azureKeyVaultKeys({ ...options, policy: STEADY, ...others });
const names = ({ versions }: AzureKeyVaultKeys): readonly string[] => versions.map(({ keyVersion }) => keyVersion);
const signerOf = ({ versions }: Pick<AzureKeyVaultKeys, "versions">, index: number): Signer => {
  const version = versions[index];
  if (version === undefined || !("signer" in version)) throw new Error(`no signer at ${index}`);
  return version.signer;
};
/** Versions that were made one day after the other, the last one today. */
const history = (length: number): readonly FakeKeyVersion[] => {
  const start = now() - length * 86_400;
  fake.key.latest.attributes.created = start;
  for (let day = 1; day < length; day += 1) fake.key.rotate({ attributes: { created: start + day * 86_400 } });
  return fake.key.versions;
};

describe("the versions of a key", () => {
  test("are entries of a key set, the newest last, from all pages", async () => {
    const made = history(60);
    await using keys = await open();
    expect(names(keys)).toEqual(made.map(({ version }) => version));
    expect(count("list")).toBe(3);
    const set = createKeySet(keys.versions.toReversed());
    expect(set.active.signer.uri).toBe(`azurekms:///op.vault.azure.net/keys/op/${fake.key.latest.version}`);
    expect(await signsTruly(set.active.signer)).toBe(true);
  });

  test("that were made in the same second are in the order of their names", async () => {
    const made = history(6);
    for (const { attributes } of made) attributes.created = now() - 86_400;
    await using keys = await open();
    expect(names(keys)).toEqual(made.map(({ version }) => version).toSorted());
  });

  test("are only those that are enabled", async () => {
    const [first, second, third] = history(3);
    if (second !== undefined) second.attributes.enabled = false;
    await using keys = await open();
    expect(names(keys)).toEqual([first?.version, third?.version]);
  });

  test("have only a public key once they have expired", async () => {
    const [first] = history(2);
    await using keys = await open();
    expect(keys.versions.map((version) => "signer" in version)).toEqual([true, true]);
    if (first !== undefined) first.attributes.exp = now() - 1;
    expect(await keys.refresh()).toBe(true);
    expect(keys.versions.map((version) => "signer" in version)).toEqual([false, true]);
    expect(keys.versions[0]).toMatchObject({ publicKey: { x: first?.material.x } });
  });

  test("do not sign before their nbf", async () => {
    history(2);
    const nbf = now() + 30 * 86_400;
    fake.key.latest.attributes.nbf = nbf;
    await using keys = await open();
    expect(keys.versions[1]?.activeFrom).toEqual(new Date(nbf * 1000));
  });

  test("are read eight at a time, so that a long history is not throttled", async () => {
    const made = history(20);
    const { x, y } = fake.key.latest.material;
    const identifier = (version: string): string => `https://op.vault.azure.net/keys/op/${version}`;
    let [running, most] = [0, 0];
    const api: AzureKeyVaultApi = {
      listKeyVersions: async () => ({
        value: made.map(({ version, attributes }) => ({ kid: identifier(version), attributes })),
        nextLink: null,
      }),
      getKey: async ({ keyVersion }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => void setImmediate(resolve));
        running -= 1;
        const kid = identifier(keyVersion ?? "");
        return { key: { kid, kty: "EC", crv: "P-256", x, y, key_ops: ["sign"] }, attributes: { enabled: true } };
      },
      sign: () => Promise.reject(new Error("not reached")),
    };
    await using keys = await azureKeyVaultKeys({ vault: "https://op.vault.azure.net", key: "op", api });
    expect(keys.versions).toHaveLength(20);
    expect(most).toBe(8);
  });

  test("stay the same array and the same signers until something changes, and are read once", async () => {
    history(2);
    await using keys = await open();
    const { versions } = keys;
    expect(await Promise.all([keys.refresh(), keys.refresh()])).toEqual([false, false]);
    expect(keys.versions).toBe(versions);
    expect([count("list"), count("read")]).toEqual([2, 2]);
    fake.key.rotate();
    expect(await keys.refresh()).toBe(true);
    expect(signerOf(keys, 0)).toBe(signerOf({ versions }, 0));
    expect(count("read")).toBe(3);
  });

  test("share a token, and close together", async () => {
    history(3);
    const keys = await open();
    for (const index of [0, 1, 2]) expect(await signsTruly(signerOf(keys, index))).toBe(true);
    expect(fake.entra.issued).toHaveLength(1);
    await keys.close();
    await keys.close();
    expect(await rejection(signerOf(keys, 0).sign(DIGEST))).toMatchObject({ code: "closed" });
    expect(await rejection(keys.refresh())).toMatchObject({ code: "closed" });
  });

  test("end a refresh at once when they are closed", async () => {
    const keys = await open();
    fake.faults.on("hang", "list");
    const refreshing = rejection(keys.refresh());
    await vi.waitFor(() => expect(count("list")).toBe(2));
    await keys.close();
    expect(await refreshing).toMatchObject({ code: "closed" });
  });

  test("can have as many tags as the service allows", async () => {
    history(25);
    fake.tags = Object.fromEntries(
      Array.from({ length: 15 }, (_, index) => [`${index}-`.padEnd(512, "t"), "v".repeat(512)]),
    );
    await using keys = await open();
    expect(keys.versions).toHaveLength(25);
  });

  test("are listed once, if a page begins with one of the page before", async () => {
    const [first, second] = history(2);
    const item = (version: FakeKeyVersion | undefined): object => ({
      kid: `https://op.vault.azure.net/keys/op/${version?.version}`,
      attributes: version?.attributes,
    });
    const nextLink = "https://op.vault.azure.net:443/keys/op/versions?api-version=2025-07-01&$skiptoken=x";
    fake.replyNext(okReply({ value: [item(second), item(first)], nextLink }));
    fake.replyNext(okReply({ value: [item(first)], nextLink: null }));
    await using keys = await open();
    expect(names(keys)).toEqual([first?.version, second?.version]);
  });

  test("can be in a list of an emulator that does not know by which scheme and port it is reached", async () => {
    history(30);
    fake.calledAs = "http://emulator:8080";
    fake.resource = "https://vault.example";
    await using keys = await open({ vault: "https://op.vault.example" });
    expect(keys.versions).toHaveLength(30);
  });

  test("can be named by an identifier, without a version", async () => {
    const key = "https://op.vault.azure.net/keys/op";
    await using keys = await open({ key, vault: undefined });
    expect(names(keys)).toEqual([fake.key.latest.version]);
    expect(await rejection(open({ key: `${key}/${"f".repeat(32)}`, vault: undefined }))).toMatchObject({
      argument: "key",
    });
  });
});

describe("a list is refused", () => {
  const item = (changes: object = {}): object => ({
    kid: `https://op.vault.azure.net/keys/op/${fake.key.latest.version}`,
    attributes: { enabled: true, created: now() },
    ...changes,
  });
  const uri = "azurekms:///op.vault.azure.net/keys/op";
  const policy = { ...STEADY, maxAttempts: 1 };

  test.each([
    ["to another host", "https://evil.example/keys/op/versions?x=1"],
    ["to another vault", "https://other.vault.azure.net/keys/op/versions?x=1"],
    ["to a host that only begins so", "https://op.vault.azure.net.evil.example/keys/op/versions"],
    ["to another port", "https://op.vault.azure.net:8443/keys/op/versions"],
    ["over http", "http://op.vault.azure.net/keys/op/versions"],
    ["to another key", "https://op.vault.azure.net/keys/other/versions"],
    ["to a secret", "https://op.vault.azure.net/secrets/op/versions"],
    ["up and down", "https://op.vault.azure.net/keys/op/versions/../../../secrets"],
    ["that is relative", "/keys/op/versions?x=1"],
    ["that is a number", 7],
  ])("with a nextLink %s, and no token is sent there", async (_what, nextLink) => {
    fake.replyNext(okReply({ value: [item()], nextLink }));
    const error = await rejection(open({ policy }));
    expect(error).toMatchObject({ code: "integrity", transient: false, uri });
    expect(String(error)).toContain("nextLink leads elsewhere");
    expect(String(error)).not.toMatch(/evil|other\.vault/);
    expect(fake.requests.filter(({ token }) => token !== undefined)).toHaveLength(1);
  });

  test("with a nextLink that leads to itself", async () => {
    const nextLink = "https://op.vault.azure.net/keys/op/versions?api-version=2025-07-01&$skiptoken=x";
    fake.replyNext(okReply({ value: [item()], nextLink }), 10);
    expect(String(await rejection(open({ policy })))).toContain("nextLink leads to the same page again");
    expect(count("list")).toBe(2);
  });

  test("that is longer than any rotation makes it, before each version is read", async () => {
    const value = Array.from({ length: 2501 }, (_, index) =>
      item({ kid: `https://op.vault.azure.net/keys/op/${String(index).padStart(32, "0")}` }),
    );
    fake.replyNext(okReply({ value }));
    expect(await rejection(open({ policy }))).toMatchObject({ code: "integrity", transient: false, uri });
    expect(count("read")).toBe(0);
  });

  test.each([
    ["without value", () => ({ value: undefined }), "integrity"],
    [
      "with an item of another vault",
      () => ({ value: [item({ kid: `https://x.vault.azure.net/keys/op/${"f".repeat(32)}` })] }),
      "wrong_key",
    ],
    [
      "with an item of another key",
      () => ({ value: [item({ kid: `https://op.vault.azure.net/keys/x/${"f".repeat(32)}` })] }),
      "wrong_key",
    ],
    ["with an item without kid", () => ({ value: [item({ kid: undefined })] }), "integrity"],
    ["with an item without attributes", () => ({ value: [item({ attributes: null })] }), "integrity"],
    ["with an item without created", () => ({ value: [item({ attributes: { enabled: true } })] }), "integrity"],
    ["with nothing in it", () => ({ value: [] }), "key_not_found"],
    ["with nothing enabled", () => ({ value: [item({ attributes: { enabled: false, created: 1 } })] }), "key_disabled"],
  ])("%s", async (_what, reply, code) => {
    fake.replyNext(okReply(reply()));
    expect(await rejection(open({ policy }))).toMatchObject({ code, uri });
  });

  test("with a version of another type, which the error names", async () => {
    history(2);
    fake.key.latest.kty = "RSA";
    const error = await rejection(open({ policy }));
    expect(error).toMatchObject({ code: "unsupported_key" });
    expect(String(error)).toContain(fake.key.latest.version);
  });

  test("and the last one stays, when a refresh fails", async () => {
    await using keys = await open({ policy });
    const { versions } = keys;
    fake.faults.on("unavailable", "list");
    expect(await rejection(keys.refresh())).toMatchObject({ code: "unavailable", uri });
    expect(keys.versions).toBe(versions);
    expect(await signsTruly(signerOf(keys, 0))).toBe(true);
  });
});
