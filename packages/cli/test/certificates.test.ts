import { createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { createLive } from "../src/serve/live/serving.ts";
import { createKeyBook } from "../src/serve/live/key-book.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runApp } from "./support/run-app.ts";

const issuer = "https://op.example";
let folder: KeyFolder;
let key: KeyObject;
let pem: string;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addKey("op.pem");
  await chmod(join(folder.path, "op.pem"), 0o600);
  key = createPublicKey(createPrivateKey(await readFile(join(folder.path, "op.pem"), "utf8")));
  pem = certificateOf(key, ["op.example"], undefined, undefined, 100);
  await folder.write("chain.pem", pem);
});
afterAll(() => folder[Symbol.asyncDispose]());

const base64 = (text: string): string => new X509Certificate(text).raw.toString("base64");
const listOf = (certificates: unknown): object => ({
  issuer,
  keys: [{ keyId: "sig-1", signer: `local:${folder.path}/op.pem`, certificates }],
});
const scheduleOf = (certificates: unknown): object => ({
  issuer,
  keys: {
    maxTokenLifetimeSeconds: 3600,
    entries: [
      {
        keyId: "sig-1",
        signer: `local:${folder.path}/op.pem`,
        certificates,
        announcedFrom: "2026-01-01T00:00:00Z",
        activeFrom: "2026-01-01T00:00:00Z",
      },
    ],
  },
});

const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString();
const chainFor = (count: number, of: KeyObject = key): string => certificateOf(of, ["a"], undefined, undefined, count);

/** Two keys that become active so many days from now, and when the chain of the first one ends. */
function lifeOf({ op, next, ends }: { readonly op: number; readonly next: number; readonly ends: number }) {
  const entry = (name: string, active: number): object => ({
    keyId: name,
    signer: `local:${folder.path}/${name}.pem`,
    announcedFrom: days(active - 2),
    activeFrom: days(active),
  });
  return (): object => ({
    issuer,
    keys: {
      maxTokenLifetimeSeconds: 3600,
      entries: [{ ...entry("op", op), certificates: { chain: chainFor(ends) } }, entry("next", next)],
    },
  });
}

async function run(config: unknown, ...args: readonly string[]) {
  await folder.write("config.json", config);
  return runApp([...args, "--config", "config.json"], { cwd: folder.path });
}

describe("jwks", () => {
  test.each<[string, () => object]>([
    ["a file", () => listOf({ chain: "file:chain.pem" })],
    ["a file by its whole path", () => listOf({ chain: `file:${join(folder.path, "chain.pem")}` })],
    ["PEM", () => listOf({ chain: pem })],
    ["base64", () => listOf({ chain: [base64(pem)] })],
    ["a file of a schedule", () => scheduleOf({ chain: "file:chain.pem" })],
  ])("publishes a chain of %s", async (_, config) => {
    const { code, stdout } = await run(config(), "jwks");
    expect({ code, keys: JSON.parse(stdout).keys }).toMatchObject({
      code: 0,
      keys: [{ kid: "sig-1", x5c: [base64(pem)], "x5t#S256": expect.stringMatching(/^[\w-]{43}$/) }],
    });
  });

  test("publishes the thumbprint alone", async () => {
    const { stdout } = await run(listOf({ chain: "file:chain.pem", publish: ["x5t#S256"] }), "jwks");
    const [published] = JSON.parse(stdout).keys;
    expect(Object.keys(published)).toEqual(["kty", "crv", "x", "y", "kid", "alg", "use", "x5t#S256"]);
  });

  test.each<[string, unknown, string]>([
    [
      "a file that is not there",
      { chain: "file:away.pem" },
      "keys[0].certificates.chain: the file cannot be read (ENOENT)",
    ],
    ["a folder", { chain: "file:." }, "keys[0].certificates.chain: file: expected"],
    [
      "the file of a private key",
      { chain: "file:op.pem" },
      'keys[0].certificates.chain: kid "sig-1": expected only certificates, got a private key',
    ],
    [
      "no trust anchor",
      { chain: "file:chain.pem", trustAnchors: "file:away.pem" },
      "keys[0].certificates.trustAnchors: the file",
    ],
    [
      "a misspelled name",
      { chainn: "file:chain.pem" },
      "keys[0].certificates.chainn: unknown option; did you mean chain?",
    ],
    ["a path", "file:chain.pem", "keys[0].certificates: expected an object, got a string"],
  ])("refuses %s", async (_, certificates, message) => {
    const { code, stderr } = await run(listOf(certificates), "jwks");
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`config.json: ${message}`) });
    const secret = (await readFile(join(folder.path, "op.pem"), "utf8")).split("\n")[1] ?? "";
    expect(stderr).not.toContain(secret);
  });

  test("refuses an expired chain", async () => {
    const { code, stderr } = await run(
      listOf({ chain: certificateOf(key, ["op.example"], undefined, undefined, -1) }),
      "jwks",
    );
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/certificates: kid "sig-1": .*expired at/),
    });
  });
});

describe("doctor", () => {
  async function certificatesOf(config: unknown): Promise<readonly Pick<Finding, "level" | "text">[]> {
    const { stdout } = await run(config, "doctor", "--json", "--samples", "0");
    const keys: readonly { findings: readonly Finding[] }[] = JSON.parse(stdout).keys;
    return keys.flatMap(({ findings }) => findings).filter(({ check }) => check === "certificates");
  }
  const other = (): string => certificateOf(createPublicKey(createPrivateKey(OTHER_KEY)), ["op.example"]);

  test.each<[string, () => object, string, RegExp]>([
    ["a chain", () => listOf({ chain: "file:chain.pem" }), "ok", /^1 to show, valid until 20.*\(\d\d days\)$/],
    [
      "a chain that ends soon",
      () => listOf({ chain: certificateOf(key, ["a"], undefined, undefined, 20.5) }),
      "warning",
      /^certificate 1 of 1 is valid until 20.*\(20 days\)$/,
    ],
    [
      "an expired chain",
      () => listOf({ chain: certificateOf(key, ["a"], undefined, undefined, -1) }),
      "problem",
      /^certificate 1 of 1 expired at 20/,
    ],
    [
      "a chain of another key",
      () => listOf({ chain: other() }),
      "problem",
      /kid "sig-1", certificate 1 of 1: expected the certificate of the key/,
    ],
    ["a chain of a schedule", () => scheduleOf({ chain: "file:chain.pem" }), "ok", /^1 to show/],
  ])("says what it finds about %s", async (_, config, level, text) => {
    expect(await certificatesOf(config())).toMatchObject([{ level, text: expect.stringMatching(text) }]);
  });

  test.each([
    ["with a kid", { keyId: "old" }, "old"],
    ["without one", {}, "keys[1]"],
  ])("says it about a key that no longer signs, %s", async (_kid, named, called) => {
    const old = {
      ...named,
      publicKey: key.export({ type: "spki", format: "pem" }),
      certificates: { chain: certificateOf(key, ["a"], undefined, undefined, -1) },
    };
    await folder.addKey("next.pem");
    const config = { issuer, keys: [{ keyId: "next", signer: `local:${folder.path}/next.pem` }, old] };
    const { stdout } = await run(config, "doctor", "--json", "--samples", "0");
    const report = JSON.parse(stdout).keys.find(({ name }: { name: string }) => name === called);
    expect(report).toMatchObject({ uri: null, findings: [{ check: "certificates", level: "problem" }] });
  });

  test.each<[string, ReturnType<typeof lifeOf>, string, RegExp]>([
    ["that is withdrawn", lifeOf({ op: -20, next: -10, ends: -1 }), "note", /no longer published/],
    ["that is withdrawn before its chain ends", lifeOf({ op: -20, next: 0, ends: 20 }), "ok", /^1 to show/],
    ["that signs until a year from now", lifeOf({ op: -20, next: 365, ends: 20 }), "warning", /\((19|20) days\)$/],
    ["that is announced after its chain ends", lifeOf({ op: 10, next: -20, ends: 5 }), "problem", /expired at/],
  ])("judges the chain of a key %s by the time of its schedule", async (_, config, level, text) => {
    await folder.addKey("next.pem");
    expect(await certificatesOf(config())).toMatchObject([{ level, text: expect.stringMatching(text) }]);
  });

  test("says nothing about keys without certificates", async () => {
    expect(await certificatesOf(listOf(undefined))).toEqual([]);
  });
});

describe("rotate validate", () => {
  async function found(config: unknown, levels: readonly string[] = ["mistake", "warning"]): Promise<unknown> {
    const { code, stdout } = await run(config, "rotate", "validate", "--json");
    const findings: readonly { level: string; rule: string; path: string; text: string }[] =
      JSON.parse(stdout).findings;
    return { code, findings: findings.filter(({ level }) => levels.includes(level)) };
  }
  const finding = (level: string, path: string, text: RegExp): object => ({
    level,
    rule: level === "warning" ? "certificate" : "valid",
    path,
    text: expect.stringMatching(text),
  });
  const stranger = (): KeyObject => createPublicKey(createPrivateKey(OTHER_KEY));
  const spki = (of: KeyObject): string => of.export({ type: "spki", format: "pem" }).toString();

  test.each<[string, () => object]>([
    ["a list", () => listOf({ chain: "file:chain.pem" })],
    ["a schedule", () => scheduleOf({ chain: "file:chain.pem" })],
    ["a list with base64", () => listOf({ chain: [base64(pem)] })],
    ["a chain of a withdrawn key", lifeOf({ op: -20, next: -10, ends: -1 })],
    ["a chain of a key that is withdrawn before", lifeOf({ op: -20, next: 0, ends: 20 })],
  ])("accepts %s", async (_, config) => {
    expect(await found(config())).toEqual({ code: 0, findings: [] });
  });

  test.each<[string, () => object, string, RegExp]>([
    ["a list", () => listOf({ chain: chainFor(20) }), "keys[0]", /^certificate 1 of 1 is valid until 20/],
    [
      "a schedule",
      lifeOf({ op: -20, next: 365, ends: 20 }),
      "keys.entries[0]",
      /^certificate 1 of 1 is valid until 20/,
    ],
  ])("warns of a chain of %s that ends soon", async (_, config, path, text) => {
    expect(await found(config())).toEqual({
      code: 1,
      findings: [{ ...finding("warning", `${path}.certificates.chain`, text), todo: expect.stringContaining("Renew") }],
    });
  });

  test("notes a key that will sign without a chain, if others have one", async () => {
    const config = lifeOf({ op: -20, next: 365, ends: 400 })();
    expect(await found(lifeOf({ op: -20, next: -10, ends: 400 })(), ["note"])).toMatchObject({
      findings: [{ rule: "next-key" }],
    });
    expect(await found(config, ["note"])).toEqual({
      code: 0,
      findings: [
        {
          level: "note",
          rule: "certificate",
          path: "keys.entries[1]",
          text: expect.stringMatching(/^has no certificates, and other entries have/),
          todo: expect.stringMatching(/^Add its chain/),
        },
      ],
    });
  });

  test("lists every mistake in certificates, without opening a key", async () => {
    const signer = "local:/away/op.pem";
    const entries = [
      { keyId: "good", signer, certificates: { chain: pem } },
      { keyId: "away", signer, certificates: { chain: "file:away.pem" } },
      { keyId: "private", signer, certificates: { chain: "file:op.pem" } },
      { keyId: "old", signer, certificates: { chain: chainFor(-1) } },
      { keyId: "other", publicKey: spki(stranger()), certificates: { chain: pem } },
      { keyId: "two", signer, certificates: { chain: [base64(pem), base64(chainFor(9, stranger()))] } },
      { keyId: "anchor", signer, certificates: { chain: pem, trustAnchors: "file:away.pem" } },
      { keyId: "text", signer, certificates: { chain: 7 } },
    ];
    const { code, stdout } = await run({ issuer, keys: entries }, "rotate", "validate", "--json");
    const { findings } = JSON.parse(stdout);
    expect({ code, findings }).toMatchObject({
      code: 2,
      findings: [
        finding("mistake", "keys[1].certificates.chain", /cannot be read \(ENOENT\)/),
        finding(
          "mistake",
          "keys[2].certificates.chain",
          /kid "private": expected only certificates, got a private key/,
        ),
        finding("mistake", "keys[3].certificates", /expired at/),
        finding("mistake", "keys[4].certificates.chain", /it has another key/),
        finding("mistake", "keys[5].certificates.chain", /expected the issuer/),
        finding("mistake", "keys[6].certificates.trustAnchors", /cannot be read \(ENOENT\)/),
        finding("mistake", "keys[7].certificates.chain", /expected certificates: PEM/),
      ],
    });
    const secret = (await readFile(join(folder.path, "op.pem"), "utf8")).split("\n")[1] ?? "";
    expect(stdout).not.toContain(secret);
  });

  test("finds an expired chain in a schedule, and two chains of one key", async () => {
    const { keys } = lifeOf({ op: -20, next: 5, ends: -1 })() as { keys: { entries: object[] } };
    const [op, next] = keys.entries;
    const twice = {
      ...keys,
      entries: [
        { ...op, certificates: { chain: pem } },
        { ...next, certificates: { chain: pem } },
      ],
    };
    expect(await found({ issuer, keys })).toMatchObject({
      code: 2,
      findings: [finding("mistake", "keys.entries[0].certificates", /expired at/)],
    });
    expect(await found({ issuer, keys: twice })).toMatchObject({
      code: 2,
      findings: [finding("mistake", "keys.entries[1]", /expected a different key/)],
    });
    // A file with a schedule alone.
    expect(await found(keys)).toMatchObject({
      code: 2,
      findings: [finding("mistake", "entries[0].certificates", /expired at/)],
    });
  });
});

test("rotate reads a schedule with certificates, and keeps them in the file", async () => {
  const config = scheduleOf({ chain: "file:chain.pem" });
  expect(await run(config, "rotate", "validate", "--json")).toMatchObject({ code: 0 });
  expect((await run(config, "rotate", "plan")).code).toBe(0);
  await folder.addKey("fresh.pem");
  const { code } = await run(
    config,
    "rotate",
    "announce",
    "--signer",
    `local:${folder.path}/fresh.pem`,
    "--key-id",
    "sig-2",
    "--yes",
  );
  expect(code).toBe(0);
  const { keys } = JSON.parse(await readFile(join(folder.path, "config.json"), "utf8"));
  expect(keys.entries).toMatchObject([
    { keyId: "sig-1", certificates: { chain: "file:chain.pem" } },
    { keyId: "sig-2" },
  ]);
});

test("rotate emergency says that the OP refuses the file for an expired chain, and withdraws the key", async () => {
  await folder.addKey("next.pem");
  const { keys } = lifeOf({ op: -20, next: 365, ends: 50 })() as { keys: { entries: object[] } };
  const [op, next] = keys.entries;
  await folder.write(
    "next-chain.pem",
    certificateOf(createPublicKey(await readFile(join(folder.path, "next.pem"))), ["b"], undefined, undefined, -1),
  );
  for (const [chain, problem] of [
    ["file:next-chain.pem", 'certificates: kid "next": expected a chain that is valid at '],
    ["file:away.pem", "certificates.chain: the file cannot be read (ENOENT)"],
  ] as const) {
    const entries = [op, { ...next, certificates: { chain } }];
    const { code, stdout } = await run(
      { issuer, keys: { ...keys, entries } },
      "rotate",
      "emergency",
      "op",
      "--yes",
      "--json",
    );
    const { written, breaks } = JSON.parse(stdout);
    expect({ code, written }).toEqual({ code: 0, written: true });
    expect(breaks.at(-1)).toContain(`the OP refuses the file: keys.entries[0].${problem}`);
    expect(breaks.at(-1)).toContain("before you roll it out, renew the chain, or remove certificates from the entry");
    const file = JSON.parse(await readFile(join(folder.path, "config.json"), "utf8"));
    expect(file.keys.entries).toMatchObject([{ keyId: "next", certificates: { chain } }]);
  }
});

test("serve publishes a chain that is younger than the schedule", async () => {
  await folder.write("config.json", scheduleOf({ chain: "file:chain.pem" }));
  const context = recordingContext(folder.path);
  const live = createLive(
    createKeyBook(context, () => undefined),
    {},
  );
  const { endpoint, segments } = await live.adopt(await loadConfig(context, "config.json"), false);
  const body = JSON.parse(new TextDecoder().decode(endpoint.respond("GET").body ?? new Uint8Array()));
  expect(body.keys).toMatchObject([{ kid: "sig-1", x5c: [base64(pem)] }]);
  expect(segments.length).toBeGreaterThan(0);
});

const OTHER_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
-----END PRIVATE KEY-----
`;
