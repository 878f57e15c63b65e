import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { CliContext } from "../src/program/context.ts";
import { loadAdapter } from "../src/keys/adapters.ts";
import { loadKubernetes } from "../src/keys/kubernetes-package.ts";
import { loadX509 } from "../src/keys/x509-package.ts";
import { replaceFile } from "../src/rotate/change/write-config.ts";
import { signNames } from "../src/csr/sign-names.ts";
import { runSign } from "../src/sign/run.ts";
import { runVerify } from "../src/verify/run.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runApp } from "./support/run-app.ts";

// The code of each failure, which programs read and which stays when its words change.

const packages = vi.hoisted(() => ({ areMissing: false }));
vi.mock("../src/keys/import-package.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../src/keys/import-package.ts")>();
  return {
    ...original,
    importPackage: async (...args: Parameters<typeof original.importPackage>) =>
      packages.areMissing ? undefined : original.importPackage(...args),
  };
});

let folder: KeyFolder;
let at: (name: string) => string;
beforeAll(async () => {
  folder = await createKeyFolder();
  at = (name) => join(folder.path, name);
  await Promise.all(["a.pem", "b.pem", "c.pem"].map((name) => folder.addKey(name)));
  const dates = { announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
  const entries = [{ keyId: "a", signer: `local:${at("a.pem")}`, ...dates }];
  const issuer = "https://op.example";
  await folder.write("schedule.json", { issuer, keys: { maxTokenLifetimeSeconds: 3600, entries } });
  await folder.write("list.json", { issuer, keys: [{ keyId: "a", signer: `local:${at("a.pem")}` }] });
  await folder.write("public.json", { issuer, keys: [{ keyId: "a", publicKey: { ...RFC_KEY, d: undefined } }] });
  await writeFile(at("latin1.json"), Buffer.from([0x22, 0xff, 0x22]));
  await folder.write("twice.json", '{"a":1,"a":2}');
  await folder.write("default.mjs", "export const a = 1;");
  await folder.write("throws.mjs", 'throw new Error("a mistake");');
});
afterAll(() => folder[Symbol.asyncDispose]());

interface Line {
  readonly line: string;
  readonly stdin?: string;
  readonly code: string;
}

const TOKEN = "eyJhbGciOiJFUzI1NiJ9.e30.c2ln";
const LINES: readonly Line[] = [
  { line: "jwks", code: "config_missing" },
  { line: "jwks --config none.json", code: "config_unreadable" },
  { line: "jwks --config none.mjs", code: "config_unreadable" },
  { line: "jwks --config a.pem", code: "config_kind" },
  { line: "jwks --config latin1.json", code: "config_encoding" },
  { line: "jwks --config twice.json", code: "config_syntax" },
  { line: "jwks --config default.mjs", code: "config_no_default" },
  { line: "jwks --config throws.mjs", code: "config_failed" },
  { line: "jwks --config list.json --etag", code: "flags" },
  { line: "doctor --config public.json", code: "no_keys" },
  { line: "sign --config list.json --key-id a", stdin: "{}", code: "flags" },
  { line: "sign local:a.pem", stdin: "[]", code: "claims" },
  { line: "sign local:a.pem", stdin: "{", code: "claims" },
  { line: "sign local:a.pem", code: "stdin_empty" },
  { line: "csr local:a.pem", code: "no_name" },
  { line: "csr local:a.pem --dns a.example --der", code: "flags" },
  { line: "csr local:a.pem --dns a.example --out a.pem", code: "file_exists" },
  { line: "cert self-signed local:a.pem", code: "no_name" },
  { line: "verify none.json", stdin: TOKEN, code: "file_unreadable" },
  { line: "verify list.json", stdin: TOKEN, code: "no_usable_key" },
  { line: "verify schedule.json", stdin: TOKEN, code: "file_not_keys" },
  { line: "verify twice.json", stdin: TOKEN, code: "file_not_keys" },
  { line: `verify ${TOKEN}`, code: "token_as_argument" },
  { line: "rotate plan --config list.json", code: "no_schedule" },
  { line: "rotate plan --config schedule.json --at soon", code: "flags" },
  { line: "rotate announce --signer local:b.pem --config schedule.json", code: "no_terminal" },
  { line: "rotate announce --signer local:b.pem --config schedule.json --max-token-lifetime 60 --yes", code: "flags" },
  { line: "rotate emergency a --config schedule.json --yes", code: "no_other_key" },
  { line: "rotate emergency b --config schedule.json --yes", code: "unknown_kid" },
  { line: "rotate emergency a --key-id b --config schedule.json --yes", code: "flags" },
  { line: "kid none:a", code: "unknown_scheme" },
  { line: "kid pkcs11:token=a?pin-value=1", code: "pin_in_uri" },
  { line: "serve --port 70000 --config list.json", code: "flags" },
];

test.each(LINES)("signpost $line fails with $code", async ({ line, stdin = "", code }) => {
  const args = [...line.split(" "), "--json"];
  const result = await runApp(args, { cwd: folder.path, stdin });
  expect([result.code, JSON.parse(result.stdout).error.code]).toEqual([2, code]);
});

test("a new key that is the withdrawn one is told as such", async () => {
  const args = ["emergency", "a", "--signer", `local:${at("a.pem")}`, "--config", "schedule.json", "--yes", "--json"];
  const { stdout } = await runApp(["rotate", ...args], { cwd: folder.path });
  expect(JSON.parse(stdout).error).toMatchObject({
    code: "replacement",
    message: expect.stringMatching(/^--signer: expected a new key/),
  });
});

test("two configurations in a folder", async () => {
  await using both = await createKeyFolder();
  await both.write("signpost.config.json", "{}");
  await both.write("signpost.config.mjs", "");
  const { stdout } = await runApp(["jwks", "--json"], { cwd: both.path });
  expect(JSON.parse(stdout).error).toMatchObject({
    code: "config_ambiguous",
    message: "This folder has signpost.config.json and signpost.config.mjs",
  });
});

test("a configuration in TypeScript, where Node runs none", async () => {
  await folder.write("config.ts", "export default {};");
  const { stdout } = await runApp(["jwks", "--json", "--config", "config.ts"], { cwd: folder.path });
  const runs = [undefined, false].every((mode) => mode !== Reflect.get(process.features, "typescript"));
  expect(JSON.parse(stdout).error.code).toBe(runs ? "invalid_configuration" : "config_typescript");
});

test("a file that changed meanwhile", async () => {
  await folder.write("changed.json", "2");
  await expect(replaceFile(at("changed.json"), Buffer.from("1"), Buffer.from("3"))).rejects.toMatchObject({
    exitCode: 2,
    code: "file_changed",
  });
});

test("a file that another program makes while the key signs is not replaced", async () => {
  const make = async (): Promise<{ der: Uint8Array; pem: string }> => {
    // The first call is the one that finds mistakes.
    makes += 1;
    if (makes === 2) await folder.write("made.pem", "of the other program");
    return { der: new Uint8Array(), pem: "" };
  };
  let makes = 0;
  const context = recordingContext(folder.path);
  const signing = signNames(context, { out: "made.pem" }, `local:${at("a.pem")}`, { what: "request", make });
  await expect(signing).rejects.toMatchObject({ code: "file_exists", message: "made.pem exists, and is not replaced" });
  expect(makes).toBe(2);
});

describe("a package that is not installed", () => {
  const missing = (load: () => Promise<unknown>): Promise<unknown> => {
    packages.areMissing = true;
    return load().finally(() => {
      packages.areMissing = false;
    });
  };
  test.each<[name: string, load: (cwd: string) => Promise<unknown>, code: string, install: string]>([
    ["@signpost/x509", loadX509, "package_missing", "npm install @signpost/x509"],
    ["@signpost/kubernetes", loadKubernetes, "package_missing", "npm install @signpost/kubernetes @grpc/grpc-js"],
    ...Object.entries({
      local: "@signpost/local",
      awskms: "@signpost/aws-kms @aws-sdk/client-kms",
      gcpkms: "@signpost/gcp-kms @google-cloud/kms",
      vault: "@signpost/vault-transit",
      azurekms: "@signpost/azure-key-vault @azure/identity",
      pkcs11: "@signpost/pkcs11 pkcs11js",
    }).map(([scheme, install]): [string, (cwd: string) => Promise<unknown>, string, string] => [
      scheme,
      (cwd) => loadAdapter(scheme, {}, cwd),
      "adapter_missing",
      `npm install ${install}`,
    ]),
  ])("%s", async (_name, load, code, hint) => {
    await expect(missing(() => load("/"))).rejects.toMatchObject({ exitCode: 2, code, hint });
  });

  test.each(["local", "awskms", "gcpkms", "vault", "azurekms", "pkcs11"])("is not that of %s", async (scheme) => {
    const options = { address: "https://vault.example", auth: { method: "token", token: () => "t" } };
    expect(await loadAdapter(scheme, scheme === "vault" ? options : {}, "/")).toMatchObject({ scheme });
  });
});

describe("while a command waits, it says what for", () => {
  function watching(stdin: string): { context: CliContext; texts: string[] } {
    const texts: string[] = [];
    const context: CliContext = {
      ...recordingContext(folder.path, stdin),
      during: (text, work) => {
        texts.push(text);
        return work(() => undefined);
      },
    };
    return { context, texts };
  }

  test("signing", async () => {
    const { context, texts } = watching("{}");
    await runSign(context, {}, `local:${at("a.pem")}`);
    expect(texts).toEqual(["Opening the key", "Signing"]);
  });

  test("verifying", async () => {
    const { d: _private, ...jwk } = RFC_KEY;
    await folder.write("jwk.json", { ...jwk, kid: "a" });
    const token = await new SignJWT({ sub: "a" }).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));
    const { context, texts } = watching(token);
    expect(await runVerify(context, {}, "jwk.json")).toBe(1);
    expect(texts).toEqual(["Verifying"]);
  });
});
