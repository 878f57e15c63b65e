import { stat } from "node:fs/promises";
import { join } from "node:path";
import { jwkThumbprint } from "@signpost/core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { makeLocalKey } from "../src/keygen/local.ts";
import type { KeyOrder } from "../src/keygen/maker.ts";
import { runKeygen } from "../src/keygen/run.ts";
import type { CliContext } from "../src/program/context.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// What `signpost keygen` refuses before it makes a key, what the maker gets, and what is printed of the key.

const fake = vi.hoisted(() => ({
  orders: [] as { readonly scheme: string; readonly order: KeyOrder }[],
  make: async (): Promise<string> => "",
}));
const maker = vi.hoisted(() => (scheme: string) => (order: KeyOrder) => {
  fake.orders.push({ scheme, order });
  return fake.make();
});
vi.mock("../src/keygen/aws-kms.ts", () => ({ makeKmsKey: maker("awskms") }));
vi.mock("../src/keygen/gcp-kms.ts", () => ({ makeGcpKey: maker("gcpkms") }));
vi.mock("../src/keygen/vault-transit.ts", () => ({ makeVaultKey: maker("vault") }));
vi.mock("../src/keygen/azure-key-vault.ts", () => ({ makeAzureKey: maker("azurekms") }));

let folder: KeyFolder;
let made: string;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  made = `local:${join(folder.path, "op.pem")}`;
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => {
  fake.orders.length = 0;
  fake.make = async () => made;
});

function contextOf(more: Partial<CliContext> = {}): CliContext & {
  readonly lines: readonly string[];
  readonly printed: () => string;
} {
  const context = recordingContext(folder.path);
  const lines: string[] = [];
  return {
    ...context,
    messages: { ...context.messages, line: (text = "") => void lines.push(text) },
    env: { VAULT_ADDR: "http://127.0.0.1:9", VAULT_TOKEN: "1234", AWS_REGION: "eu-west-1" },
    ...more,
    lines,
  };
}

const { d: _private, ...PUBLIC } = RFC_KEY;
const KID = jwkThumbprint(PUBLIC);
const VERSIONED = {
  gcpkms: "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k",
  vault: "vault:///transit/keys/op",
  azurekms: "azurekms:///op.vault.azure.net/keys/op",
};
const URIS = { ...VERSIONED, awskms: "awskms:///alias/op" };

describe("before a key is made, is refused", () => {
  test.each<[what: string, uri: string, flags: object, message: string]>([
    ["a version of a local key", "local:a.pem", { newVersion: true }, "--new-version is for Google Cloud KMS, Vault"],
    ["a version in AWS", URIS.awskms, { newVersion: true }, "--new-version is for Google Cloud KMS, Vault and Azure"],
    ["a protection in AWS", URIS.awskms, { protection: "hsm" }, "--protection is for Google Cloud KMS and Azure"],
    ["a protection in Vault", URIS.vault, { protection: "software" }, "--protection is for Google Cloud KMS and Azure"],
    [
      "a protection of a version",
      URIS.gcpkms,
      { newVersion: true, protection: "hsm" },
      "--protection is that of the key",
    ],
    ["a URI of no backend", "none:", {}, "The key URI begins with the scheme of no backend"],
  ])("%s", async (_what, uri, flags, message) => {
    await expect(runKeygen(contextOf(), flags, uri)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message),
    });
    expect(fake.orders).toEqual([]);
  });

  test("an adapter with its own connection", async () => {
    await folder.write(
      "own.mjs",
      "export default { issuer: 'https://a.example', keys: [], adapters: { vault: { dispatcher: {} } } };",
    );
    await expect(runKeygen(contextOf(), { config: "own.mjs" }, URIS.vault)).rejects.toMatchObject({
      exitCode: 2,
      message: "keygen cannot use the option dispatcher of the adapter",
      hint: "Use the tools of the backend",
    });
    expect(fake.orders).toEqual([]);
  });

  test("a mistake in the options of the adapter", async () => {
    const adapters = { vault: { adress: "https://v.example" } };
    await folder.write("typo.json", { issuer: "https://a.example", keys: [], adapters });
    await expect(runKeygen(contextOf(), { config: "typo.json" }, URIS.vault)).rejects.toMatchObject({
      exitCode: 2,
      message: "adapters.vault: adress: unknown option; did you mean address?",
    });
    expect(fake.orders).toEqual([]);
  });
});

describe("the maker", () => {
  test.each(Object.entries(URIS))("of %s makes its keys, in an HSM unless told otherwise", async (scheme, uri) => {
    expect(await runKeygen(contextOf(), {}, uri)).toBe(0);
    expect(fake.orders).toMatchObject([{ scheme, order: { uri, options: {}, newVersion: false, protection: "hsm" } }]);
  });

  test.each(Object.entries(VERSIONED))("of %s makes versions too", async (scheme, uri) => {
    await runKeygen(contextOf(), { newVersion: true }, uri);
    expect(fake.orders).toMatchObject([{ scheme, order: { newVersion: true } }]);
  });

  test.each(["gcpkms", "azurekms"] as const)("of %s makes keys in software", async (scheme) => {
    await runKeygen(contextOf(), { protection: "software" }, URIS[scheme]);
    expect(fake.orders).toMatchObject([{ scheme, order: { protection: "software" } }]);
  });

  test("gets the options of the adapter", async () => {
    const adapters = { vault: { address: "http://127.0.0.1:8" }, awskms: { region: "eu-west-1" } };
    await folder.write("good.json", { issuer: "https://a.example", keys: [], adapters });
    await runKeygen(contextOf(), { config: "good.json" }, URIS.vault);
    expect(fake.orders).toMatchObject([{ order: { options: adapters.vault } }]);
    const { order } = fake.orders[0] ?? {};
    expect(await order?.pin()).toBeUndefined();
  });
});

describe("the new key", () => {
  test("is told at once, then signs a probe, and its entry is on stdout", async () => {
    const context = contextOf();
    expect(await runKeygen(context, {}, URIS.vault)).toBe(0);
    expect(context.lines).toEqual([`✓ made ${made}`, "✓ signed and verified a probe"]);
    expect(context.printed()).toBe(`${JSON.stringify({ keyId: KID, signer: made })}\n`);
  });

  test("has the kid of --key-id, and with --json its public key", async () => {
    const context = contextOf();
    await runKeygen(context, { keyId: "sig-1", json: true }, URIS.vault);
    expect(JSON.parse(context.printed())).toEqual({ entry: { keyId: "sig-1", signer: made }, publicKey: PUBLIC });
  });

  test("is told although it cannot be opened", async () => {
    const context = contextOf();
    fake.make = async () => `local:${join(folder.path, "none.pem")}`;
    await expect(runKeygen(context, {}, URIS.vault)).rejects.toMatchObject({ code: "invalid_configuration" });
    expect(context.lines).toEqual([`✓ made local:${join(folder.path, "none.pem")}`]);
    expect(context.printed()).toBe("");
  });
});

describe("what Ctrl-C leaves behind", () => {
  /** Runs a maker that Ctrl-C ends, and returns what was said. */
  async function interrupted(
    during: (leaves: KeyOrder["leaves"], stop: () => void) => void,
  ): Promise<readonly string[]> {
    const controller = new AbortController();
    const context = contextOf({ signal: controller.signal });
    fake.make = async () => {
      const { order } = fake.orders[0] ?? {};
      if (order !== undefined) during(order.leaves, () => controller.abort());
      throw new Error("stopped");
    };
    await expect(runKeygen(context, {}, URIS.vault)).rejects.toThrow("stopped");
    return context.lines;
  }

  test("is told, the last word of it", async () => {
    const lines = await interrupted((leaves, stop) => {
      leaves("nothing yet");
      leaves("a key\u001B[1m may be there");
      stop();
    });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^! a key.* may be there$/);
    expect(lines[0]).not.toContain("\u001B");
  });

  test("is nothing before a request was sent", async () => {
    expect(await interrupted((_leaves, stop) => stop())).toEqual([]);
  });

  test("is nothing once the key is made", async () => {
    const controller = new AbortController();
    const context = contextOf({ signal: controller.signal });
    fake.make = async () => {
      fake.orders[0]?.order.leaves("a key may be there");
      return made;
    };
    await runKeygen(context, {}, URIS.vault);
    controller.abort();
    expect(context.lines.filter((line) => line.startsWith("!"))).toEqual([]);
  });
});

test("a local key needs the name of a file, and a folder that can be made", async () => {
  const order = (uri: string): KeyOrder => ({ uri, context: contextOf() }) as unknown as KeyOrder;
  await expect(makeLocalKey(order("local:"))).rejects.toMatchObject({
    exitCode: 2,
    message: "local: names no file",
    hint: "signpost keygen local:keys/op.pem",
  });
  await expect(makeLocalKey(order("local:op.pem"))).rejects.toMatchObject({
    code: "key_exists",
    message: "The file exists, and is not replaced",
    hint: "Name another file",
  });
  await expect(makeLocalKey(order("local:op.pem/a/b.pem"))).rejects.toMatchObject({
    exitCode: 2,
    message: "The file cannot be written (ENOTDIR)",
  });
  expect(await makeLocalKey(order("local:a/b/new.pem"))).toBe("local:a/b/new.pem");
  const modeOf = async (name: string): Promise<number> => (await stat(join(folder.path, name))).mode & 0o777;
  // For its owner alone.
  expect([await modeOf("a/b/new.pem"), await modeOf("a/b"), await modeOf("a")]).toEqual([0o600, 0o700, 0o700]);
});
