import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../src/config/config.ts";
import { ADAPTERS } from "../src/keys/adapters.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { openConfigKeys } from "../src/config/config-keys.ts";
import { publishedNow } from "../src/jwks/published.ts";
import { secretReader } from "../src/keys/secret-reference.ts";
import { failureOf } from "../src/program/failure.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runApp } from "./support/run-app.ts";
import { runCli } from "./support/run-cli.ts";

let folder: KeyFolder;
const issuer = "https://op.example";
/** A new key, which no file holds. */
const uri = "local:";
const keys = [{ keyId: "sig-1", signer: uri }];

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
});
afterAll(() => folder[Symbol.asyncDispose]());

const schema = JSON.parse(await readFile(new URL("../config.schema.json", import.meta.url), "utf8"));
const matches = new Ajv2020({ formats: { "date-time": true } }).compile(schema);

const dates = { announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
const schedule = { entries: [{ ...keys[0], ...dates }], maxTokenLifetimeSeconds: 3600 };

test.each([
  ["a list", { issuer, keys }],
  ["a schedule", { issuer, keys: schedule }],
  [
    "options of every adapter",
    { issuer, keys, adapters: Object.fromEntries(Object.keys(ADAPTERS).map((scheme) => [scheme, {}])) },
  ],
  [
    "all members",
    {
      $schema: "x",
      issuer,
      mountPrefix: "/a",
      endpoints: { jwks: "/b" },
      allowInsecureIssuer: false,
      keys,
      adapters: { pkcs11: {} },
    },
  ],
])("the schema and the program accept %s", (_name, config) => {
  expect(matches(config)).toBe(true);
  expect(readConfig(config)).toBe(config);
});

// The path in the message, and the mistake.
const MISTAKES: readonly (readonly [string, object])[] = [
  ["isuer: unknown option; did you mean issuer?", { isuer: issuer, keys }],
  ["issuer: expected a URL, got nothing", { keys }],
  ["keys: expected a list of entries, or a schedule, got nothing", { issuer }],
  ["endpoints.jkws: unknown option; the options are jwks", { issuer, keys, endpoints: { jkws: "/a" } }],
  ["keys[0].keyid: unknown option; did you mean keyId?", { issuer, keys: [{ keyid: "a", signer: uri }] }],
  ["keys[1]: expected either a signer or a publicKey, got neither", { issuer, keys: [...keys, { keyId: "b" }] }],
  ["keys[0].signer: expected a key URI, got an object", { issuer, keys: [{ signer: {} }] }],
  [
    "keys.entries[0].activefrom: unknown option; did you mean activeFrom?",
    { issuer, keys: { ...schedule, entries: [{ ...keys[0], activefrom: 1 }] } },
  ],
  [
    "keys.entries[0].activeFrom: expected a Date",
    { issuer, keys: { ...schedule, entries: [{ ...keys[0], ...dates, activeFrom: 1 }] } },
  ],
  [
    "keys.maxTokenLifetime: unknown option; did you mean maxTokenLifetimeSeconds?",
    { issuer, keys: { ...schedule, maxTokenLifetime: 1 } },
  ],
  ["keys.maxTokenLifetimeSeconds: expected a whole number", { issuer, keys: { entries: schedule.entries } }],
  [
    "encryptionKeyset[0].publickey: unknown option; did you mean publicKey?",
    { issuer, keys, encryptionKeyset: [{ publickey: {} }] },
  ],
  [
    "legacyVerificationKeys[0].alg: expected RS256, PS256 or EdDSA",
    { issuer, keys, legacyVerificationKeys: [{ alg: "HS256", publicKey: { kty: "RSA" } }] },
  ],
  ["adapters.local.folder: unknown option", { issuer, keys, adapters: { local: { folder: "keys" } } }],
  ["adapters.awskms: expected an object, got a string", { issuer, keys, adapters: { awskms: "eu-west-1" } }],
  ["adapters.vault: expected an object, got an array", { issuer, keys, adapters: { vault: [] } }],
  ["adapters.local: expected an object, got true", { issuer, keys, adapters: { local: true } }],
  ["adapters.pkcs12: unknown option; did you mean pkcs11?", { issuer, keys, adapters: { pkcs12: {} } }],
];

describe("a mistake is named with its JSON path and the nearest known name", () => {
  test.each(MISTAKES)("%s", async (message, config) => {
    expect(matches(config), "the schema finds it too").toBe(false);
    await folder.write("mistake.json", config);
    const context = recordingContext(folder.path);
    const opening = loadConfig(context, "mistake.json").then(async (loaded) => {
      const { keys: opened, close } = await openConfigKeys(loaded, context);
      try {
        await publishedNow(loaded, opened);
      } finally {
        await close();
      }
    });
    const failure = failureOf(await opening.catch((error: unknown) => error));
    expect(failure.message.slice(0, "mistake.json: ".length + message.length)).toBe(`mistake.json: ${message}`);
    expect(failure.exitCode).toBe(2);
    const validated = await runApp(["rotate", "validate", "--config", "mistake.json", "--json"], { cwd: folder.path });
    const { findings } = JSON.parse(validated.stdout);
    const listed = findings.map(({ path, text }: Record<string, string>) =>
      `${path}: ${text}`.slice(0, message.length),
    );
    expect(listed, "rotate validate lists it").toContain(message);
  });
});

test("jwks prints the path on stderr, and with --json also on stdout", async () => {
  await folder.write("typo.json", { issuer, keys: [{ keyid: "a", signer: uri }] });
  const { code, stdout, stderr } = await runCli(["jwks", "--config", "typo.json", "--json"], { cwd: folder.path });
  const message = "typo.json: keys[0].keyid: unknown option; did you mean keyId?";
  expect({ code, stderr }).toEqual({ code: 2, stderr: `error ${message}\n` });
  expect(JSON.parse(stdout)).toEqual({ error: { code: "invalid_configuration", message } });
});

test("an option of an adapter is named with its path", async () => {
  await folder.write("adapter.json", { issuer, keys, adapters: { awskms: { regoin: "eu-west-1" } } });
  const { code, stderr } = await runApp(["kid", "awskms:///alias/a", "--config", "adapter.json"], { cwd: folder.path });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error adapters.awskms: regoin: unknown option; did you mean region?\n",
  });
});

test.each([
  ["a PIN", { pkcs11: { pin: "secret-1234" } }, "adapters.pkcs11.pin: expected where the secret is"],
  [
    "a token",
    { vault: { auth: { method: "token", token: "secret-1234" } } },
    "adapters.vault.auth.token: expected where",
  ],
  ["leave for PINs in URIs", { pkcs11: { allowPinValue: true } }, "adapters.pkcs11.allowPinValue: expected no PIN"],
])("%s in the configuration is refused, and not printed", async (_name, adapters, message) => {
  await folder.write("secret.json", { issuer, keys, adapters });
  const { code, stdout, stderr } = await runApp(["jwks", "--config", "secret.json", "--json"], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stdout + stderr).not.toContain("secret-1234");
});

test("text that is not JSON is refused by line and column, and not printed", async () => {
  await folder.write("broken.json", '{\n  "issuer": "https://op.example" "secret-1234"\n}');
  const { code, stderr } = await runApp(["jwks", "--config", "broken.json"], { cwd: folder.path });
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: "error broken.json: line 2, column 34: not JSON (comma expected)\n",
  });
});

test.each([
  [
    "a name that is there twice",
    '{\n  "issuer": "https://op.example",\n  "keys": [],\n  "keys": []\n}',
    'line 4, column 3: "keys" is there twice in one object',
  ],
  [
    "a name that hides its members",
    '{ "issuer": "https://op.example", "__proto__": { "keys": [] } }',
    "__proto__: unknown option",
  ],
])("%s is refused", async (_name, text, message) => {
  await folder.write("names.json", text);
  const { code, stderr } = await runApp(["jwks", "--config", "names.json"], { cwd: folder.path });
  expect({ code, stderr: stderr.slice(0, "error names.json: ".length + message.length) }).toEqual({
    code: 2,
    stderr: `error names.json: ${message}`,
  });
});

test("a byte order mark is no mistake", async () => {
  await folder.write("bom.json", `\uFEFF${JSON.stringify({ issuer, keys })}`);
  expect(await runApp(["jwks", "--config", "bom.json"], { cwd: folder.path })).toMatchObject({ code: 0, stderr: "" });
});

describe("the file", () => {
  test("is looked for in the working folder only, and must be the only one", async () => {
    await using empty = await createKeyFolder();
    expect(await runCli(["jwks"], { cwd: empty.path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no signpost.config.json, .mjs or .ts in this folder"),
    });
    await empty.write("signpost.config.json", { issuer, keys });
    await empty.write("signpost.config.mjs", "export default {}");
    expect(await runCli(["jwks"], { cwd: empty.path })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("This folder has signpost.config.json and signpost.config.mjs"),
    });
  });

  test("may be code, whose default export is the configuration", async () => {
    await folder.write("code.mjs", `export default ${JSON.stringify({ issuer, keys })};`);
    expect(await runCli(["jwks", "--config", "code.mjs"], { cwd: folder.path })).toMatchObject({ code: 0 });
    await folder.write("none.mjs", "export const config = {};");
    expect(await runCli(["jwks", "--config", "none.mjs"], { cwd: folder.path })).toMatchObject({
      code: 2,
      stderr: "error none.mjs: expected a default export, and there is none\n",
    });
    expect(await runCli(["jwks", "--config", "away.mjs"], { cwd: folder.path })).toMatchObject({
      code: 2,
      stderr: `error ${folder.path}/away.mjs: cannot be read (ENOENT)\n`,
    });
    await folder.write("throws.mjs", "throw new Error('no such thing');");
    expect(await runCli(["jwks", "--config", "throws.mjs"], { cwd: folder.path })).toMatchObject({
      code: 2,
      stderr: "error throws.mjs: no such thing\n",
    });
  });

  test("may be TypeScript where Node runs it, and is refused clearly elsewhere", async () => {
    await folder.write(
      "typed.ts",
      `const config: object = ${JSON.stringify({ issuer, keys })};\nexport default config;`,
    );
    const { code, stderr } = await runCli(["jwks", "--config", "typed.ts"], { cwd: folder.path });
    const runs = Boolean(Reflect.get(process.features, "typescript"));
    expect(code).toBe(runs ? 0 : 2);
    expect(stderr).toContain(runs ? "" : `error typed.ts: Node ${process.versions.node} runs no TypeScript`);
  });

  test("in the working folder is not run by a command for one key", async () => {
    await folder.write("signpost.config.mjs", "console.log('I ran'); export default {};");
    const { code, stdout } = await runCli(["kid", "local:op.pem"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).not.toContain("I ran");
  });
});

test("a file: reference with two slashes is refused in words", async () => {
  const read = await secretReader("file://run/secrets/pin", recordingContext(folder.path));
  const failure = failureOf(await read?.().catch((error: unknown) => error));
  expect(failure).toMatchObject({ exitCode: 2, hint: "Write file:secrets/pin or file:///run/secrets/pin" });
  expect(failure.message).not.toContain("run/secrets");
});
