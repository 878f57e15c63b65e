import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { jwkThumbprint } from "@signpost/core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { readSource, readTrusted } from "../src/cert/inspect/source.ts";
import type { X509Package } from "../src/keys/x509-package.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// Where certificates are read from, and what of a source is handed on.

const token = vi.hoisted(() => ({
  isInstalled: true,
  asked: [] as object[],
  chains: [] as { der: Uint8Array }[][],
  imported: [] as string[],
}));
vi.mock("../src/keys/import-package.ts", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  importPackage: async (name: string) => {
    token.imported.push(name);
    const pkcs11Certificates = async (options: object): Promise<object> => {
      token.asked.push(options);
      return token.chains;
    };
    return token.isInstalled ? { pkcs11Certificates } : undefined;
  },
}));

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => {
  Object.assign(token, { isInstalled: true, chains: [] });
  token.asked.length = 0;
  token.imported.length = 0;
});

/** Takes each input for one certificate. */
const x509 = {
  readCertificates: (input: unknown) => [input instanceof Uint8Array ? Buffer.from(input).toString("latin1") : input],
} as unknown as X509Package;

const read = (source: string, { stdin = "", config }: { stdin?: string; config?: string } = {}) =>
  readSource(source, x509, recordingContext(folder.path, stdin), config);

async function fileWith(bytes: Uint8Array): Promise<string> {
  await writeFile(join(folder.path, "source.bin"), bytes);
  return "source.bin";
}

const BEGIN = "-----BEGIN CERTIFICATE-----";
const latin1 = (...parts: readonly (number | string)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.of(part) : Buffer.from(part, "latin1"))));

describe("bytes are", () => {
  test.each<[what: string, bytes: Buffer, isText: boolean]>([
    ["PEM", latin1(BEGIN), true],
    ["PEM after other text", latin1("leaf:\n", BEGIN), true],
    ["PEM, although they begin like a short SEQUENCE", latin1(0x30, 0x7f, BEGIN), true],
    ["DER with PEM in a text", latin1(0x30, 0x80, BEGIN), false],
    ["DER with PEM in a text of a long one", latin1(0x30, 0x82, BEGIN), false],
    ["PEM, although the second byte is that of a long length", latin1(0x31, 0x82, BEGIN), true],
    ["DER", latin1(0x30, 0x82, "a"), false],
    ["DER, if they are text without a mark", latin1("a"), false],
    ["DER, if a brace comes later", latin1("a{"), false],
  ])("%s", async (_what, bytes, isText) => {
    const given = isText ? new TextDecoder().decode(bytes) : bytes.toString("latin1");
    const expected = [{ certificates: [given], jwk: undefined }];
    expect(await read(await fileWith(bytes))).toEqual(expected);
    const trusted = await readTrusted("source.bin", x509, recordingContext(folder.path));
    expect(trusted).toEqual([given]);
  });

  test("those of stdin, without the white space around them", async () => {
    expect(await read("-", { stdin: `\n ${BEGIN}\n` })).toEqual([{ certificates: [BEGIN], jwk: undefined }]);
    await expect(read("-", { stdin: "a".repeat(1_048_577) })).rejects.toMatchObject({
      message: "stdin: certificates is at most 1048576 bytes",
    });
  });

  test("not more than a megabyte", async () => {
    expect(await read(await fileWith(Buffer.alloc(1_048_576, "a")))).toHaveLength(1);
    await expect(read(await fileWith(Buffer.alloc(1_048_577, "a")))).rejects.toMatchObject({
      exitCode: 2,
      code: "file_unreadable",
      message: expect.stringMatching(/^source\.bin: cannot be read \(.*1048576/),
    });
  });
});

const { d: _private, ...PUBLIC } = RFC_KEY;

describe("JSON is a key set", () => {
  const thumbprint = jwkThumbprint(PUBLIC);
  test.each<[what: string, json: unknown, found: readonly unknown[]]>([
    ["or one key", { ...PUBLIC, kid: "a", x5c: ["A"] }, [{ certificates: [["A"]], jwk: { kid: "a", thumbprint } }]],
    [
      "with several",
      { keys: [{ ...PUBLIC, x5c: ["A", "B"] }, PUBLIC, null, { kid: 7, kty: "none", x5c: ["C"] }] },
      [
        { certificates: [["A", "B"]], jwk: { kid: undefined, thumbprint } },
        { certificates: [["C"]], jwk: { kid: undefined, thumbprint: undefined } },
      ],
    ],
  ])("%s", async (_what, json, found) => {
    await folder.write("set.json", `\n ${JSON.stringify(json)}`);
    expect(await read("set.json")).toEqual(found);
  });

  test("whose mistake is told with its place", async () => {
    const { ConfigurationError } = await import("@signpost/core");
    const strict = {
      readCertificates: (input: readonly string[]) => {
        if (input.includes("bad")) throw new ConfigurationError("certificates", "expected one");
        return [];
      },
    } as unknown as X509Package;
    await folder.write("set.json", JSON.stringify({ keys: [PUBLIC, { x5c: ["good"] }, { x5c: ["bad"] }] }));
    await expect(readSource("set.json", strict, recordingContext(folder.path), undefined)).rejects.toMatchObject({
      exitCode: 2,
      message: "set.json: keys[2].x5c: certificates: expected one",
    });
  });
});

describe("a source is", () => {
  test.each(["local:a.pem", "LOCAL:a.pem", "awskms:///alias/a"])("no token, if it is %s", async (source) => {
    await expect(read(source)).rejects.toMatchObject({
      exitCode: 2,
      code: "no_certificates",
      hint: "Name the file or the URL of the certificates",
    });
  });

  test.each(["other:a", "1local:a", "local", "xhttps://a"])("a file, if it is %s", async (source) => {
    await expect(read(source)).rejects.toMatchObject({
      exitCode: 2,
      code: "file_unreadable",
      message: `${source}: cannot be read (ENOENT)`,
      hint: "The source is a file, a URL that begins with https://, or the URI of a key in a token",
    });
  });

  test.each(["http://op.example/a", "HTTP://op.example/a"])("a URL, if it is %s", async (source) => {
    await expect(read(source)).rejects.toMatchObject({ code: "url" });
  });
});

describe("a token", () => {
  const URI = "pkcs11:token=op;object=a";

  test("is asked for the chains of its key, with the options that say where its module is", async () => {
    const pkcs11 = {
      module: "/m.so",
      modules: ["/n.so"],
      allowedModules: ["/m.so"],
      libraryParameters: "p",
      isolation: "thread",
      openDeadlineMs: 7,
      pin: "env:PIN",
      sessions: 2,
    };
    await folder.write("own.json", { issuer: "https://op.example", keys: [], adapters: { pkcs11 } });
    token.chains = [[{ der: Buffer.from("A") }, { der: Buffer.from("B") }], [{ der: Buffer.from("C") }]];
    expect(await read(URI, { config: "own.json" })).toEqual([
      { certificates: ["A", "B"], jwk: undefined },
      { certificates: ["C"], jwk: undefined },
    ]);
    const { pin: _pin, sessions: _sessions, ...module } = pkcs11;
    expect(token.asked).toEqual([{ ...module, uri: URI, signal: expect.any(AbortSignal) }]);
    expect(token.imported).toEqual(["@signpost/pkcs11"]);
  });

  test("needs no configuration, and none for itself in one", async () => {
    token.chains = [[{ der: Buffer.from("A") }]];
    await folder.write("bare.json", { issuer: "https://op.example", keys: [] });
    await read(URI);
    await read(URI, { config: "bare.json" });
    const asked = { isolation: "process", uri: URI, signal: expect.any(AbortSignal) };
    expect(token.asked).toEqual([asked, asked]);
  });

  test("that shows none is a finding, and without its package it is a mistake", async () => {
    await expect(read(URI)).rejects.toMatchObject({
      exitCode: 1,
      code: "no_certificates",
      message: "The token shows no certificate for this key",
      hint: "Certificates that a token hides before a login are not shown",
    });
    token.isInstalled = false;
    await expect(read(URI)).rejects.toMatchObject({
      exitCode: 2,
      code: "adapter_missing",
      hint: "npm install @signpost/pkcs11 pkcs11js",
    });
  });
});
