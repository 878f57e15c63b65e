import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  dumpOf,
  ECHO_FORMS,
  ECHO_STATUSES,
  echoOf,
  sentIn,
  startEchoProxy,
  type EchoProxy,
} from "@signpost/test-backends/echo-proxy";
import { startFakeVaultTransit, type FakeVaultTransit } from "@signpost/test-backends/fake-vault-transit";
import { chosen } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedAs, markedJwt, markedKey, markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { startServe } from "./serve/support/serve.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";

// Every command with marked secrets in its configuration, its environment, its input and in the wrong place of its command line, and
// with a backend that repeats what it was sent. Nothing that a command prints contains a part of one.

const token = markedText("the Vault token");
const word = markedWord("a secret of letters");
const claim = markedWord("a claim");
const signed = markedJwt("a token to verify", { iss: "https://op.example", sub: "a" });
/** Without its header, which is no secret. */
const jwt = markedAs("a token", signed.jwt.slice(signed.jwt.indexOf(".") + 1));
const privateKey = markedKey("a private key");
const wrong = misplacedSecrets("a misplaced secret");
const issuer = "https://op.example";
const watch = watchLeaks([token, word, claim, jwt, privateKey, ...signed.secrets, ...wrong.secrets]);

// With its whole path, since an adapter in this process has another working folder than the command.
const keyFolder = mkdtempSync(join(tmpdir(), "signpost-cli-secrets-"));
const KEY_URI = `local:${join(keyFolder, "op.pem")}`;
const { privateKey: signingKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
writeFileSync(join(keyFolder, "op.pem"), signingKey.export({ type: "pkcs8", format: "pem" }));

let folder: KeyFolder;
let vault: FakeVaultTransit;
let proxy: EchoProxy;

beforeAll(async () => {
  [folder, vault] = await Promise.all([createKeyFolder(), startFakeVaultTransit()]);
  proxy = await startEchoProxy(vault.address);
  vault.accepted = [token.text];
  await folder.addKey("op.pem");
  await folder.write("secret.pem", privateKey.pem);
  await folder.write("token", token.text);
});
afterEach(() => {
  proxy.reset();
  expect(watch.leaks()).toEqual([]);
});
afterAll(async () => {
  watch[Symbol.dispose]();
  await proxy[Symbol.asyncDispose]();
  await vault.stop();
  await folder[Symbol.asyncDispose]();
  rmSync(keyFolder, { recursive: true });
});

/** Runs a command line, with `--json` and without. */
async function run(
  args: readonly string[],
  options: { readonly env?: NodeJS.ProcessEnv; readonly stdin?: string } = {},
): Promise<void> {
  for (const each of [args, [...args, "--json"]]) {
    const { code, stdout, stderr } = await runApp(each, { cwd: folder.path, ...options });
    watch.sawText(`${code}\n${stdout}`, `the output of ${args.slice(0, 3).join(" ").slice(0, 40)}`);
    watch.sawText(stderr, `the messages of ${args.slice(0, 3).join(" ").slice(0, 40)}`);
  }
}

const dates = { announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "2026-01-01T00:00:00Z" };
const LIST = { issuer, keys: [{ keyId: "sig-1", signer: KEY_URI }] };
const SCHEDULE = {
  issuer,
  keys: { entries: [{ keyId: "sig-1", signer: KEY_URI, ...dates }], maxTokenLifetimeSeconds: 60 },
};
type Command = readonly [name: string, words: readonly string[]];
const commandsOf = (...names: readonly string[]): readonly Command[] => names.map((name) => [name, name.split(" ")]);
const COMMANDS = commandsOf("jwks", "rotate validate", "rotate plan");

describe("a configuration with a secret in the wrong place", () => {
  const names = [
    "mountPrefix",
    "endpoints.jwks",
    "encryptionKeyset",
    "legacyVerificationKeys",
    "adapters.local",
    "adapters.pkcs11.pin",
    "adapters.pkcs11.module",
    "adapters.vault.auth",
    "adapters.vault.auth.token",
    "adapters.awskms.region",
    "adapters.azurekms.vault",
    "keys.entries",
  ];
  test.each(COMMANDS)("%s", async (_name, command) => {
    for (const base of [LIST, SCHEDULE]) {
      for (const [what, config] of misplacedIn(base, names, wrong)) {
        // What no file can hold.
        if (/symbol|bytes|error|KeyObject|DER|class/.test(what)) continue;
        await folder.write("wrong.json", JSON.stringify(config));
        await run([...command, "--config", "wrong.json"]);
      }
    }
  });

  test.each(COMMANDS)("%s, with an entry or a key URI that is a secret", async (_name, command) => {
    const uris = wrong.values.flatMap(([, value]) =>
      typeof value === "string"
        ? [
            value,
            `local:${value}`,
            `vault:///transit/keys/${value}`,
            `pkcs11:object=${value}`,
            `pkcs11:object=a?pin-value=${value}`,
            `pkcs11:object=a?pin-source=${value}`,
            `awskms:///${value}`,
            `azurekms:///${value}/keys/a`,
          ]
        : [],
    );
    for (const signer of chosen(uris, 16)) {
      await folder.write("wrong.json", {
        issuer,
        keys: [{ keyId: "a", signer }],
        adapters: {
          pkcs11: { pin: "env:NONE" },
          vault: { address: "http://127.0.0.1:1", openDeadlineMs: 200, auth: { method: "none" } },
          awskms: { region: "eu-west-1", endpoint: "http://127.0.0.1:1", openDeadlineMs: 200 },
          azurekms: { openDeadlineMs: 200 },
        },
      });
      await run([...command, "--config", "wrong.json"]);
    }
    for (const publicKey of [privateKey.jwk, privateKey.pem, privateKey.sec1, JSON.stringify(privateKey.jwk)]) {
      await folder.write("wrong.json", {
        issuer,
        keys: [...LIST.keys, { keyId: "old", publicKey }],
        encryptionKeyset: [{ publicKey }],
        legacyVerificationKeys: [{ publicKey, alg: "RS256" }],
      });
      await run([...command, "--config", "wrong.json"]);
    }
  });

  test("text that is no JSON, or that throws", async () => {
    for (const text of [
      `{"issuer":"${word.text}" "${word.text}"}`,
      word.text,
      `"${word.text}"`,
      `[${JSON.stringify(privateKey.jwk)}]`,
      privateKey.pem,
    ]) {
      await folder.write("wrong.json", text);
      await run(["jwks", "--config", "wrong.json"]);
      await folder.write("wrong.mjs", `export default ${text};`);
    }
  });
});

describe("a secret that the configuration refers to", () => {
  test.each([
    `env:${word.text}`,
    `file:${word.text}`,
    `file:/nowhere/${word.text}`,
    word.text,
    `prompt:${word.text}`,
    `ENV:${word.text}`,
    `|echo ${word.text}`,
  ])("by %#", async (reference) => {
    for (const adapters of [
      { vault: { address: proxy.url, auth: { method: "token", token: reference } } },
      { vault: { address: proxy.url, auth: { method: "approle", roleId: "r", secretId: reference } } },
      { pkcs11: { pin: reference, module: "/nowhere.so" } },
    ]) {
      const signer = "vault" in adapters ? "vault:///transit/keys/op" : "pkcs11:object=a";
      await folder.write("reference.json", { issuer, keys: [{ signer }], adapters });
      for (const [, command] of COMMANDS) await run([...command, "--config", "reference.json"]);
    }
  });
});

/** The options of a command, from its help. */
async function optionsOf(command: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await runApp([...command, "--help"]);
  return [...new Set([...stdout.matchAll(/--([a-z][a-z-]+)/g)].map(([, name = ""]) => name))].filter(
    (name) => !["help", "json", "version", "config", "watch"].includes(name),
  );
}

const ALL_COMMANDS = commandsOf(
  "doctor",
  "check",
  "jwks",
  "rotate plan",
  "rotate announce",
  "rotate emergency",
  "rotate validate",
  "keygen",
  "kid",
  "csr",
  "cert inspect",
  "cert self-signed",
  "verify",
  "sign",
  "bench",
);

test.each(ALL_COMMANDS)("the command line of %s with a secret in the wrong place", async (_name, command) => {
  const options = await optionsOf(command);
  // A JWT is recognized by its form, others cannot be told from a name.
  const values = [signed.jwt, privateKey.pem, JSON.stringify(privateKey.jwk)];
  await folder.write("signpost.config.json", SCHEDULE);
  for (const value of values) {
    for (const args of [
      [value],
      [KEY_URI, value],
      [`pkcs11:object=a?pin-value=${word.text}`],
      [`https://user:${word.text}@127.0.0.1:1/`],
      [`--${value}`],
      [`pkcs11:object=a;pin-value=${word.text}`],
    ]) {
      await run([...command, ...args]);
    }
    // The options of `bench` that are right would let it measure for seconds.
    const few = command[0] === "bench" ? ["--calls", "1", "--duration", "1"] : [];
    for (const option of chosen(options, 8)) await run([...command, KEY_URI, ...few, `--${option}`, value]);
  }
});

describe("the input of a command", () => {
  test.each([
    "{",
    "[]",
    "",
    `"${claim.text}"`,
    `{"a":"${claim.text}"`,
    `{"exp":"${claim.text}"}`,
    `{"a":"${claim.text}","a":1}`,
    `{"nbf":"${claim.text}","sub":"${claim.text}"}`,
  ])("sign with claims that are wrong (%#)", async (stdin) => {
    await run(["sign", KEY_URI], { stdin });
  });

  test.each([
    signed.jwt,
    `Bearer ${signed.jwt}`,
    signed.jwt.slice(0, -20),
    `${signed.jwt}.x`,
    word.text,
    `${signed.jwt} ${signed.jwt}`,
  ])("verify with a token that is refused (%#)", async (stdin) => {
    await folder.write("jwks.json", { keys: [] });
    await folder.write("private.json", privateKey.jwk);
    for (const source of ["jwks.json", "private.json", "secret.pem", "op.pem"])
      await run(["verify", source], { stdin });
  });
});

/** The requests of the commands to a Transit engine. */
const REQUESTS: Readonly<Record<string, RegExp>> = {
  key: /keys\/op$/,
  signature: /\/sign\//,
  capabilities: /capabilities-self$/,
  "new key": /keys\/op2$/,
  rotation: /rotate$/,
};

describe.each(Object.entries(REQUESTS))("a proxy that repeats the token in its answer about the %s", (_what, path) => {
  const commands = [
    ["doctor", "vault:///transit/keys/op", "--samples", "0"],
    ["kid", "vault:///transit/keys/op"],
    ["keygen", "vault:///transit/keys/op2"],
    ["keygen", "vault:///transit/keys/op", "--new-version"],
    ["sign", "vault:///transit/keys/op"],
  ] as const;
  const answerWith = async (
    status: number,
    echo: (text: string, form: string) => string,
    form: string,
  ): Promise<void> => {
    const policy = { openDeadlineMs: 300 };
    await folder.write("vault.json", {
      issuer,
      keys: [{ signer: "vault:///transit/keys/op" }],
      adapters: {
        vault: { address: proxy.url, auth: { method: "token-file", path: join(folder.path, "token") }, ...policy },
      },
    });
    proxy.answer = (request) => {
      if (!path.test(request.path)) return undefined;
      const text = echo(dumpOf(request), echoOf(sentIn(request, [token]), form));
      return {
        status,
        body: JSON.stringify({ errors: [text], data: { keys: [text], [text]: text } }),
        headers: { "www-authenticate": text.replaceAll(/[^\x21-\x7e]+/g, " ") },
      };
    };
    for (const command of commands) await run([...command, "--config", "vault.json"], { stdin: "{}" });
  };
  test.each(chosen(ECHO_STATUSES, 4))("with the status %i", async (status) => {
    await answerWith(status, (dump) => dump, "as it is");
  });
  test.each(chosen(Object.keys(ECHO_FORMS), 3))("%s", async (form) => {
    await answerWith(400, (_dump, text) => text, form);
  });
});

test("signpost serve, with a backend that repeats the token", async () => {
  await folder.write("serve.json", {
    issuer,
    keys: [
      { keyId: "first", signer: KEY_URI },
      { keyId: "second", signer: "vault:///transit/keys/op" },
    ],
    adapters: {
      vault: {
        address: proxy.url,
        openDeadlineMs: 300,
        auth: { method: "token", token: `file:${join(folder.path, "token")}` },
      },
    },
  });
  proxy.answer = (request) => ({
    status: 503,
    body: JSON.stringify({ errors: [dumpOf(request), ...sentIn(request, [token]).map(({ text }) => text)] }),
  });
  await using served = await startServe(["--config", "serve.json"], { cwd: folder.path });
  await served.logged("load_failed");
  for (const path of ["/", "/metrics", "/readyz", "/livez"])
    watch.sawText((await served.ask(path)).text, `the page ${path}`);
  watch.sawText(JSON.stringify(served.lines), "the log");
  for (const name of ["cmdline", "environ", "status"])
    watch.sawText(readFileSync(`/proc/${served.pid}/${name}`, "latin1"), `/proc/PID/${name}`);
  expect(await served.stop()).toBe(143);
});

test("a key file that is made is for its owner alone, and is in no output", async () => {
  const made = mkdtempSync(join(tmpdir(), "signpost-made-"));
  const { code, stdout, stderr } = await runApp(["keygen", `local:${made}/keys/new.pem`], { cwd: made });
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("made local:") });
  const file = join(made, "keys/new.pem");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(made, "keys")).mode & 0o777).toBe(0o700);
  const [, base64 = ""] = /KEY-----\n([\s\S]*?)\n-----/.exec(readFileSync(file, "utf8")) ?? [];
  using found = watchLeaks([{ name: "the new key", bytes: Buffer.from(base64, "base64").subarray(36, 68) }]);
  found.sawText(stdout, "the output");
  found.sawText(stderr, "the messages");
  expect(found.leaks()).toEqual([]);
  rmSync(made, { recursive: true });
});
