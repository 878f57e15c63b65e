import { createHash } from "node:crypto";
import { chmod } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { guardSigner } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { examineKmsKey, type AskKms } from "../src/doctor/aws-kms.ts";
import { checkClock, clockFinding } from "../src/doctor/clock.ts";
import { examineKey } from "../src/doctor/examine-key.ts";
import type { Finding } from "../src/doctor/finding.ts";
import type { GcpKmsLike } from "../src/backends/gcp-kms.ts";
import { examineVersion } from "../src/doctor/gcp-kms.ts";
import { attributeFindings, tokenFindings } from "../src/doctor/pkcs11.ts";
import { publishedKeys } from "../src/doctor/published.ts";
import { latencyFinding, measureLatency, probeOnce, probeText } from "../src/doctor/probe.ts";
import { runDoctor } from "../src/doctor/run.ts";
import { keyFindings } from "../src/doctor/vault.ts";
import { failureOf } from "../src/program/failure.ts";
import type { KeyAttributes, TokenState } from "../src/backends/pkcs11/messages.ts";
import { startIssuer, type Issuer } from "./support/issuer.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";
import { ended, runCli, startCli } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

const { d: _private, ...RFC_PUBLIC } = RFC_KEY;
let folder: KeyFolder;
let op: Issuer;

beforeAll(async () => {
  [folder, op] = await Promise.all([createKeyFolder(), startIssuer()]);
  await folder.write("op.pem", op.privateKeyPem);
  await folder.addKey("other.pem");
  await Promise.all(["op.pem", "other.pem"].map((name) => chmod(join(folder.path, name), 0o600)));
});
afterAll(async () => {
  await op[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** The findings that are neither fine nor notes. */
function bad(findings: readonly Finding[]): string[] {
  return findings
    .filter(({ level }) => level === "warning" || level === "problem")
    .map(({ level, text }) => `${level}: ${text}`);
}

interface JsonReport {
  readonly ok: boolean;
  readonly keys: readonly {
    readonly name: string;
    readonly uri: string | null;
    readonly findings: readonly Finding[];
  }[];
}

async function examine(
  config: string,
  ...args: readonly string[]
): Promise<{ code: number | null; report: JsonReport }> {
  const { code, stdout } = await runCli(["doctor", "--json", "--config", config, ...args], { cwd: folder.path });
  return { code, report: JSON.parse(stdout) };
}

test.each([
  [
    "keys.entries[0].activeFrom: ",
    {
      keys: {
        entries: [{ signer: "local:op.pem", announcedFrom: "2026-01-01T00:00:00Z", activeFrom: "soon" }],
        maxTokenLifetimeSeconds: 60,
      },
    },
  ],
  [
    "keys: each keyId must be unique in the set",
    {
      keys: [
        { keyId: "a", signer: "local:op.pem" },
        { keyId: "a", signer: "local:other.pem" },
      ],
    },
  ],
  [
    "encryptionKeyset[0].publicKey: ",
    { keys: [{ signer: "local:op.pem" }], encryptionKeyset: [{ publicKey: { kty: "x" } }] },
  ],
])("a mistake in what holds for all keys is found before one is opened: %s", async (message, config) => {
  await folder.write("inconsistent.json", { issuer: op.issuer, ...config });
  const context = recordingContext(folder.path);
  const failed = await runDoctor(context, { config: "inconsistent.json" }).catch((error: unknown) => failureOf(error));
  expect(failed).toMatchObject({ exitCode: 2, message: expect.stringContaining(`inconsistent.json: ${message}`) });
  expect(context.printed()).toBe("");
});

test("a good key of a configuration has nothing to do: it is the one that the OP publishes", async () => {
  await folder.write("good.json", { issuer: op.issuer, keys: [{ keyId: op.kid, signer: "local:op.pem" }] });
  const { code, report } = await examine("good.json", "--samples", "3");
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true });
  const [{ findings } = { findings: [] }] = report.keys;
  expect(findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
    "open ok",
    "probe ok",
    "latency note",
    "published ok",
    "clock ok",
    "key note",
    "permissions ok",
  ]);
  expect(findings.find(({ check }) => check === "latency")?.text).toMatch(
    /^3 signatures: p50 [\d.]+ ms, p95 .*slowest/,
  );
});

test("a key that is not the published one, a kid that is not published, and a file for all are found", async () => {
  await folder.addKey("open.pem");
  await chmod(join(folder.path, "open.pem"), 0o644);
  await folder.write("signpost.config.json", {
    issuer: op.issuer,
    keys: [
      { keyId: op.kid, signer: "local:other.pem" },
      { keyId: "sig-2027-01", signer: "local:open.pem" },
      { keyId: "sig-away", signer: "local:away.pem" },
      { keyId: "sig-public", publicKey: RFC_PUBLIC },
    ],
  });
  const { code } = await expectTranscript("doctor", ["doctor", "--samples", "0"], {
    cwd: folder.path,
    replaced: { [op.issuer]: "https://op.example", [new URL(op.issuer).host]: "op.example" },
    patterns: [[/opened in \d+ ms/g, "opened in 6 ms"]],
    shown: "signpost doctor --samples 0",
  });
  expect(code).toBe(1);
});

test("one key needs no configuration, and reads none", async () => {
  await using empty = await createKeyFolder();
  await empty.write("signpost.config.mjs", "throw new Error('I ran');");
  await empty.addKey("op.pem");
  await chmod(join(empty.path, "op.pem"), 0o600);
  const { code, stdout } = await runCli(["doctor", "local:op.pem", "--samples", "0"], { cwd: empty.path });
  expect(code).toBe(0);
  expect(stdout).toContain("nothing to do");
});

test("keys of a schedule are compared by their phase: not before the announcement, and without alarm after the end", async () => {
  const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString();
  const entry = (keyId: string, announced: number, active: number): object => ({
    keyId,
    signer: keyId === op.kid ? "local:op.pem" : "local:other.pem",
    announcedFrom: days(announced),
    activeFrom: days(active),
  });
  await folder.write("schedule.json", {
    issuer: op.issuer,
    keys: {
      maxTokenLifetimeSeconds: 3600,
      entries: [entry("gone", -200, -199), entry(op.kid, -100, -99), entry("soon", -1, 1), entry("later", 5, 6)],
    },
  });
  const { report } = await examine("schedule.json", "--samples", "0");
  const published = report.keys.map(({ findings }) => findings.find(({ check }) => check === "published")?.level);
  expect(published).toEqual(["note", "ok", "problem", "note"]);
});

test("an OP that is away is a warning, and says so without a verdict on the key", async () => {
  const away = createServer().listen(0, "127.0.0.1");
  await once(away, "listening");
  const { port } = away.address() as AddressInfo;
  away.close();
  await folder.write("away.json", { issuer: `http://127.0.0.1:${port}`, keys: [{ signer: "local:op.pem" }] });
  const { code, report } = await examine("away.json", "--samples", "0");
  expect(code).toBe(1);
  expect(bad(report.keys.flatMap(({ findings }) => findings))).toEqual([
    expect.stringMatching(/^warning: not compared: .*ECONNREFUSED/),
  ]);
});

test("a mistake of usage is one before any key is opened", async () => {
  expect(await runCli(["doctor", "local:op.pem", "--samples", "x"], { cwd: folder.path })).toMatchObject({ code: 2 });
  await folder.write("none.json", { issuer: op.issuer, keys: [{ publicKey: { kty: "EC" } }] });
  expect(await runCli(["doctor", "--config", "none.json"], { cwd: folder.path })).toMatchObject({ code: 2 });
  expect(await runCli(["doctor", "pkcs12:secret-1234"])).toMatchObject({
    code: 2,
    stderr: expect.not.stringContaining("secret-1234"),
  });
});

test("Ctrl-C in the middle ends it with the code that shells report", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await folder.write("silent.json", { issuer: `http://127.0.0.1:${port}`, keys: [{ signer: "local:op.pem" }] });
  const waiting = startCli(["doctor", "--config", "silent.json", "--samples", "0"], { cwd: folder.path });
  await once(silent, "connection");
  waiting.kill("SIGINT");
  await ended(waiting);
  silent.closeAllConnections();
  silent.close();
  expect(waiting.exitCode).toBe(130);
});

test("a probe is never the signing input of a token, which has base64url characters and a dot only", () => {
  const text = new TextDecoder().decode(probeText());
  expect(text).not.toMatch(/^[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/);
  expect(text).toContain(" ");
  expect(text).toMatch(/^This is a probe of signpost doctor, and not a token\.\n[0-9a-f]{32}\n$/);
  expect(text).not.toBe(new TextDecoder().decode(probeText()));
});

test("nothing but probes is signed", async () => {
  const signed: { readonly input: string; readonly isDigestOfIt: boolean }[] = [];
  const bare = await openLocalSigner({ policy: false });
  const signer = guardSigner({
    ...bare,
    sign: (digest, options) => {
      const input = options?.signingInput ?? new Uint8Array();
      const isDigestOfIt = createHash("sha256").update(input).digest().equals(digest);
      signed.push({ input: new TextDecoder().decode(input), isDigestOfIt });
      return bare.sign(digest, options);
    },
  });
  const { signal } = new AbortController();
  await probeOnce(signer, signal);
  await measureLatency(signer, 2, signal);
  const probe = {
    input: expect.stringMatching(/^This is a probe of signpost doctor, and not a token\.\n/),
    isDigestOfIt: true,
  };
  expect(signed).toEqual([probe, probe, probe]);
  await signer.close();
});

test("a clock's finding has whole seconds and their direction", () => {
  expect(clockFinding(45.4, "kms.example").text).toBe("45 s ahead of kms.example");
  expect(clockFinding(-5.6, "kms.example").text).toBe("6 s behind kms.example");
});

test.each([
  [0, "ok"],
  [-2, "ok"],
  [6, "warning"],
  [2.5, "ok"],
  [-2.5, "ok"],
  [2.6, "warning"],
  [-9, "warning"],
  [10, "warning"],
  [-10, "warning"],
  [10.1, "problem"],
  [45, "problem"],
])("a clock that is %i seconds ahead is %s", (ahead, level) => {
  expect(clockFinding(ahead, "kms.example").level).toBe(level);
});

test.each<[what: string, members: Readonly<Record<string, unknown>>, why: string]>([
  ["an entry that is not for signatures", { use: "enc" }, 'not_for_signatures (the member "use" is not "sig")'],
  ["a kid that is a number", { kid: 5 }, "no key with this kid (left out of the set: malformed"],
])("a published key that cannot be used is told with the reason: %s", async (_what, members, why) => {
  const set = JSON.stringify({
    keys: [
      { ...RFC_PUBLIC, kid: "5", ...members },
      { ...RFC_PUBLIC, kid: "other" },
    ],
  });
  const server = createServer((_req, res) => res.writeHead(200, { "content-type": "application/json" }).end(set));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const keys = publishedKeys(`http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`);
  const key = { keyId: "5", publicKey: RFC_PUBLIC as never };
  for (const expected of ["now", "maybe"] as const) {
    const finding = await keys.compare({ ...key, expected }, new AbortController().signal);
    expect(finding).toMatchObject({ level: "problem", text: expect.stringContaining(why) as string });
  }
});

test("a key set on another machine is asked over https", async () => {
  const stop = new Error("stop");
  const key = { keyId: "a", publicKey: RFC_PUBLIC as never, expected: "now" } as const;
  const asked = publishedKeys("https://op.example/jwks").compare(key, AbortSignal.abort(stop));
  await expect(asked).rejects.toBe(stop);
});

test("a date that a cache stored is not compared, and caches are asked to pass the request on", async () => {
  const asked: unknown[] = [];
  const cache = createServer((req, res) => {
    asked.push(req.headers["cache-control"]);
    res.writeHead(200, { date: new Date(Date.now() - 3_000_000).toUTCString(), age: "3000" }).end();
  });
  await once(cache.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void cache.close());
  const { port } = cache.address() as AddressInfo;
  const finding = await checkClock(`http://127.0.0.1:${port}/jwks`, new AbortController().signal);
  expect(finding).toMatchObject({ level: "note", text: `not compared: a cache answered for 127.0.0.1:${port}` });
  expect(asked).toEqual(["no-cache"]);
});

test("a date that was sent twice is one", async () => {
  const server = createServer((_req, res) => {
    const date = new Date().toUTCString();
    res
      .writeHead(
        200,
        [
          ["date", date],
          ["date", date],
        ].flat(),
      )
      .end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const finding = await checkClock(`http://127.0.0.1:${port}/jwks`, new AbortController().signal);
  expect(finding).toMatchObject({ level: "ok", text: `agrees with 127.0.0.1:${port}` });
});

test("the key set of an issuer with plain HTTP is not compared, and the key is examined", async () => {
  await folder.write(
    "http.json",
    JSON.stringify({
      issuer: "http://op.internal",
      allowInsecureIssuer: true,
      keys: [{ keyId: "a", signer: "local:op.pem" }],
    }),
  );
  const { code, report } = await examine("http.json");
  expect(bad(report.keys[0]?.findings ?? [])).toEqual([]);
  expect(code).toBe(0);
  expect(report.keys[0]?.findings).toContainEqual({
    check: "published",
    level: "note",
    text: "not compared: http://op.internal/jwks is plain HTTP on another machine",
  });
});

test("signatures that take long are a warning", () => {
  const latency = { count: 10, p50: 12, p95: 30, max: 40 };
  expect(latencyFinding(latency).level).toBe("note");
  expect(latencyFinding({ ...latency, p50: 400 }).level).toBe("warning");
  expect(latencyFinding({ ...latency, p50: 250 }).level).toBe("note");
  expect(latencyFinding({ ...latency, p50: 250.1 }).level).toBe("warning");
  expect(latencyFinding({ count: 3, p50: 9.94, p95: 10, max: 100.4 }).text).toBe(
    "3 signatures: p50 9.9 ms, p95 10 ms, slowest 100 ms",
  );
});

describe("PKCS#11", () => {
  const quiet: TokenState = {
    label: "op",
    model: "m",
    loginRequired: true,
    pinCountLow: false,
    pinFinalTry: false,
    pinLocked: false,
    pinToBeChanged: false,
  };
  test.each([
    [{}, []],
    [{ pinCountLow: true }, ["warning: a wrong PIN was given since the last login"]],
    [{ pinFinalTry: true }, ["problem: one wrong PIN from now locks the token, so no login was tried"]],
    [{ pinLocked: true }, ["problem: the PIN is locked"]],
    [{ pinToBeChanged: true }, ["warning: the PIN must be changed"]],
    [{ loginRequired: false }, ["warning: the token needs no login"]],
  ])("the flags %o of a token", (flags, expected) => {
    expect(bad(tokenFindings({ ...quiet, ...flags }))).toEqual(expected);
  });

  const safe: KeyAttributes = {
    CKA_SENSITIVE: true,
    CKA_ALWAYS_SENSITIVE: true,
    CKA_EXTRACTABLE: false,
    CKA_NEVER_EXTRACTABLE: true,
    CKA_SIGN: true,
    CKA_DECRYPT: false,
    CKA_UNWRAP: false,
    CKA_DERIVE: false,
    CKA_MODIFIABLE: true,
    CKA_LOCAL: true,
    CKA_ALWAYS_AUTHENTICATE: false,
  };
  test.each([
    [{}, []],
    [{ CKA_EXTRACTABLE: true }, ["problem: extractable: its private half can leave the token"]],
    [{ CKA_SENSITIVE: false }, ["problem: not sensitive: its private half can be read"]],
    [{ CKA_NEVER_EXTRACTABLE: false }, ["warning: not extractable now, but it was, or it was readable"]],
    [{ CKA_LOCAL: false }, ["warning: made outside of the token and imported, so a copy may exist"]],
    [{ CKA_DERIVE: true }, ["warning: may be used for more than signatures: CKA_DERIVE"]],
    [{ CKA_ALWAYS_AUTHENTICATE: true }, []],
    [{ CKA_LOCAL: undefined, CKA_DERIVE: undefined }, []],
  ])("the attributes %o of a key", (attributes, expected) => {
    expect(bad(attributeFindings({ ...safe, ...attributes }))).toEqual(expected);
  });
});

test.each([
  [{ exportable: false, auto_rotate_period: 0 }, []],
  [{ exportable: true }, ["problem: the key is exportable: its private half can leave the server"]],
  [{ allow_plaintext_backup: true }, ["problem: plaintext backups are allowed, and contain the private key"]],
  [{ deletion_allowed: true }, ["warning: the key may be deleted"]],
  [{ auto_rotate_period: 86_400 }, ["warning: the engine makes a new version every 24 h"]],
])("the attributes %o of a Transit key", (data, expected) => {
  expect(bad(keyFindings(data, "1"))).toEqual(expected);
});

describe("AWS KMS", () => {
  const id = "arn:aws:kms:eu-west-1:111122223333:key/1";
  const policy = (statement: object): object => ({ Policy: JSON.stringify({ Statement: [statement] }) });
  const answers = {
    DescribeKey: { KeyMetadata: { Origin: "AWS_KMS" } },
    GetKeyPolicy: "AccessDeniedException",
    CreateGrant: "AccessDeniedException",
  };
  const ask =
    (changed: object): AskKms =>
    async (command) =>
      ({ ...answers, ...changed })[command];
  test.each([
    [{}, false, []],
    [{ DescribeKey: "AccessDeniedException" }, false, []],
    [{}, true, ["warning: the URI names an alias, which can be moved to another key"]],
    [
      { DescribeKey: { KeyMetadata: { Origin: "EXTERNAL" } } },
      false,
      ["warning: its material was imported, so a copy exists outside of AWS"],
    ],
    [
      { DescribeKey: { KeyMetadata: { Origin: "EXTERNAL", ValidTo: new Date("2027-01-01") } } },
      false,
      [
        "warning: its material was imported, so a copy exists outside of AWS",
        "warning: AWS deletes its imported material at 2027-01-01T00:00:00.000Z, and it cannot sign after that",
      ],
    ],
    [
      { CreateGrant: "DryRunOperationException" },
      false,
      ["warning: these credentials may let others sign (kms:CreateGrant)"],
    ],
    [
      { GetKeyPolicy: policy({ Effect: "Allow", Principal: "*", Action: "kms:Sign" }) },
      false,
      ["problem: the key policy allows every AWS account"],
    ],
    [
      {
        GetKeyPolicy: policy({
          Effect: "Allow",
          Principal: { AWS: ["*"] },
          Condition: { StringEquals: { "kms:CallerAccount": "111122223333" } },
        }),
      },
      false,
      [],
    ],
    // Without a member, a condition holds for all.
    [
      { GetKeyPolicy: policy({ Effect: "Allow", Principal: { AWS: ["*"] }, Condition: {} }) },
      false,
      ["problem: the key policy allows every AWS account"],
    ],
  ])("the answers %o, alias %s", async (changed, isAlias, expected) => {
    expect(bad(await examineKmsKey(ask(changed), { id, isAlias, isService: true }))).toEqual(expected);
  });

  test("no grant is tried where a dry run may not be one", async () => {
    const commands: string[] = [];
    const asking: AskKms = async (command, input) => {
      commands.push(command);
      return ask({})(command, input);
    };
    await examineKmsKey(asking, { id, isAlias: false, isService: false });
    expect(commands).toEqual(["DescribeKey", "GetKeyPolicy"]);
  });

  test("a grant is tried as a dry run only", async () => {
    const inputs: object[] = [];
    const asking: AskKms = async (command, input) => {
      if (command === "CreateGrant") inputs.push(input);
      return ask({})(command, input);
    };
    await examineKmsKey(asking, { id, isAlias: false, isService: true });
    expect(inputs).toEqual([expect.objectContaining({ DryRun: true })]);
    const china = id.replace("arn:aws:", "arn:aws-cn:");
    await examineKmsKey(asking, { id: china, isAlias: false, isService: true });
    expect(inputs.at(-1)).toMatchObject({ GranteePrincipal: expect.stringMatching(/^arn:aws-cn:iam::\d+:root$/) });
  });
});

describe("Google Cloud KMS", () => {
  const refuse = async (): Promise<never> => {
    throw new Error("PERMISSION_DENIED");
  };
  const good: GcpKmsLike = {
    createCryptoKey: refuse,
    createCryptoKeyVersion: refuse,
    getCryptoKeyVersion: async () => [{ protectionLevel: "HSM" }],
    getCryptoKey: async () => [{ destroyScheduledDuration: { seconds: "2592000" } }],
    testIamPermissions: async () => [{ permissions: [] }],
    getIamPolicy: async () => [{ bindings: [{ members: ["serviceAccount:op@p.iam.gserviceaccount.com"] }] }],
    close: async () => undefined,
  };
  test.each<[string, Partial<GcpKmsLike>, readonly string[]]>([
    ["a good version", {}, []],
    [
      "no permission to look",
      { getCryptoKeyVersion: refuse, getCryptoKey: refuse, testIamPermissions: refuse, getIamPolicy: refuse },
      [],
    ],
    [
      "an imported version",
      { getCryptoKeyVersion: async () => [{ importTime: {} }] },
      ["warning: its material was imported, so a copy exists elsewhere"],
    ],
    [
      "a short time to undo",
      { getCryptoKey: async () => [{ destroyScheduledDuration: { seconds: 86_400 } }] },
      ["warning: a destroyed version is gone after 1 days"],
    ],
    [
      "permission to destroy",
      { testIamPermissions: async () => [{ permissions: ["cloudkms.cryptoKeyVersions.destroy"] }] },
      ["warning: these credentials may also destroy the version"],
    ],
    [
      "a policy for everyone",
      { getIamPolicy: async () => [{ bindings: [{ members: ["user:a@b"] }, { members: ["allAuthenticatedUsers"] }] }] },
      ["problem: the policy of the key gives a role to everyone"],
    ],
  ])("%s", async (_name, changed, expected) => {
    const name = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1";
    expect(bad(await examineVersion({ ...good, ...changed }, name))).toEqual(expected);
  });
});

test.each([
  ["awskms", "client"],
  ["awskms", "api"],
  ["gcpkms", "client"],
  ["vault", "dispatcher"],
  ["azurekms", "dispatcher"],
])(
  "a key of %s that is opened through a given %s is not examined with the credentials of the environment",
  async (scheme, option) => {
    const { findings } = await examineKey({
      name: "key",
      scheme,
      uri: `${scheme}:///op`,
      options: { [option]: {} },
      context: recordingContext("/"),
      open: () => openLocalSigner(),
      pin: () => Promise.resolve(undefined),
      compared: ({ publicKey }) => ({ keyId: "op", publicKey, expected: "now" }),
      published: undefined,
      samples: 0,
      certificates: undefined,
      span: undefined,
    });
    expect(findings.slice(1)).toEqual([
      expect.objectContaining({ check: "probe", level: "ok" }),
      {
        check: "key",
        level: "note",
        text: `not examined: this command cannot use the option ${option} of the adapter`,
      },
    ]);
  },
);
