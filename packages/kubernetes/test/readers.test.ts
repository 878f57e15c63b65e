import { describe, expect, test } from "vitest";
import { ADAPTERS, keyUriScheme, openKey } from "../src/backends/adapters.ts";
import { withSecrets } from "../src/backends/secrets.ts";
import { withFolder } from "../src/config/adapter-paths.ts";
import { readJson } from "../src/config/json.ts";
import { readConfig, readSchedule } from "../src/config/read-config.ts";
import { repeatedName } from "../src/repeated-name.ts";
import { ISSUER } from "./support/claims.ts";
import { privateFolder } from "./support/private-folder.ts";

// The small readers of a configuration: names, URIs, paths and references to secrets.

describe("a name that an object has twice", () => {
  test.each([
    ['{"a":1,"a":2}', '"a"'],
    ['{"a":{"b":1},"c":{"b":1}}', undefined],
    ['{"a":{"a":1}}', undefined],
    ['{"a":{"b":1},"a":2}', '"a"'],
    ['{"a":{"b":1,"b":2}}', '"b"'],
    ['[{"a":1},{"a":2}]', undefined],
    ['{"a":["a","a"],"b":"a"}', undefined],
    [String.raw`{"a\"":1,"a":2}`, undefined],
    [String.raw`{"a\"":1,"a\u0022":2}`, String.raw`"a\u0022"`],
    [String.raw`{"a":"\\","a":1}`, '"a"'],
    ['{"a":"{}:","b":"a"}', undefined],
    ['{ "a" : 1 , "a" : 2 }', '"a"'],
    ['{"":1,"":2}', '""'],
    ['"a"', undefined],
    ["", undefined],
  ])("of %s is %s", (text, name) => {
    expect(repeatedName(text)).toBe(name);
  });
});

describe("JSON that is none", () => {
  const read = (text: string | Uint8Array): unknown => readJson("config.json", Buffer.from(text));

  test.each([
    ["", "at line 1, column 1"],
    ['{"a":1', "at line 1, column 7"],
    ['{\n  "a": 1 x}', "at line 2, column 10"],
    ["[1,\n\n2", "at line 3, column 2"],
  ])("%j is named by its place", (text, place) => {
    expect(() => read(text)).toThrow(`config.json: expected JSON, and ${place} it is not`);
  });

  test("is not shown, nor is a long name", () => {
    const long = "a".repeat(65);
    expect(() => read(`{"${long}":1,"${long}":2}`)).toThrow("config.json: the name of a member is there twice");
    const shown = "a".repeat(64);
    expect(() => read(`{"${shown}":1,"${shown}":2}`)).toThrow(`the name "${shown}" is there twice in one object`);
  });

  test("is not text either", () => {
    expect(() => read(Uint8Array.of(0x22, 0xff, 0x22))).toThrow("config.json: expected UTF-8");
    expect(read("\uFEFF[1]")).toEqual([1]);
  });
});

describe("the scheme of a key URI", () => {
  test.each([
    ["local:", "local"],
    ["LOCAL:/a", "local"],
    ["awskms:///alias/a", "awskms"],
    ["gcpkms://a", "gcpkms"],
    ["vault:///a", "vault"],
    ["azurekms:///a", "azurekms"],
    ["pkcs11:a", "pkcs11"],
  ])("of %s is %s", (uri, scheme) => {
    expect(keyUriScheme("uri", uri)).toBe(scheme);
  });

  test.each(["local", ":a", " local:", "toString:", "1local:", "pem:a", "", 7, null])("is refused in %j", (uri) => {
    expect(() => keyUriScheme("keys[0].uri", uri)).toThrow(
      "keys[0].uri: expected a key URI that begins with local:, awskms:, gcpkms:, vault:, azurekms:, pkcs11:, got",
    );
  });

  test.each(Object.entries(ADAPTERS))("%s has an adapter", async (_scheme, { load, factory }) => {
    expect(Reflect.get(await load(), factory)).toBeTypeOf("function");
  });

  test("is read before a key is opened", async () => {
    const { signal } = new AbortController();
    await expect(openKey("pem:a", {}, signal)).rejects.toThrow("uri: expected a key URI");
    await expect(openKey("local:", { local: { pin: "1" } }, signal)).rejects.toThrow("adapters.local.pin: expected");
    await expect(openKey("vault:///a", { vault: { a: 1 } }, signal)).rejects.toThrow("a: unknown option");
    const key = await openKey("LOCAL:", {}, signal);
    expect(key.publicKey).toMatchObject({ crv: "P-256" });
    await key.close();
  });
});

describe("paths in the options of an adapter", () => {
  test.each([
    ["module", "/etc/s/a"],
    ["caFile", "/etc/s/a"],
    ["certFile", "/etc/s/a"],
    ["keyFile", "/etc/s/a"],
    ["path", "/etc/s/a"],
    ["jwtFile", "/etc/s/a"],
    ["secretIdFile", "/etc/s/a"],
    ["region", "a"],
  ])("%s: a is %s", (name, path) => {
    expect(withFolder({ x: { [name]: "a" } }, "/etc/s")).toEqual({ x: { [name]: path } });
  });

  test("are in lists and in objects, and what is no path stays", () => {
    expect(withFolder({ allowedModules: ["a", "../b", "", 7], modules: { hsm: "c", none: "" } }, "/etc/s")).toEqual({
      allowedModules: ["/etc/s/a", "/etc/b", "", 7],
      modules: { hsm: "/etc/s/c", none: "" },
    });
  });

  test.each([
    ["file:a", "file:/etc/s/a"],
    ["file:/a", "file:/a"],
    ["file:", "file:"],
    ["env:a", "env:a"],
    ["a", "a"],
    [7, 7],
  ])("the secret %j is %j", (reference, expected) => {
    for (const name of ["pin", "token", "secretId"]) {
      expect(withFolder({ x: { [name]: reference } }, "/etc/s")).toEqual({ x: { [name]: expected } });
    }
  });
});

describe("a secret", () => {
  const reader = (pin: unknown, env: Readonly<Record<string, string>> = {}): Promise<unknown> =>
    (withSecrets("adapters.pkcs11", { pin }, env) as { readonly pin: () => Promise<unknown> }).pin();

  test.each([
    ["1234", "1234"],
    ["1234\n", "1234"],
    ["1234\r\n", "1234"],
    ["1234\n\n", "1234\n"],
    ["1234\r", "1234\r"],
    ["\n1234", "\n1234"],
    ["\uFEFF1234", "1234"],
    [" 1234 ", " 1234 "],
  ])("of a file with %j is %j", async (text, secret) => {
    await using folder = await privateFolder();
    expect(await reader(`file:${await folder.write("pin", text)}`)).toBe(secret);
  });

  test("has at most 64 KiB", async () => {
    await using folder = await privateFolder();
    const place = async (size: number): Promise<unknown> =>
      reader(`file:${await folder.write("pin", "a".repeat(size))}`).catch((error: unknown) => error);
    expect(await place(65_536)).toHaveLength(65_536);
    expect(await place(65_537)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("adapters.pkcs11.pin: the file of a secret cannot be read (secret: "),
    });
  });

  test("of a file that is not there has the code of the system", async () => {
    await expect(reader("file:/nowhere/pin")).rejects.toMatchObject({
      code: "unavailable",
      message: "adapters.pkcs11.pin: the file of a secret cannot be read (ENOENT)",
      cause: { code: "ENOENT" },
    });
  });

  test.each([
    ["PIN", {}, "the variable PIN is not set"],
    ["_PIN_2", {}, "the variable _PIN_2 is not set"],
    ["PIN", { PIN: "" }, "the variable PIN is not set"],
    ["pin", {}, "the variable that env: names is not set"],
    ["1PIN", {}, "the variable that env: names is not set"],
    ["PIN=1", {}, "the variable that env: names is not set"],
    ["", {}, "the variable that env: names is not set"],
  ])("of the variable %j among %j: %s", async (name, env, message) => {
    await expect(reader(`env:${name}`, env)).rejects.toMatchObject({
      code: "unavailable",
      message: `adapters.pkcs11.pin: ${message}, and should hold a secret`,
    });
  });

  test.each(["1234", "file:", "FILE", 7, undefined, null, ["env:PIN"]])("is not %j", (pin) => {
    expect(() => withSecrets("adapters.pkcs11", { pin }, {})).toThrow(
      "adapters.pkcs11.pin: expected where the secret is: env:NAME or file:PATH",
    );
  });

  test("is in pin, token and secretId alone, and other options stay", async () => {
    const read = withSecrets(
      "adapters.vault",
      { auth: { secretId: "env:A", role: "env:A" }, token: "env:B", list: ["env:A"], allowPinValue: false },
      { A: "a", B: "b" },
    ) as { readonly auth: { readonly secretId: () => Promise<string> }; readonly token: () => Promise<string> };
    expect(read).toMatchObject({ auth: { role: "env:A" }, list: ["env:A"], allowPinValue: false });
    expect([await read.auth.secretId(), await read.token()]).toEqual(["a", "b"]);
  });
});

describe("a configuration", () => {
  const BASE = { issuer: ISSUER, socket: { systemd: true }, maxTokenLifetimeSeconds: 3600, keys: [{ uri: "local:" }] };
  const ENTRY = { signer: "local:", announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };

  test.each([
    [{ keys: undefined }, "keys: expected either keys or schedule, got neither"],
    [{ schedule: "file:a" }, "keys: expected either keys or schedule, got both"],
    [{ keys: {} }, "keys: expected a list with an entry, got an object"],
    [{ keys: [] }, "keys: expected a list with an entry, got"],
    [{ keys: [7] }, "keys[0]: expected an object"],
    [{ keys: [{ uri: "local:" }, { uri: "a" }] }, "keys[1].uri: expected a key URI"],
    [{ keys: undefined, schedule: 7 }, "schedule: expected a schedule or file:PATH, got 7"],
    [{ keys: undefined, schedule: [] }, "schedule: expected a schedule or file:PATH"],
    [{ keys: undefined, schedule: {} }, "schedule.entries: expected a list with an entry, got nothing"],
    [{ keys: undefined, schedule: { entries: [{ ...ENTRY, signer: "a:" }] } }, "schedule.entries[0].signer: expected"],
    [{ keys: undefined, schedule: { entries: [ENTRY], a: 1 } }, "schedule.a: unknown option"],
    [{ legacyKeys: {} }, "legacyKeys: expected a list with an entry, got an object"],
    [{ legacyKeys: [{ publicKeyFile: 7 }] }, "legacyKeys[0].publicKeyFile: expected a non-empty string"],
    [{ adapters: 7 }, "adapters: expected an object"],
    [{ adapters: { local: [] } }, "adapters.local: expected an object, got"],
    [{ adapters: { local: null } }, "adapters.local: expected an object, got null"],
    [{ admin: 7 }, "admin: expected an object"],
    [{ publicJwks: 7 }, "publicJwks: expected an object"],
    [{ audit: 7 }, "audit: expected a non-empty string"],
  ])("with %j is refused", (members, message) => {
    expect(() => readConfig({ ...BASE, ...members })).toThrow(message);
  });

  test.each([
    {},
    { legacyKeys: [] },
    { keys: [{ publicKey: "a" }] },
    { keys: undefined, schedule: "file:a" },
    { keys: undefined, schedule: { entries: [{ ...ENTRY, signer: undefined }] } },
    { adapters: {}, admin: { port: 1 }, publicJwks: { port: 1 }, audit: "-" },
  ])("with %j is taken as it is", (members) => {
    const config = { ...BASE, ...members };
    expect(readConfig(config)).toBe(config);
  });

  test("has a schedule in a file without a place before its names", () => {
    expect(readSchedule({ entries: [ENTRY] }, "")).toEqual({ entries: [ENTRY] });
    expect(() => readSchedule({ entries: [] }, "")).toThrow(/^entries: expected a list with an entry/);
    expect(() => readSchedule({ entries: [{ a: 1 }] }, "")).toThrow(/^entries\[0\]\.a: unknown option/);
    expect(() => readSchedule(7, "")).toThrow(/^options: expected an object/);
    expect(() => readSchedule(7, "schedule")).toThrow(/^schedule: expected an object/);
  });
});
