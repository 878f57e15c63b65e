import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "@signpost/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveSecrets, secretMistakes } from "../src/config/adapter-options.ts";
import { contentOf, readCertificateFiles, withoutCertificates } from "../src/config/certificate-files.ts";
import { certifiedKeyOf } from "../src/config/certified-key.ts";
import { standIn } from "../src/config/config-keys.ts";
import { findConfig } from "../src/config/find-config.ts";
import { decodeText, loadFile, parseJson, readBytes } from "../src/config/load-file.ts";
import { publishedSpan, publishedSpans } from "../src/config/published-spans.ts";
import { secretPlace } from "../src/keys/secret-reference.ts";
import { FIXED_CHAIN } from "./support/fixed-chain.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// The files of a configuration, and what it names.

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.write("chain.pem", FIXED_CHAIN);
});
afterAll(() => folder[Symbol.asyncDispose]());
const within = (name: string): string => join(folder.path, name);

describe("the file of the configuration", () => {
  test.each(["signpost.config.json", "signpost.config.mjs", "signpost.config.ts"])("may be %s", async (name) => {
    await using empty = await createKeyFolder();
    await empty.write(name, "{}");
    expect(await findConfig(empty.path, undefined)).toBe(join(empty.path, name));
  });

  test("is the one that is named, whatever the folder has", async () => {
    expect(await findConfig("/a/b", "../c.json")).toBe("/a/c.json");
  });

  test("is missing", async () => {
    await using empty = await createKeyFolder();
    await expect(findConfig(empty.path, undefined)).rejects.toMatchObject({
      exitCode: 2,
      code: "config_missing",
      hint: "Change to the folder that has it, or name the file with --config",
    });
  });

  test("is one of several", async () => {
    await using full = await createKeyFolder();
    await full.write("signpost.config.ts", "");
    await full.write("signpost.config.json", "");
    await expect(findConfig(full.path, undefined)).rejects.toMatchObject({
      exitCode: 2,
      code: "config_ambiguous",
      message: "This folder has signpost.config.json and signpost.config.ts",
      hint: "Remove one of them, or name the file with --config",
    });
  });
});

describe("a file", () => {
  test("of another kind is refused without its name, which may be a key URI with a PIN", async () => {
    await expect(loadFile("/a/pkcs11:pin-value=1234")).rejects.toMatchObject({
      exitCode: 2,
      code: "config_kind",
      message: "--config: expected a file that ends in .json, .mjs or .ts",
    });
  });

  test("that cannot be read is named", async () => {
    await expect(readBytes(within("none.json"))).rejects.toMatchObject({
      exitCode: 2,
      code: "config_unreadable",
      message: `${within("none.json")}: cannot be read (ENOENT)`,
    });
  });

  test("that is not UTF-8 is refused, and a byte order mark is left out", () => {
    expect(() => decodeText(Uint8Array.of(0x22, 0xff, 0x22), "/a/b.json")).toThrow(
      expect.objectContaining({ exitCode: 2, code: "config_encoding", message: "b.json: expected UTF-8" }),
    );
    expect(decodeText(Buffer.from("\uFEFF{}"), "/a/b.json")).toBe("{}");
  });

  test.each([
    ['{"a":1,\n"a":2}', 'b.json: line 2, column 1: "a" is there twice in one object'],
    ["{\n x}", "b.json: line 2, column 2: not JSON (invalid symbol)"],
  ])("that has %j is refused by line and column", async (text, message) => {
    await expect(parseJson(text, "b.json")).rejects.toMatchObject({ exitCode: 2, code: "config_syntax", message });
  });

  test("that is a module runs once, and again for another version", async () => {
    await folder.write("count.mjs", "globalThis.counted = (globalThis.counted ?? 0) + 1; export default { counted };");
    const load = (version?: number): Promise<unknown> => loadFile(within("count.mjs"), version);
    expect([await load(), await load(), await load(1), await load(1), await load(2)]).toEqual(
      [1, 1, 2, 2, 3].map((counted) => ({ counted })),
    );
  });

  test.each([
    ["throw new Error('no such thing');", "config_failed", "mod.mjs: no such thing"],
    ["throw 'text';", "config_failed", "mod.mjs: it threw something that is not an Error"],
    ["export const a = 1;", "config_no_default", "mod.mjs: expected a default export, and there is none"],
  ])("that is the module %j is refused", async (code, error, message) => {
    await using own = await createKeyFolder();
    await own.write("mod.mjs", code);
    await expect(loadFile(join(own.path, "mod.mjs"))).rejects.toMatchObject({ exitCode: 2, code: error, message });
  });
});

describe("the content of an option", () => {
  const read = (value: unknown): Promise<unknown> => contentOf(value, "keys[0].certificates.chain", folder.path);

  test.each(["file:chain.pem", "FILE:chain.pem", "file:./chain.pem"])("%s is that of the file", async (value) => {
    expect(await read(value)).toBe(FIXED_CHAIN);
  });

  test("may be at an absolute path, as in a file: URL", async () => {
    await mkdir(within("a b"));
    await symlink(within("chain.pem"), within("a b/chain.pem"));
    const { pathname } = pathToFileURL(within("a b/chain.pem"));
    expect(pathname).toContain("%20");
    expect(await read(`file:${pathname}`)).toBe(FIXED_CHAIN);
  });

  test.each([[FIXED_CHAIN], [["file:chain.pem"]], [undefined], ["a file:chain.pem"]])("%o is itself", async (value) => {
    expect(await read(value)).toBe(value);
  });

  test.each([
    ["file:none.pem", "the file cannot be read (ENOENT)"],
    ["file://host/chain.pem", "the file cannot be read (ERR_INVALID_FILE_URL_HOST)"],
    ["file:", "expected a regular file"],
  ])("%s cannot be read, and says where it is named", async (value, why) => {
    const error = await read(value).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "keys[0].certificates.chain", message: expect.stringContaining(why) });
  });

  test("is read for the chain and the trust anchors of each entry, and everything else stays", async () => {
    const certificates = { chain: "file:chain.pem", trustAnchors: "file:chain.pem", publish: ["x5c"] };
    const content = { ...certificates, chain: FIXED_CHAIN, trustAnchors: FIXED_CHAIN };
    const entries = [{ keyId: "a" }, { keyId: "b", certificates }];
    const [issuer, whole] = ["https://op.example", [{ keyId: "a" }, { keyId: "b", certificates: content }]];
    const list = { issuer, keys: entries } as never;
    expect(await readCertificateFiles(list, folder.path)).toEqual({ issuer, keys: whole });
    const schedule = { issuer, keys: { maxTokenLifetimeSeconds: 60, entries } } as never;
    expect(await readCertificateFiles(schedule, folder.path)).toEqual({
      issuer,
      keys: { maxTokenLifetimeSeconds: 60, entries: whole },
    });
  });

  test.each([
    ["keys[1].certificates.chain", { chain: "file:none.pem" }, false],
    ["keys.entries[1].certificates.trustAnchors", { chain: "file:chain.pem", trustAnchors: "file:none.pem" }, true],
  ])("is named by its path: %s", async (argument, certificates, isSchedule) => {
    const entries = [{ keyId: "a" }, { certificates }];
    const keys = isSchedule ? { maxTokenLifetimeSeconds: 60, entries } : entries;
    const config = { issuer: "https://op.example", keys } as never;
    await expect(readCertificateFiles(config, folder.path)).rejects.toMatchObject({ argument });
  });

  test("is left out where another key stands in", () => {
    expect(withoutCertificates({ keyId: "a", certificates: {} })).toEqual({ keyId: "a" });
    expect(withoutCertificates({ keyId: "a" })).toEqual({ keyId: "a" });
  });
});

describe("the certified key", () => {
  const { x, y } = RFC_KEY;
  const base64 = FIXED_CHAIN.split("-----END")[0]?.replace(/-----BEGIN CERTIFICATE-----|\s/g, "") ?? "";

  test.each<[what: string, chain: unknown]>([
    ["PEM", FIXED_CHAIN],
    ["a list of PEM", [FIXED_CHAIN]],
    ["base64 of DER, as in x5c", [base64]],
    ["DER", [Buffer.from(base64, "base64")]],
  ])("is that of the first certificate of %s", (_what, chain) => {
    expect(certifiedKeyOf({ chain })).toMatchObject({ x, y });
  });

  test.each([undefined, null, {}, { chain: [] }, { chain: "none" }, { chain: 7 }])("is unknown in %j", (given) => {
    expect(certifiedKeyOf(given)).toBeUndefined();
  });
});

describe("when a key is published", () => {
  const HOUR = 3_600_000;
  const day = (date: string): string => `2026-${date}T00:00:00Z`;
  const entry = (keyId: string, date: string) => ({
    keyId,
    publicKey: { kty: "EC", crv: "P-256", x: RFC_KEY.x, y: RFC_KEY.y },
    announcedFrom: day(date),
    activeFrom: day(date),
  });

  test("is for good in a list", () => {
    expect(publishedSpans({ issuer: "https://op.example", keys: [{ signer: "local:" }] }).size).toBe(0);
  });

  test("is what the schedule says, by the index of its entry, and no key is opened for it", () => {
    const { publicKey: _none, ...rest } = entry("b", "02-10");
    const next = { ...rest, announcedFrom: day("02-01"), signer: "pkcs11:object=none" };
    const certificates = { chain: "not read" };
    const keys = { maxTokenLifetimeSeconds: 3600, entries: [{ ...entry("a", "01-01"), certificates }, next] } as never;
    const spans = publishedSpans({ issuer: "https://op.example", keys });
    const [first, second] = [spans.get(0), spans.get(1)];
    expect(first?.from).toBe(Date.parse(day("01-01")));
    // Until its last token has expired, at least.
    expect(first?.until).toBeGreaterThanOrEqual(Date.parse(day("02-10")) + HOUR);
    expect(first?.until).toBeLessThan(Date.parse(day("02-20")));
    expect(second).toEqual({ from: Date.parse(day("02-01")), until: Infinity });
  });

  test.each([
    [1, 2, 1],
    [5, 2, 2],
  ])("announced at %i and active at %i, a key is published from %i", (announcedFrom, activeFrom, from) => {
    expect(publishedSpan({ announcedFrom, activeFrom, withdrawnFrom: 9 } as never)).toEqual({ from, until: 9 });
  });
});

describe("the secrets of an adapter", () => {
  const resolve = (value: unknown, env = {}): Promise<unknown> =>
    resolveSecrets("adapters", value, { ...recordingContext(folder.path), env });

  test("are read when the adapter asks, and everything else stays", async () => {
    const auth = { method: "approle", secretId: "env:SECRET", mount: "a" };
    const read = await resolve({ vault: { auth, address: "https://v.example" }, list: ["a"] }, { SECRET: "1234" });
    expect(read).toEqual({
      vault: { auth: { ...auth, secretId: expect.any(Function) }, address: "https://v.example" },
      list: ["a"],
    });
    const { secretId } = (read as { vault: { auth: { secretId: () => Promise<string> } } }).vault.auth;
    expect(await secretId()).toBe("1234");
    expect(secretPlace(secretId)).toBe("adapters.vault.auth.secretId (env:SECRET)");
  });

  test("that are missing fail the adapter with their place", async () => {
    const read = (await resolve({ pkcs11: { pin: "env:NONE" } })) as { pkcs11: { pin: () => Promise<string> } };
    await expect(read.pkcs11.pin()).rejects.toMatchObject({
      name: "SignerError",
      code: "unavailable",
      message: "adapters.pkcs11.pin: The variable NONE is not set, and should hold a secret",
      cause: { code: "secret_missing" },
    });
  });

  test("may be functions in a configuration that is code, and may be left out", async () => {
    const pin = (): string => "1234";
    expect(await resolve({ pkcs11: { pin, token: undefined } })).toEqual({ pkcs11: { pin, token: undefined } });
    expect(secretMistakes({ pkcs11: { pin, token: undefined } })).toEqual([]);
  });

  const REFERENCE = "expected where the secret is: env:NAME, file:PATH or prompt:";
  test.each<[adapters: object, mistakes: readonly string[]]>([
    [{ pkcs11: { pin: "env:A", allowPinValue: false } }, []],
    [{ pkcs11: { pin: "file:a" }, vault: { auth: { token: "prompt:" } } }, []],
    [{ pkcs11: { pin: "1234" } }, [`adapters.pkcs11.pin: ${REFERENCE}`]],
    [{ pkcs11: { pin: "x env:A" } }, [`adapters.pkcs11.pin: ${REFERENCE}`]],
    [{ pkcs11: { pin: "prompt:1234" } }, [`adapters.pkcs11.pin: ${REFERENCE}`]],
    [{ vault: { auth: { token: 7 } } }, [`adapters.vault.auth.token: ${REFERENCE}`]],
    [
      { pkcs11: { pin: null, allowPinValue: true }, vault: { auth: { secretId: {} } } },
      [
        `adapters.pkcs11.pin: ${REFERENCE}`,
        "adapters.pkcs11.allowPinValue: expected no PIN in a URI; use pin-source=file: or pin-source=env:",
        `adapters.vault.auth.secretId: ${REFERENCE}`,
      ],
    ],
  ])("in %j have the mistakes %j", async (adapters, mistakes) => {
    expect(secretMistakes(adapters).map(({ message }) => message)).toEqual(mistakes);
    // Opening a key refuses the same, but asks a person for one that is to be typed.
    if (mistakes[0] !== undefined) {
      await expect(resolve(adapters)).rejects.toMatchObject({ message: expect.stringMatching(/^adapters\./) });
    }
  });
});

describe("a key that stands in for another one", () => {
  const { x, y } = RFC_KEY;

  test("has the public key that is given, or a new one", () => {
    expect(standIn({ kty: "EC", crv: "P-256", x, y }).publicKey).toMatchObject({ x, y });
    expect(standIn().publicKey).not.toEqual(standIn().publicKey);
    expect(standIn().uri).toBe("local:");
  });

  test("signs nothing, and can be closed", async () => {
    const signer = standIn();
    await expect(signer.sign(new Uint8Array(32))).rejects.toMatchObject({
      code: "integrity",
      transient: false,
    });
    await expect(signer.close()).resolves.toBeUndefined();
  });
});
