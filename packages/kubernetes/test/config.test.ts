import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { withSecrets } from "../src/backends/secrets.ts";
import { readAdminPlace } from "../src/program/admin.ts";
import { privateFolder } from "./support/private-folder.ts";

// What a configuration may say, for the program and for editors.

const schema = JSON.parse(readFileSync(new URL("../config.schema.json", import.meta.url), "utf8")) as object;
const isValid = new Ajv2020({ strict: false }).compile(schema);

const BASE = {
  issuer: "https://kubernetes.default.svc",
  socket: { path: "/run/signpost/signer.sock" },
  maxTokenLifetimeSeconds: 3600,
  keys: [{ uri: "local:" }],
};
const ENTRY = {
  signer: "awskms:///alias/a",
  announcedFrom: "2026-01-01T00:00:00Z",
  activeFrom: "2026-01-01T00:00:00Z",
};

async function load(value: unknown): ReturnType<typeof loadConfig> {
  await using folder = await privateFolder();
  return await loadConfig(await folder.write("config.json", value));
}

describe("accepted:", () => {
  test.each([
    ["keys", BASE],
    ["a schedule", { ...BASE, keys: undefined, schedule: { entries: [ENTRY], announceHours: 2, sharedCaches: false } }],
    ["a socket of systemd", { ...BASE, socket: { systemd: true, name: "signer" } }],
    [
      "all members",
      {
        ...BASE,
        $schema: "https://example/schema.json",
        refreshHintSeconds: 30,
        socket: { path: "/run/s/s.sock", mode: "0660", group: 1000 },
        adapters: { pkcs11: { module: "/m.so", allowedModules: ["/m.so"], pin: "env:PIN" } },
        admin: { host: "::1", port: 0 },
        audit: "-",
        publicJwks: { host: "0.0.0.0", port: 8443, issuer: "https://keys.example", path: "/keys" },
      },
    ],
  ])("%s", async (_what, value) => {
    const read = JSON.parse(JSON.stringify(value)) as unknown;
    expect(isValid(read)).toBe(true);
    await expect(load(read)).resolves.toHaveProperty("config");
  });
});

describe("refused:", () => {
  test.each([
    [{ ...BASE, isuer: "a" }, "isuer: unknown option; did you mean issuer?"],
    [{ ...BASE, issuer: undefined }, "issuer: expected a non-empty string"],
    [{ ...BASE, keys: undefined }, "keys: expected either keys or schedule, got neither"],
    [{ ...BASE, schedule: { entries: [ENTRY] } }, "keys: expected either keys or schedule, got both"],
    [{ ...BASE, keys: [] }, "keys: expected a list with an entry"],
    [{ ...BASE, keys: [{ url: "local:" }] }, "keys[0].url: unknown option; did you mean uri?"],
    [{ ...BASE, keys: undefined, schedule: { entries: [{ ...ENTRY, activeForm: "" }] } }, "did you mean activeFrom?"],
    [{ ...BASE, keys: undefined, schedule: { entries: [] } }, "schedule.entries: expected a list with an entry"],
    [{ ...BASE, keys: undefined, schedule: "schedule.json" }, "schedule: expected a schedule, or file:PATH"],
    [
      { ...BASE, legacyKeys: [{ publicKey: "a" }] },
      "legacyKeys[0].publicKey: unknown option; did you mean publicKeyFile?",
    ],
    [{ ...BASE, legacyKeys: [{}] }, "legacyKeys[0].publicKeyFile: expected a non-empty string"],
    [{ ...BASE, adapters: { awskmss: {} } }, "adapters.awskmss: unknown option; did you mean awskms?"],
    [{ ...BASE, adapters: { vault: "a" } }, "adapters.vault: expected an object"],
    [{ ...BASE, admin: { ports: 1 } }, "admin.ports: unknown option; did you mean port?"],
    [{ ...BASE, audit: "" }, "audit: expected a non-empty string"],
    [{ ...BASE, publicJwks: { hosts: "a", port: 1 } }, "publicJwks.hosts: unknown option; did you mean host?"],
    [[], "options: expected an object"],
  ])("%j", async (value, message) => {
    const read = JSON.parse(JSON.stringify(value)) as unknown;
    expect(isValid(read)).toBe(false);
    await expect(load(read)).rejects.toThrow(message);
  });

  test.each([
    ['{"issuer": "a", "issuer": "b"}', 'config.json: the name "issuer" is there twice in one object'],
    ['{"a": {"b": 1, "\\u0062": 2}}', 'the name "\\u0062" is there twice'],
    ['{\n  "issuer": secret\n}', "config.json: expected JSON"],
    ["", "config.json: expected JSON"],
  ])("the text %j", async (text, message) => {
    const error: unknown = await load(text).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain("secret");
  });

  test("a scheme of no backend, without its URI", async () => {
    const error: unknown = await load({ ...BASE, keys: [{ uri: "pem:secret" }] }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain("keys[0].uri: expected a key URI that begins with local:, awskms:");
    expect(String(error)).not.toContain("secret");
  });

  test("a lifetime of the schedule that is not that of the configuration", async () => {
    const schedule = { entries: [ENTRY], maxTokenLifetimeSeconds: 600 };
    await expect(load({ ...BASE, keys: undefined, schedule })).rejects.toThrow(
      "schedule.maxTokenLifetimeSeconds: expected 3600, which is maxTokenLifetimeSeconds of the configuration",
    );
  });

  test("a file that is not there, by the name of the member alone", async () => {
    await expect(load({ ...BASE, legacyKeys: [{ publicKeyFile: "none.pub" }] })).rejects.toThrow(
      "legacyKeys[0].publicKeyFile: the file cannot be read (ENOENT)",
    );
    await expect(loadConfig("/nowhere/config.json")).rejects.toThrow("--config: the file cannot be read (ENOENT)");
  });

  test.each([["0.0.0.0"], ["10.0.0.1"], ["example.com"], [""], ["::"]])("the admin address %j", (host) => {
    expect(() => readAdminPlace({ host, port: 0 })).toThrow("admin.host: expected a loopback address");
  });
});

test("a public key is read without a byte order mark", async () => {
  await using folder = await privateFolder();
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  await folder.write("sa.pub", `\uFEFF${pem}`);
  const path = await folder.write("config.json", { ...BASE, legacyKeys: [{ publicKeyFile: "sa.pub" }] });
  expect((await loadConfig(path)).legacyKeys).toEqual([{ publicKey: pem, excludeFromDiscovery: undefined }]);
});

test("paths in the options of adapters start at the folder of the configuration, as all others do", async () => {
  await using folder = await privateFolder();
  await folder.write("pin", "5678\n");
  const path = await folder.write("config.json", {
    ...BASE,
    adapters: {
      pkcs11: { module: "m.so", modules: { hsm: "../h.so" }, allowedModules: ["m.so", "/a.so"], pin: "file:pin" },
      vault: {
        address: "https://vault.example:8200",
        auth: { method: "approle", roleId: "role", secretIdFile: "id", mount: "path" },
        tls: { caFile: "ca.pem", serverName: "vault" },
      },
      azurekms: { tls: { caFile: "/etc/ca.pem" } },
    },
  });
  const { adapters } = (await loadConfig(path)).config;
  expect(adapters).toEqual({
    pkcs11: {
      module: folder.at("m.so"),
      modules: { hsm: resolve(folder.at("."), "../h.so") },
      allowedModules: [folder.at("m.so"), "/a.so"],
      pin: `file:${folder.at("pin")}`,
    },
    vault: {
      address: "https://vault.example:8200",
      auth: { method: "approle", roleId: "role", secretIdFile: folder.at("id"), mount: "path" },
      tls: { caFile: folder.at("ca.pem"), serverName: "vault" },
    },
    azurekms: { tls: { caFile: "/etc/ca.pem" } },
  });
  const { pin } = withSecrets("adapters.pkcs11", adapters?.["pkcs11"], {}) as { readonly pin: () => Promise<string> };
  expect(await pin()).toBe("5678");
});

test("what is no path in their place is left for the adapter to refuse", async () => {
  const adapters = { pkcs11: { module: "", pin: "1234", libraryParameters: "file:a" }, vault: { tls: { caFile: 1 } } };
  expect((await load({ ...BASE, adapters })).config.adapters).toEqual(adapters);
});

describe("secrets", () => {
  const read = (value: object, env: NodeJS.ProcessEnv = {}): unknown => withSecrets("adapters.pkcs11", value, env);
  const secretOf = async (value: object, env?: NodeJS.ProcessEnv): Promise<unknown> =>
    (read(value, env) as { readonly pin: () => Promise<string> }).pin();

  test("come from variables and files", async () => {
    await using folder = await privateFolder();
    expect(await secretOf({ pin: "env:PIN" }, { PIN: "1234" })).toBe("1234");
    expect(await secretOf({ pin: `file:${await folder.write("pin", "5678\n")}` })).toBe("5678");
    const nested = read({ auth: { token: "env:TOKEN" } }, { TOKEN: "t" }) as { auth: { token: () => Promise<string> } };
    expect(await nested.auth.token()).toBe("t");
  });

  test.each([
    [{ pin: "1234" }, "adapters.pkcs11.pin: expected where the secret is: env:NAME or file:PATH"],
    [{ pin: 1234 }, "adapters.pkcs11.pin: expected where the secret is"],
    [{ auth: { secretId: "s" } }, "adapters.pkcs11.auth.secretId: expected where the secret is"],
    [{ allowPinValue: true }, "adapters.pkcs11.allowPinValue: expected no PIN in a URI"],
  ])("%j is refused, and not shown", (value, message) => {
    expect(() => read(value)).toThrow(message);
    expect(() => read(value)).not.toThrow(/1234/);
  });

  test("a variable that is not set is named, if it looks like one", async () => {
    await expect(secretOf({ pin: "env:PIN" })).rejects.toThrow("the variable PIN is not set");
    await expect(secretOf({ pin: "env:1234-secret" })).rejects.not.toThrow(/1234/);
    await expect(secretOf({ pin: "file:/nowhere/1234" })).rejects.not.toThrow(/1234/);
  });
});
