import { SignerError } from "@signpost/core";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { makeKmsKey } from "../src/keygen/aws-kms.ts";
import { makeAzureKey } from "../src/keygen/azure-key-vault.ts";
import { makeGcpKey } from "../src/keygen/gcp-kms.ts";
import { failed, LOOK_FIRST, type KeyOrder, type MakeKey } from "../src/keygen/maker.ts";
import { makeTokenKey } from "../src/keygen/pkcs11.ts";
import { makeVaultKey } from "../src/keygen/vault-transit.ts";
import { readTokenUri } from "../src/backends/pkcs11/uri.ts";
import { CliError } from "../src/program/cli-error.ts";
import { recordingContext } from "./support/recording-context.ts";

// What each maker of keys asks of its backend, in which order, and what it says. The backends here answer from a table.

/** The backend: gets the name of a call and its input. Undefined: its SDK or its credentials are missing. */
type Backend = (name: string, ...input: readonly unknown[]) => unknown;
const fake = vi.hoisted(() => ({
  backend: undefined as Backend | undefined,
  calls: [] as unknown[][],
  closed: 0,
}));

function opened<Calls>(calls: Calls): Calls | undefined {
  return fake.backend === undefined ? undefined : calls;
}

async function ask(name: string, ...input: readonly unknown[]): Promise<never> {
  fake.calls.push([name, ...input]);
  const answer = fake.backend?.(name, ...input);
  if (answer instanceof Error) throw answer;
  return answer as never;
}

const close = (): void => void (fake.closed += 1);

vi.mock("../src/backends/aws-kms.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/aws-kms.ts")>()),
  openKmsCalls: async () => opened({ call: ask, close }),
}));
vi.mock("../src/backends/azure-key-vault.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/azure-key-vault.ts")>()),
  openAzureCalls: async () =>
    opened({ send: (method: string, path: string, body?: object) => ask(`${method} ${path}`, body), close }),
}));
vi.mock("../src/backends/vault-transit.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/vault-transit.ts")>()),
  openVaultCalls: async () =>
    opened({
      send: (method: string, path: string, body?: object) => ask(`${method} ${path}`, body),
      repeatsToken: (text: string) => text.includes("hvs."),
      close,
    }),
}));
vi.mock("../src/backends/gcp-kms.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/gcp-kms.ts")>()),
  openGcpClient: async () =>
    opened({
      getCryptoKey: (...input: unknown[]) => ask("getCryptoKey", ...input),
      createCryptoKey: (...input: unknown[]) => ask("createCryptoKey", ...input),
      createCryptoKeyVersion: (...input: unknown[]) => ask("createCryptoKeyVersion", ...input),
      close: async () => {
        close();
        throw new Error("it could not be opened");
      },
    }),
}));
vi.mock("../src/backends/pkcs11/module.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/pkcs11/module.ts")>()),
  findModule: async (uri: string) =>
    opened({ module: "/m.so", parameters: undefined, binding: "/b.node", uri: readTokenUri(uri) }),
  runInModule: (_place: unknown, task: unknown) => ask("module", task),
}));

beforeEach(() => {
  fake.backend = () => undefined;
  fake.calls.length = 0;
  fake.closed = 0;
});

interface Ended {
  readonly made?: string;
  readonly code?: string;
  readonly message?: string;
  readonly hint?: string | undefined;
  readonly exitCode?: number;
  /** What Ctrl-C may have left behind. */
  readonly left: readonly string[];
  readonly tried: readonly string[];
}

const AWAY = new SignerError("key_not_found", "there is no such key");

/** `found`: whether the adapter opens the key of the URI. */
async function ended(make: MakeKey, uri: string, more: Partial<KeyOrder> & { found?: boolean } = {}): Promise<Ended> {
  const { found = false, ...changed } = more;
  const left: string[] = [];
  const tried: string[] = [];
  const order: KeyOrder = {
    uri,
    options: {},
    context: recordingContext("/"),
    newVersion: false,
    protection: "hsm",
    pin: async () => "1234",
    open: async (opening) => {
      tried.push(opening);
      if (!found) throw AWAY;
      return { close: async () => undefined } as never;
    },
    leaves: (text) => left.push(text),
    ...changed,
  };
  try {
    return { made: await make(order), left, tried };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const { code, message, hint, exitCode } = error;
    return { code, message, hint, exitCode, left, tried };
  }
}

const refusal = (message: string, hint?: string) => ({ code: "keygen", message, hint, exitCode: 2 });
const taken = (what: string, hint: string) => ({
  code: "key_exists",
  message: `${what} exists, and is not replaced`,
  hint,
  exitCode: 2,
});
const failure = (message: string, hint?: string) => ({ code: "keygen_failed", message, hint, exitCode: 3 });
const named = (name: string, more: object = {}): Error => Object.assign(new Error("no"), { name, ...more });

describe("AWS KMS", () => {
  const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1";
  const LEFT =
    "AWS KMS may have made a key, without an alias. Its description is: ES256 key of an OpenID Provider (Signpost)";
  const CREATE = [
    "CreateKey",
    {
      KeySpec: "ECC_NIST_P256",
      KeyUsage: "SIGN_VERIFY",
      Description: "ES256 key of an OpenID Provider (Signpost)",
    },
  ];
  const KEY = { KeyMetadata: { Arn: ARN } };
  const making =
    (changed: Readonly<Record<string, unknown>> = {}): Backend =>
    (name) =>
      ({ DescribeKey: named("NotFoundException"), CreateKey: KEY, CreateAlias: {}, ...changed })[name];

  test("makes a key and its alias, and names it by its ARN", async () => {
    fake.backend = making();
    expect(await ended(makeKmsKey, "awskms:///alias/op")).toEqual({
      made: `awskms:///${ARN}`,
      left: [LEFT, `The key ${ARN} was made, and may have no alias`],
      tried: ["awskms:///alias/op"],
    });
    expect(fake.calls).toEqual([
      ["DescribeKey", { KeyId: "alias/op" }],
      CREATE,
      ["CreateAlias", { AliasName: "alias/op", TargetKeyId: ARN }],
    ]);
    expect(fake.closed).toBe(1);
  });

  test("makes a key without an alias", async () => {
    fake.backend = making();
    expect(await ended(makeKmsKey, "awskms://kms.example:443/", { found: true })).toEqual({
      made: `awskms://kms.example:443/${ARN}`,
      left: [LEFT, `The key ${ARN} was made`],
      tried: ["awskms://kms.example:443/alias/signpost-keygen"],
    });
    expect(fake.calls).toEqual([CREATE]);
  });

  test.each([
    ["AWSKMS:///alias/op?region=eu-west-1", `AWSKMS:///${ARN}`],
    ["awskms://[::1]:4566/alias/op?region=eu-west-1&scheme=http", `awskms://[::1]:4566/${ARN}?scheme=http`],
    ["awskms://localhost/alias/a/b_c-1?scheme=http", `awskms://localhost/${ARN}?scheme=http`],
  ])("keeps of %s what the ARN does not say", async (uri, made) => {
    fake.backend = making();
    expect(await ended(makeKmsKey, uri)).toMatchObject({ made });
  });

  test.each<[uri: string, error: object]>([
    ["awskms://a b/alias/op", refusal("The URI has a host that is not one", "awskms:///alias/op-2027")],
    ["awskms://host:x/alias/op", refusal("The URI has a host that is not one", "awskms:///alias/op-2027")],
    ["awskms://x@host/alias/op", refusal("The URI has a host that is not one", "awskms:///alias/op-2027")],
    ...["awskms:///1234", "awskms:///alias/", "awskms:///alias/a$b", "awskms:///x/alias/op"].map(
      (uri): [string, object] => [
        uri,
        refusal("AWS chooses the id of a new key", "Name an alias: signpost keygen awskms:///alias/op-2027"),
      ],
    ),
    [
      "awskms:///alias/op?profile=p",
      refusal("The query of the URI has a name that is not known, or one twice", "The names are region, scheme"),
    ],
  ])("refuses %s", async (uri, error) => {
    expect(await ended(makeKmsKey, uri)).toEqual({ ...error, left: [], tried: [] });
  });

  const EXISTS = taken("The alias alias/op", "Name another alias");
  const NO_ALIAS = `The key ${ARN} was made, and has no alias`;
  test.each<[what: string, backend: Backend | undefined, found: boolean, error: object, calls: number]>([
    ["an alias of a key that opens", making(), true, EXISTS, 0],
    ["an alias that is there", making({ DescribeKey: {} }), false, EXISTS, 1],
    [
      "an alias that it may not look for",
      making({ DescribeKey: named("AccessDeniedException") }),
      false,
      failure("DescribeKey: AccessDeniedException: no"),
      1,
    ],
    ["no SDK", undefined, false, refusal("@aws-sdk/client-kms is not installed", "npm install @aws-sdk/client-kms"), 0],
    [
      "a refusal",
      making({ CreateKey: named("LimitExceeded", { $metadata: { httpStatusCode: 499 } }) }),
      false,
      failure("CreateKey: LimitExceeded: no"),
      2,
    ],
    [
      "a server that failed",
      making({ CreateKey: named("Internal", { $metadata: { httpStatusCode: 500 } }) }),
      false,
      failure("CreateKey: Internal: no", LOOK_FIRST),
      2,
    ],
    ["no answer", making({ CreateKey: named("Lost") }), false, failure("CreateKey: Lost: no", LOOK_FIRST), 2],
    [
      "an alias that is refused",
      making({ CreateAlias: named("AccessDeniedException") }),
      false,
      failure(`${NO_ALIAS}: AccessDeniedException: no`),
      3,
    ],
    [
      "an alias that came meanwhile",
      making({ CreateAlias: named("AlreadyExistsException") }),
      false,
      failure(`${NO_ALIAS}: AlreadyExistsException: no`),
      4,
    ],
  ])("with %s it makes no key that is named", async (_what, backend, found, error, calls) => {
    fake.backend = backend;
    expect(await ended(makeKmsKey, "awskms:///alias/op", { found })).toMatchObject(error);
    expect(fake.calls).toHaveLength(calls);
    expect(fake.closed).toBe(backend === undefined || found ? 0 : 1);
  });

  test.each<[target: unknown, isOwn: boolean]>([
    [KEY, true],
    [{ KeyMetadata: { Arn: `${ARN}2` } }, false],
    [{}, false],
  ])("an alias that was made by a call whose answer was lost is its own: %j", async (target, isOwn) => {
    let described = 0;
    fake.backend = (name) => {
      if (name === "DescribeKey") return (described += 1) === 1 ? named("NotFoundException") : target;
      return making({ CreateAlias: named("AlreadyExistsException") })(name);
    };
    const result = await ended(makeKmsKey, "awskms:///alias/op");
    expect(result.made).toBe(isOwn ? `awskms:///${ARN}` : undefined);
    expect(fake.calls.at(-1)).toEqual(["DescribeKey", { KeyId: "alias/op" }]);
  });
});

describe("Azure Key Vault", () => {
  const URI = "azurekms:///op.vault.azure.net/keys/op";
  const VERSION = "0123456789abcdef0123456789abcdef";
  const MADE = { status: 200, json: { key: { kid: `https://op.vault.azure.net/keys/op/${VERSION}` } } };
  const CREATE = "POST /keys/op/create";
  const answering =
    (made: unknown, there: unknown = { status: 404 }): Backend =>
    (name) =>
      name === CREATE ? made : there;
  const p256 = (kty: string, crv = "P-256") => ({ status: 200, json: { key: { kty, crv } } });
  const body = (kty: string) => ({ kty, crv: "P-256", key_ops: ["sign"], attributes: { enabled: true } });
  const LEFT = ["The key op, or another version of it, may have been made in op.vault.azure.net"];

  test.each([
    ["hsm", "EC-HSM", 200],
    ["software", "EC", 299],
  ] as const)("makes a key with the protection %s", async (protection, kty, status) => {
    fake.backend = answering({ ...MADE, status });
    expect(await ended(makeAzureKey, URI, { protection })).toEqual({
      made: `${URI}/${VERSION}`,
      left: LEFT,
      tried: [URI],
    });
    expect(fake.calls).toEqual([
      ["GET /keys/op", undefined],
      [CREATE, body(kty)],
    ]);
    expect(fake.closed).toBe(1);
  });

  test.each(["EC", "EC-HSM"])("makes a version of a key of the type %s", async (kty) => {
    fake.backend = answering(MADE, p256(kty));
    expect(await ended(makeAzureKey, URI, { newVersion: true, found: true })).toMatchObject({
      made: `${URI}/${VERSION}`,
    });
  });

  const EXISTS = taken("The key op", "Make another version of it with --new-version, or name another key");
  const OTHER = taken("A key op that is not EC on P-256", "Name another key");
  const LOST = named("Lost");
  test.each<[what: string, backend: Backend | undefined, more: Partial<KeyOrder> & { found?: boolean }, error: object]>(
    [
      ["no credential", undefined, {}, refusal("@azure/identity is not installed", "npm install @azure/identity")],
      ["a key that opens", answering(MADE), { found: true }, EXISTS],
      ["a key that is there", answering(MADE, p256("EC")), {}, EXISTS],
      ["a version of an RSA key", answering(MADE, p256("RSA")), { newVersion: true }, OTHER],
      ["a version of a key on another curve", answering(MADE, p256("EC", "P-384")), { newVersion: true }, OTHER],
      ["a version of a key that is not told", answering(MADE, { status: 200 }), { newVersion: true }, OTHER],
      [
        "a version of no key",
        answering(MADE),
        { newVersion: true },
        refusal("There is no key op", "Without --new-version, signpost makes the first version"),
      ],
      [
        "a key that cannot be read",
        answering(MADE, { status: 403 }),
        {},
        failure("read the key: Error: the vault answered 403"),
      ],
      [
        "a vault that fails",
        answering(MADE, { status: 500 }),
        {},
        failure("read the key: Error: the vault answered 500"),
      ],
      ["a vault that is away", answering(MADE, LOST), {}, failure("read the key: Lost: no")],
      ["a lost answer", answering(LOST), {}, failure("create: Lost: no", LOOK_FIRST)],
      [
        "a proxy that failed",
        answering({ status: 500 }),
        {},
        failure("create: Error: the vault answered 500", LOOK_FIRST),
      ],
      ["a refusal", answering({ status: 499 }), {}, failure("create: Error: the vault answered 499")],
      ["an answer that is none", answering({ status: 199 }), {}, failure("create: Error: the vault answered 199")],
      ["a redirect", answering({ status: 300 }), {}, failure("create: Error: the vault answered 300")],
      [
        "a deleted key",
        answering({ status: 409 }),
        {},
        taken("A deleted key of this name", "Recover it (az keyvault key recover), or name another key"),
      ],
      [
        "a vault without an HSM",
        answering({ status: 400, json: { error: { code: "BadParameter" } } }),
        {},
        failure(
          "create: Error: the vault answered 400 BadParameter. A vault of the standard tier has no HSM: see --protection software",
        ),
      ],
      [
        "a software key that is refused",
        answering({ status: 400 }),
        { protection: "software" },
        failure("create: Error: the vault answered 400"),
      ],
      [
        "an answer without a version",
        answering({ status: 200 }),
        {},
        failure("create: Error: the answer names no version"),
      ],
      [
        "an answer with a version that is none",
        answering({ status: 200, json: { key: { kid: `https://h/keys/op/${VERSION}/x` } } }),
        {},
        failure("create: Error: the answer names no version"),
      ],
    ],
  )("with %s it makes no key", async (_what, backend, more, error) => {
    fake.backend = backend;
    expect(await ended(makeAzureKey, URI, more)).toMatchObject(error);
    expect(fake.closed).toBe(backend === undefined ? 0 : 1);
  });

  test.each<[uri: string, more: Partial<KeyOrder>, error: object]>([
    [`${URI}/${VERSION}`, {}, refusal("Expected a key without a version", "azurekms:///NAME.vault.azure.net/keys/KEY")],
    ["azurekms:op", {}, refusal("Expected a key without a version", "azurekms:///NAME.vault.azure.net/keys/KEY")],
    ...["a_b", "a".repeat(128), "a.b"].map((name): [string, object, object] => [
      `azurekms:///h/keys/${name}`,
      {},
      refusal(
        "The name of a key has letters, digits and hyphens only, at most 127",
        "azurekms:///NAME.vault.azure.net/keys/KEY",
      ),
    ]),
    [
      "azurekms:///op.managedhsm.azure.net/keys/op",
      { protection: "software" },
      refusal("A Managed HSM has no software keys"),
    ],
  ])("refuses %s with %o", async (uri, more, error) => {
    fake.backend = answering(MADE);
    expect(await ended(makeAzureKey, uri, more)).toMatchObject(error);
    expect(fake.calls.filter(([name]) => name === CREATE)).toEqual([]);
  });

  test("takes the longest name", async () => {
    fake.backend = () => undefined;
    const uri = `azurekms:///h/keys/${"A-".repeat(63)}9`;
    await expect(ended(makeAzureKey, uri)).rejects.toThrow(TypeError);
    expect(fake.calls).toEqual([[`GET /keys/${uri.slice(19)}`, undefined]]);
  });
});

describe("Google Cloud KMS", () => {
  const RING = "projects/p/locations/l/keyRings/r";
  const URI = `gcpkms://${RING}/cryptoKeys/op-1`;
  const NAME = `${RING}/cryptoKeys/op-1`;
  const ONCE = { timeout: 10_000, retry: null };
  const LEFT = [`The key op-1, or another version of it, may have been made in ${RING}`];
  const code = (number: number): Error => Object.assign(new Error("no"), { code: number });

  test.each(["hsm", "software"] as const)("makes a key with the protection %s", async (protection) => {
    expect(await ended(makeGcpKey, URI, { protection })).toEqual({
      made: `${URI}/cryptoKeyVersions/1`,
      left: LEFT,
      tried: [`${URI}/cryptoKeyVersions/1`],
    });
    const versionTemplate = { algorithm: "EC_SIGN_P256_SHA256", protectionLevel: protection.toUpperCase() };
    const cryptoKey = { purpose: "ASYMMETRIC_SIGN", versionTemplate };
    expect(fake.calls).toEqual([["createCryptoKey", { parent: RING, cryptoKeyId: "op-1", cryptoKey }, ONCE]]);
    expect(fake.closed).toBe(1);
  });

  test.each([
    ["ASYMMETRIC_SIGN", "EC_SIGN_P256_SHA256"],
    [5, 12],
  ])("makes a version of a key that signs: %j %j", async (purpose, algorithm) => {
    fake.backend = (name) =>
      name === "getCryptoKey"
        ? [{ purpose, versionTemplate: { algorithm } }]
        : [{ name: `${NAME}/cryptoKeyVersions/7` }];
    expect(await ended(makeGcpKey, URI, { newVersion: true, found: true })).toEqual({
      made: `${URI}/cryptoKeyVersions/7`,
      left: LEFT,
      tried: [`${URI}/cryptoKeyVersions/1`],
    });
    expect(fake.calls).toEqual([
      ["getCryptoKey", { name: NAME }, { timeout: 10_000 }],
      ["createCryptoKeyVersion", { parent: NAME, cryptoKeyVersion: {} }, ONCE],
    ]);
  });

  const OTHER = taken("A key op-1 that is not EC_SIGN_P256_SHA256", "Name another key");
  const EXISTS = taken("The key op-1", "Make another version of it with --new-version, or name another key");
  const GOOD = [{ purpose: 5, versionTemplate: { algorithm: 12 } }];
  test.each<[what: string, answers: Readonly<Record<string, unknown>>, more: object, error: object]>([
    ["a key that opens", {}, { found: true }, EXISTS],
    ["a key that is there", { createCryptoKey: code(6) }, {}, EXISTS],
    ["a version of a key for encryption", { getCryptoKey: [{ ...GOOD[0], purpose: 1 }] }, { newVersion: true }, OTHER],
    ["a version of a key without a template", { getCryptoKey: [{ purpose: 5 }] }, { newVersion: true }, OTHER],
    [
      "a version of an RSA key",
      { getCryptoKey: [{ purpose: 5, versionTemplate: { algorithm: 2 } }] },
      { newVersion: true },
      OTHER,
    ],
    ["a key that cannot be read", { getCryptoKey: code(7) }, { newVersion: true }, failure("getCryptoKey: Error: no")],
    ...([3, 5, 7, 8, 9, 11, 12, 16].flatMap((refused): [string, object, object, object][] => [
      [`the code ${refused}`, { createCryptoKey: code(refused) }, {}, failure("createCryptoKey: Error: no")],
      [
        `the code ${refused} for a version`,
        { getCryptoKey: GOOD, createCryptoKeyVersion: code(refused) },
        { newVersion: true },
        failure("createCryptoKeyVersion: Error: no"),
      ],
    ]) as [string, Readonly<Record<string, unknown>>, object, object][]),
    ...[1, 2, 4, 10, 13, 14, 15].map((lost): [string, Readonly<Record<string, unknown>>, object, object] => [
      `the code ${lost}, after which a key may be there`,
      { createCryptoKey: code(lost) },
      {},
      failure("createCryptoKey: Error: no", LOOK_FIRST),
    ]),
  ])("with %s it makes no key", async (_what, answers, more, error) => {
    fake.backend = (name) => answers[name];
    expect(await ended(makeGcpKey, URI, more)).toMatchObject(error);
    expect(fake.closed).toBe("found" in more ? 0 : 1);
  });

  test("needs its client", async () => {
    fake.backend = undefined;
    expect(await ended(makeGcpKey, URI)).toMatchObject(
      refusal("@google-cloud/kms is not installed", "npm install @google-cloud/kms"),
    );
  });

  test.each([`${URI}/cryptoKeyVersions/1`, `x${URI}`, `${URI}?a=b`, "gcpkms://projects/p/locations/l/keyRings/r"])(
    "refuses %s",
    async (uri) => {
      expect(await ended(makeGcpKey, uri)).toEqual({
        ...refusal("Expected a key without a version", "gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/NAME"),
        left: [],
        tried: [],
      });
    },
  );
});

describe("Vault", () => {
  const URI = "vault:///transit/keys/op";
  const GET = "GET transit/keys/op";
  const MAKE = "POST transit/keys/op";
  const GOOD = { type: "ecdsa-p256", exportable: false, allow_plaintext_backup: false, latest_version: 4 };
  const found = (data: object = {}) => ({ status: 200, json: { data: { ...GOOD, ...data } } });
  /** Answers one after the other. The last one stays. */
  const answering = (...answers: readonly unknown[]): Backend => {
    const left = [...answers];
    return () => (left.length > 1 ? left.shift() : left[0]);
  };
  const LEFT = ["The key op, or another version of it, may have been made in transit"];

  test.each([200, 204, 299])("makes a key that cannot leave the server (%d)", async (status) => {
    fake.backend = answering({ status: 404 }, { status }, found());
    expect(await ended(makeVaultKey, URI)).toEqual({ made: `${URI}?version=4`, left: LEFT, tried: [URI] });
    expect(fake.calls).toEqual([
      [GET, undefined],
      [MAKE, { type: "ecdsa-p256", exportable: false, allow_plaintext_backup: false }],
      [GET, undefined],
    ]);
    expect(fake.closed).toBe(1);
  });

  test("makes a version", async () => {
    fake.backend = answering(found(), { status: 200 }, found({ latest_version: 5 }));
    expect(await ended(makeVaultKey, URI, { newVersion: true, found: true })).toMatchObject({
      made: `${URI}?version=5`,
    });
    expect(fake.calls).toEqual([
      [GET, undefined],
      ["POST transit/keys/op/rotate", {}],
      [GET, undefined],
    ]);
  });

  const EXISTS = taken("The key op", "Make another version of it with --new-version, or name another key");
  const NO_KEY = refusal("There is no key op in transit", "Without --new-version, signpost makes the first version");
  const says = (status: number, ...errors: readonly unknown[]) => ({ status, json: { errors } });
  test.each<[what: string, answers: readonly unknown[], more: object, error: object]>([
    ["a key that opens", [], { found: true }, EXISTS],
    ["a key that is there", [found()], {}, EXISTS],
    ["a version of no key", [{ status: 404 }], { newVersion: true }, NO_KEY],
    ["a key that was deleted meanwhile", [{ status: 404 }, { status: 200 }, { status: 404 }], {}, NO_KEY],
    [
      "another type",
      [found({ type: "rsa" })],
      { newVersion: true },
      taken("A key op that is not ecdsa-p256", "Name another key"),
    ],
    [
      "an exportable key",
      [found({ exportable: true })],
      { newVersion: true },
      taken("A key op that is exportable", "Name another key"),
    ],
    [
      "a key with backups",
      [found({ allow_plaintext_backup: true })],
      { newVersion: true },
      taken("A key op whose plain text can be backed up", "Name another key"),
    ],
    ["a server that is away", [named("Lost")], {}, failure("the key: Lost: no")],
    ["a lost answer", [{ status: 404 }, named("Lost")], {}, failure("transit/keys/op: Lost: no", LOOK_FIRST)],
    [
      "what the server says",
      [says(403, "1 error\n  occurred:", " permission denied ")],
      {},
      failure("the key: Error: the server answered 403: 1 error occurred: permission denied"),
    ],
    ["words with the token", [says(403, "got hvs.1")], {}, failure("the key: Error: the server answered 403")],
    ["no words", [{ status: 500, json: { errors: "x" } }], {}, failure("the key: Error: the server answered 500")],
    ["a refusal", [{ status: 404 }, says(499)], {}, failure("transit/keys/op: Error: the server answered 499")],
    ["no success", [{ status: 404 }, says(199)], {}, failure("transit/keys/op: Error: the server answered 199")],
    ["a redirect", [{ status: 404 }, says(300)], {}, failure("transit/keys/op: Error: the server answered 300")],
    [
      "a proxy that failed",
      [{ status: 404 }, says(500)],
      {},
      failure("transit/keys/op: Error: the server answered 500", LOOK_FIRST),
    ],
    [
      "a version that is refused",
      [found(), says(403, "no")],
      { newVersion: true },
      failure("transit/keys/op/rotate: Error: the server answered 403: no"),
    ],
  ])("with %s it makes no key", async (_what, answers, more, error) => {
    fake.backend = answering(...answers);
    expect(await ended(makeVaultKey, URI, more)).toMatchObject(error);
    expect(fake.closed).toBe(1);
  });

  test("needs an address and a token, and a URI without a version", async () => {
    const shape = refusal("Expected a key without a version", URI);
    expect(await ended(makeVaultKey, `${URI}?version=1`)).toMatchObject(shape);
    expect(await ended(makeVaultKey, "vault:///op")).toMatchObject(shape);
    fake.backend = undefined;
    expect(await ended(makeVaultKey, URI)).toMatchObject(
      refusal("There is no address or no token", "Set VAULT_ADDR and VAULT_TOKEN: keygen does not log in"),
    );
  });
});

describe("PKCS#11", () => {
  const URI = "pkcs11:token=op;object=sig?module-path=/m.so";

  test("makes a key pair with an id that it chooses, which the URI then has", async () => {
    const { made = "", left, tried } = await ended(makeTokenKey, URI);
    expect(made).toMatch(/^pkcs11:token=op;object=sig;id=(?:%[0-9a-f]{2}){8}\?module-path=\/m\.so$/);
    const [, escaped = ""] = /id=([^?]*)/.exec(made) ?? [];
    const id = escaped.replaceAll("%", "");
    expect(left).toEqual([`A key pair with the id ${id} may have been made in the token`]);
    expect(tried).toEqual([URI]);
    expect(fake.calls).toEqual([["module", { task: "generate", pin: "1234", label: "736967", id }]]);
  });

  test.each([
    "pkcs11:serial=7;object=sig;id=%0a?module-path=/m.so",
    "pkcs11:slot-id=0;object=sig;id=%0a;manufacturer=a;model=b;type=private?module-name=m&pin-source=env:P?x",
  ])("keeps the URI %s, which has an id", async (uri) => {
    expect(await ended(makeTokenKey, uri)).toMatchObject({ made: uri });
    expect(fake.calls).toEqual([["module", { task: "generate", pin: "1234", label: "736967", id: "0a" }]]);
  });

  test.each<[uri: string, error: object]>([
    [
      "pkcs11:token=op;object=a?PIN-value=1",
      refusal("A PIN in a URI ends up in logs", "Use pin-source=file:PATH instead of pin-value"),
    ],
    ["pkcs11:token=op", refusal("The URI names no label", "Add object=NAME to the URI")],
    ["pkcs11:token=op;object=", refusal("The URI names no label", "Add object=NAME to the URI")],
    ["pkcs11:object=sig", refusal("The URI names no token", "Add token=LABEL to the URI")],
    [
      "pkcs11:token=op;object=sig;secret=1",
      refusal(
        "The path of the URI has a name that is not known, or one twice",
        "The names are token, serial, manufacturer, model, slot-id, object, id, type",
      ),
    ],
    [
      "pkcs11:token=op;object=sig?secret=1",
      refusal(
        "The query of the URI has a name that is not known, or one twice",
        "The names are module-path, module-name, pin-source",
      ),
    ],
  ])("refuses %s", async (uri, error) => {
    expect(await ended(makeTokenKey, uri)).toEqual({ ...error, left: [], tried: [] });
  });

  test.each<[what: string, more: object, error: object]>([
    ["a key that opens", { found: true }, taken("A key with this label or id", "Name another object")],
    [
      "no PIN",
      { pin: async () => undefined },
      refusal("There is no PIN", "Add pin-source=file:PATH or pin-source=env:NAME to the URI"),
    ],
  ])("with %s it makes no key", async (_what, more, error) => {
    expect(await ended(makeTokenKey, URI, more)).toEqual({ ...error, left: [], tried: [URI] });
    expect(fake.calls).toEqual([]);
  });

  test("needs its module", async () => {
    fake.backend = undefined;
    expect(await ended(makeTokenKey, URI)).toMatchObject(
      refusal(
        "The PKCS#11 module or its binding was not found",
        "Add module-path= to the URI, and npm install @signpost/pkcs11 pkcs11js",
      ),
    );
  });

  test.each<[code: string, message: string, error: object]>([
    ["key_exists", "x", taken("A key with this label or id", "Name another object")],
    [
      "module_failed",
      "CKR_PIN_INCORRECT",
      {
        code: "module_failed",
        exitCode: 3,
        message: "the PKCS#11 module made no key: CKR_PIN_INCORRECT",
        hint: "Correct the PIN where it is kept, because one more wrong PIN may lock the token",
      },
    ],
    [
      "module_failed",
      "CKR_TEMPLATE_INCONSISTENT",
      {
        code: "module_failed",
        exitCode: 3,
        message: "the PKCS#11 module made no key: CKR_TEMPLATE_INCONSISTENT",
        hint: "Some modules refuse a key that only signs and cannot leave the token: make the key with the tool of the module",
      },
    ],
    ["module_ended", "gone", { code: "module_ended", exitCode: 3, message: "gone", hint: LOOK_FIRST }],
    ["pin_locked", "locked", { code: "pin_locked", exitCode: 3, message: "locked", hint: undefined }],
  ])("says what the module says: %s %s", async (code, message, error) => {
    fake.backend = () => new CliError(3, code, message);
    expect(await ended(makeTokenKey, URI)).toMatchObject(error);
  });

  test("says of a token that is not there what the adapter says, which knows more", async () => {
    fake.backend = () => new CliError(3, "token_not_found", "no such token");
    const away = new SignerError("key_not_found", "no token matches; the module has others");
    await expect(ended(makeTokenKey, URI, { open: () => Promise.reject(away) })).rejects.toBe(away);
  });

  test("says what the module says of a token that is there a moment later", async () => {
    fake.backend = () => new CliError(3, "token_not_found", "no such token");
    let openings = 0;
    const open = async (): Promise<never> => {
      openings += 1;
      if (openings === 1) throw new SignerError("key_not_found", "away");
      return { close: async () => undefined } as never;
    };
    expect(await ended(makeTokenKey, URI, { open })).toMatchObject({ message: "no such token", exitCode: 3 });
  });

  test("passes on what is no error of the module", async () => {
    fake.backend = () => new TypeError("a mistake");
    await expect(ended(makeTokenKey, URI)).rejects.toThrow(TypeError);
  });
});

test.each<[cause: unknown, message: string]>([
  [new TypeError("no answer"), "create: TypeError: no answer"],
  [new TypeError(""), "create: TypeError"],
  ["text", "create: Error: no message"],
  ...["authorization: x", "got Bearer x", "x-vault-token", "x-amz-security-token: y", "eyJhbGciOi", "ya29.a0"].map(
    (text): [unknown, string] => [new Error(`no ${text}`), "create: Error"],
  ),
  [new Error("no forbearers"), "create: Error: no forbearers"],
])("a failure shows its cause, unless that repeats a request: %j", (cause, message) => {
  const error = failed("create", cause, "look");
  expect({ ...error, message: error.message, cause: error.cause }).toMatchObject({
    ...failure(message, "look"),
    cause,
  });
});
