import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { AWS_KMS, examineKmsKey, type AskKms } from "../src/doctor/aws-kms.ts";
import { AZURE_KEY_VAULT, directoryRoles, rotationFinding, versionFindings } from "../src/doctor/azure-key-vault.ts";
import type { BackendChecks } from "../src/doctor/backend.ts";
import type { Finding } from "../src/doctor/finding.ts";
import { examineVersion, GCP_KMS } from "../src/doctor/gcp-kms.ts";
import { attributeFindings, PKCS11, tokenFindings } from "../src/doctor/pkcs11.ts";
import { keyFindings, VAULT } from "../src/doctor/vault.ts";
import { readTokenUri } from "../src/backends/pkcs11/uri.ts";
import { recordingContext } from "./support/recording-context.ts";

// What doctor asks each backend of a key, and every finding that it makes of the answers.

/** The backend: gets the name of a call and its input. Undefined: its SDK or its credentials are missing. */
type Backend = (name: string, ...input: readonly unknown[]) => unknown;
const fake = vi.hoisted(() => ({
  backend: undefined as Backend | undefined,
  opened: [] as unknown[],
  calls: [] as unknown[][],
  closed: 0,
}));

function opened<Calls>(place: unknown, calls: Calls): Calls | undefined {
  fake.opened.push(place);
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
  openKmsCalls: async (place: unknown) => opened(place, { call: ask, close }),
}));
vi.mock("../src/backends/azure-key-vault.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/azure-key-vault.ts")>()),
  openAzureCalls: async (host: string) =>
    opened(host, {
      send: (method: string, path: string) => ask(`${method} ${path}`),
      tokenClaims: () => ask("claims"),
      close,
    }),
}));
vi.mock("../src/backends/vault-transit.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/vault-transit.ts")>()),
  openVaultCalls: async (options: unknown) =>
    opened(options, {
      send: (method: string, path: string, body?: object) => ask(`${method} ${path}`, body),
      close,
    }),
}));
vi.mock("../src/backends/gcp-kms.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/gcp-kms.ts")>()),
  openGcpClient: async (options: unknown) =>
    opened(options, {
      getCryptoKeyVersion: (...input: unknown[]) => ask("getCryptoKeyVersion", ...input),
      getCryptoKey: (...input: unknown[]) => ask("getCryptoKey", ...input),
      testIamPermissions: (...input: unknown[]) => ask("testIamPermissions", ...input),
      getIamPolicy: (...input: unknown[]) => ask("getIamPolicy", ...input),
      close: async () => {
        close();
        throw new Error("it could not be opened");
      },
    }),
}));
vi.mock("../src/backends/pkcs11/module.ts", async (original) => ({
  ...(await original<typeof import("../src/backends/pkcs11/module.ts")>()),
  findModule: async (uri: string) =>
    opened(uri, { module: "/m.so", parameters: undefined, binding: "/b.node", uri: readTokenUri(uri) }),
  runInModule: (place: { uri: { object?: string } }, task: object) => ask("module", place.uri.object, task),
}));

beforeEach(() => {
  fake.backend = () => undefined;
  fake.opened.length = 0;
  fake.calls.length = 0;
  fake.closed = 0;
});

const shown = ({ check, level, text }: Finding): string => `${check} ${level} ${text}`;

interface Given {
  readonly uri: string;
  /** The canonical URI, once it was opened. Default: the same. */
  readonly opened?: string;
  readonly options?: object;
  readonly env?: NodeJS.ProcessEnv;
  readonly pin?: string;
}

function subjectOf({ uri, opened = uri, options = {}, env = {}, pin }: Given) {
  const context = { ...recordingContext("/"), env };
  return [{ uri, options: { ...options }, context, pin: async () => pin }, { uri: opened } as never] as const;
}

async function examined({ examine }: BackendChecks, given: Given): Promise<readonly string[]> {
  return (await examine(...subjectOf(given))).map(shown);
}

const clockUrl = ({ clockUrl }: BackendChecks, given: Given): string | undefined => clockUrl?.(...subjectOf(given));

describe("AWS KMS", () => {
  const ARN = "arn:aws:kms:eu-west-1:111122223333:key/1";
  const ANSWERS = {
    DescribeKey: { KeyMetadata: { Origin: "AWS_KMS" } },
    GetKeyPolicy: "AccessDeniedException",
    CreateGrant: "AccessDeniedException",
  };
  const GOOD = [
    "key ok made inside AWS KMS, not exportable",
    "rotation ok the URI names one key. AWS never rotates the material of a key that signs",
  ];
  async function asked(changed: object, { isAlias = false, isService = true } = {}) {
    const calls: unknown[] = [];
    const ask: AskKms = async (command, input) => {
      calls.push([command, input]);
      return ({ ...ANSWERS, ...changed } as Record<string, object | string>)[command] ?? "Unknown";
    };
    return { findings: await examineKmsKey(ask, { id: ARN, isAlias, isService }), calls };
  }

  test("asks for three things, and tries a grant without making it", async () => {
    const { findings, calls } = await asked({});
    expect(findings.map(shown)).toEqual(GOOD);
    expect(calls).toEqual([
      ["DescribeKey", { KeyId: ARN }],
      ["GetKeyPolicy", { KeyId: ARN, PolicyName: "default" }],
      [
        "CreateGrant",
        {
          KeyId: ARN,
          GranteePrincipal: "arn:aws:iam::111122223333:root",
          Operations: ["Sign"],
          DryRun: true,
        },
      ],
    ]);
  });

  test.each<[what: string, described: unknown, findings: readonly string[]]>([
    [
      "a refusal",
      "AccessDeniedException",
      ["key note not examined: DescribeKey says AccessDeniedException. Signing does not need this call"],
    ],
    ["nothing", {}, ["key note not examined: DescribeKey says nothing. Signing does not need this call"]],
    ["CloudHSM", { Origin: "AWS_CLOUDHSM" }, ["key ok made inside CloudHSM, not exportable"]],
    ["an import", { Origin: "EXTERNAL" }, ["key warning its material was imported, so a copy exists outside of AWS"]],
    [
      "several Regions",
      { Origin: "AWS_KMS", MultiRegion: true },
      [GOOD[0] ?? "", "key note a multi-Region key: its replicas sign with the same material"],
    ],
    ["one Region", { Origin: "AWS_KMS", MultiRegion: false }, [GOOD[0] ?? ""]],
  ])("says what DescribeKey says: %s", async (_what, described, expected) => {
    const isMetadata = typeof described === "object" && Object.keys(Object(described)).length > 0;
    const { findings } = await asked({ DescribeKey: isMetadata ? { KeyMetadata: described } : described });
    expect(findings.map(shown)).toEqual([...expected, GOOD[1]]);
  });

  const statement = (members: object): object => ({
    Policy: JSON.stringify({ Statement: [{ Effect: "Deny", Principal: "*" }, members] }),
  });
  const READABLE = "permissions note these credentials may read the key policy, which signing does not need";
  test.each<[statement: object, isOpen: boolean]>([
    [{ Effect: "Allow", Principal: "*" }, true],
    [{ Effect: "Allow", Principal: { AWS: "*" } }, true],
    [{ Effect: "Allow", Principal: { AWS: ["arn:aws:iam::1:root", "*"] } }, true],
    [{ Effect: "Allow", Principal: { AWS: ["arn:aws:iam::1:root"] } }, false],
    [{ Effect: "Allow", Principal: { Service: "*" } }, false],
    [{ Effect: "Deny", Principal: "*" }, false],
    [{ Effect: "Allow", Principal: "*", Condition: { Bool: { a: "true" } } }, false],
    [{ Effect: "Allow" }, false],
  ])("the policy with %j is open to all: %s", async (members, isOpen) => {
    const { findings } = await asked({ GetKeyPolicy: statement(members) }, { isService: false });
    const open = isOpen ? ["permissions problem the key policy allows every AWS account"] : [];
    expect(findings.slice(2).map(shown)).toEqual([...open, READABLE]);
  });

  test("a policy of one statement needs no list", async () => {
    const Policy = JSON.stringify({ Statement: { Effect: "Allow", Principal: "*" } });
    expect((await asked({ GetKeyPolicy: { Policy } })).findings.map(shown)).toContain(
      "permissions problem the key policy allows every AWS account",
    );
  });

  test.each<[given: Given, id: string, region: string | undefined, isAlias: boolean, tries: readonly string[]]>([
    [{ uri: "awskms:///alias/op", opened: `awskms:///${ARN}` }, ARN, "eu-west-1", true, ["CreateGrant"]],
    [
      { uri: `awskms:///arn:aws:kms:eu-west-1:1:alias/op`, opened: `awskms:///${ARN}` },
      ARN,
      "eu-west-1",
      true,
      ["CreateGrant"],
    ],
    [{ uri: `awskms:///${ARN}` }, ARN, "eu-west-1", false, ["CreateGrant"]],
    [{ uri: "awskms:///key-alias/op", opened: `awskms:///${ARN}` }, ARN, "eu-west-1", false, ["CreateGrant"]],
    // An emulator might make the grant.
    [{ uri: `awskms://localhost:4566/${ARN}` }, ARN, "eu-west-1", false, []],
  ])("examines the opened key of %o", async (given, id, region, isAlias, tries) => {
    fake.backend = (name) => (name === "DescribeKey" ? ANSWERS.DescribeKey : Object.assign(new Error(), { name: "X" }));
    const findings = await examined(AWS_KMS, given);
    expect(findings).toEqual([
      GOOD[0],
      isAlias ? "rotation warning the URI names an alias, which can be moved to another key" : GOOD[1],
    ]);
    expect(fake.opened).toEqual([expect.objectContaining({ id, region })]);
    expect(fake.calls.map(([name]) => name)).toEqual(["DescribeKey", "GetKeyPolicy", ...tries]);
    expect(fake.closed).toBe(1);
  });

  test("says the name of an error, and how to examine", async () => {
    fake.backend = () => Object.assign(new Error("secret"), { name: "ThrottlingException" });
    expect(await examined(AWS_KMS, { uri: `awskms:///${ARN}` })).toEqual([
      "key note not examined: DescribeKey says ThrottlingException. Signing does not need this call",
      GOOD[1],
    ]);
    fake.backend = undefined;
    expect(await examined(AWS_KMS, { uri: `awskms:///${ARN}` })).toEqual([
      "key note not examined: this needs @aws-sdk/client-kms",
    ]);
  });

  test.each<[given: Given, url: string | undefined]>([
    [{ uri: `awskms:///${ARN}` }, "https://kms.eu-west-1.amazonaws.com/"],
    [{ uri: "awskms:///alias/op?region=cn-north-1" }, "https://kms.cn-north-1.amazonaws.com.cn/"],
    [{ uri: "awskms:///alias/op", options: { region: "us-east-1" } }, "https://kms.us-east-1.amazonaws.com/"],
    [{ uri: "awskms:///alias/op" }, undefined],
    [{ uri: `awskms://localhost:4566/${ARN}` }, "http://localhost:4566"],
    [{ uri: `awskms:///${ARN}`, env: { AWS_ENDPOINT_URL: "https://kms.example" } }, "https://kms.example"],
  ])("has a clock: %o at %s", (given, url) => {
    expect(clockUrl(AWS_KMS, given)).toBe(url);
  });
});

describe("Azure Key Vault", () => {
  const HOST = "op.vault.azure.net";
  const VERSION = "0123456789abcdef0123456789abcdef";
  const DAY = 86_400_000;
  const GOOD = { key: { kty: "EC-HSM", key_ops: ["sign", "verify"] }, attributes: { recoveryLevel: "Recoverable" } };
  const findingsOf = (changed: object, isHsmPool = false, now = 0): readonly string[] =>
    versionFindings({ ...GOOD, ...changed }, isHsmPool, now).map(shown);
  const DELETED = "key ok a deleted key can be recovered, and not purged";

  test.each<[what: string, changed: object, first: readonly string[]]>([
    ["a good version", {}, ["key ok not exportable, no release policy", "key ok signs only"]],
    [
      "an exportable version",
      { attributes: { exportable: true } },
      ["key problem exportable: its private half can leave the vault by a release policy"],
    ],
    [
      "an exportable version with a policy",
      { attributes: { exportable: true }, release_policy: {} },
      ["key problem exportable: its release policy lets its private half leave the vault"],
    ],
    ["a policy alone", { release_policy: {} }, ["key warning has a release policy, and is not exportable now"]],
    ["no policy", { release_policy: null }, ["key ok not exportable, no release policy"]],
    [
      "a version of a certificate",
      { managed: true },
      [
        "key ok not exportable, no release policy",
        "key warning belongs to a certificate: its renewal makes a new version, and its private half may be readable as a secret",
      ],
    ],
    [
      "no version of a certificate",
      { managed: false },
      ["key ok not exportable, no release policy", "key ok signs only"],
    ],
    [
      "more operations",
      { key: { kty: "EC", key_ops: ["sign", "import", "wrapKey"] } },
      [
        "key ok not exportable, no release policy",
        "key warning may be used for more than signatures: import, wrapKey",
        "key note a software key of the vault, without an HSM",
      ],
    ],
    ["no operations", { key: { kty: "EC" } }, ["key ok not exportable, no release policy", "key ok signs only"]],
  ])("of %s says what it is", (_what, changed, first) => {
    expect(findingsOf(changed).slice(0, first.length)).toEqual(first);
  });

  test.each<[kty: string, isHsmPool: boolean, finding: string]>([
    ["EC-HSM", false, "key ok in an HSM of the vault"],
    ["EC-HSM", true, "key ok in a Managed HSM"],
    ["EC", true, "key ok in a Managed HSM"],
    ["EC", false, "key note a software key of the vault, without an HSM"],
  ])("says where a key is: %s %s", (kty, isHsmPool, finding) => {
    expect(findingsOf({ key: { kty } }, isHsmPool)[2]).toBe(finding);
  });

  test.each<[exp: unknown, level: string | undefined]>([
    [30 * 86_400, "warning"],
    [30 * 86_400 + 1, "note"],
    [0, "warning"],
    [8.64e12, "note"],
    [8.64e12 + 1, undefined],
    ["1", undefined],
  ])("an end at %j is a %s", (exp, level) => {
    const findings = findingsOf({ attributes: { recoveryLevel: "Recoverable", exp } });
    const date = level === undefined ? "" : new Date(Number(exp) * 1000).toISOString();
    const expected = `key ${level} the vault refuses to sign with it from ${date} (exp)`;
    expect(findings.slice(3)).toEqual([...(level === undefined ? [] : [expected]), DELETED]);
    expect(findingsOf({ attributes: { exp: 30 * 86_400 + 1 } }, false, DAY)[3]).toMatch(/^key warning/);
  });

  test.each<[attributes: object, isHsmPool: boolean, finding: string, todo: string | undefined]>([
    [{}, false, "key note the vault does not say whether a deleted key can be recovered", undefined],
    [{ recoveryLevel: "Recoverable" }, false, DELETED, undefined],
    [
      { recoveryLevel: "Recoverable", recoverableDays: 7 },
      false,
      "key ok a deleted key can be recovered for 7 days, and not purged",
      undefined,
    ],
    [
      { recoveryLevel: "Recoverable+Purgeable" },
      false,
      "key warning no purge protection: two calls delete the key for good",
      "az keyvault update --enable-purge-protection",
    ],
    [
      { recoveryLevel: "Recoverable+Purgeable" },
      true,
      "key warning no purge protection: two calls delete the key for good",
      "az keyvault update-hsm --enable-purge-protection",
    ],
    [
      { recoveryLevel: "Purgeable" },
      false,
      "key problem no soft delete: one call deletes the key for good",
      "Move to a vault with soft delete",
    ],
  ])("says how a key can be deleted: %o %s", (attributes, isHsmPool, finding, todo) => {
    const last = versionFindings({ ...GOOD, attributes }, isHsmPool, 0).at(-1);
    expect([last === undefined ? "" : shown(last), last?.todo]).toEqual([finding, todo]);
  });

  const policy = (...lifetimeActions: readonly unknown[]) => ({ status: 200, headers: {}, json: { lifetimeActions } });
  test.each<[what: string, answer: Parameters<typeof rotationFinding>[0], finding: string]>([
    ["no action", policy(), "rotation ok no policy makes new versions"],
    ["a notice", policy({ action: { type: "Notify" } }, {}), "rotation ok no policy makes new versions"],
    ["no list", { status: 200, headers: {}, json: {} }, "rotation ok no policy makes new versions"],
    [
      "an age",
      policy({ action: { type: "notify" } }, { action: { type: "ROTATE" }, trigger: { timeAfterCreate: "P90D" } }),
      "rotation warning a rotation policy makes a new version P90D after each version",
    ],
    [
      "an end",
      policy({ action: { type: "Rotate" }, trigger: { timeBeforeExpiry: "P30D" } }),
      "rotation warning a rotation policy makes a new version P30D before it expires",
    ],
    [
      "a refusal",
      { status: 403, headers: {}, json: { error: { code: "Forbidden" } } },
      "rotation note the rotation policy was not examined: the vault says 403 Forbidden",
    ],
    [
      "nothing",
      { status: 200, headers: {}, json: null },
      "rotation note the rotation policy was not examined: the vault says 200",
    ],
    [
      "a text",
      { status: 200, headers: {}, json: "x" },
      "rotation note the rotation policy was not examined: the vault says 200",
    ],
  ])("says of a rotation policy: %s", (_what, answer, finding) => {
    expect(shown(rotationFinding(answer))).toBe(finding);
  });

  const NO_ROLE = "b79fbf4d-3ef9-4689-8143-76b194e85509";
  test.each<[claims: object, findings: readonly string[]]>([
    [{}, []],
    [{ wids: [] }, []],
    [{ wids: [NO_ROLE] }, []],
    [{ wids: "a" }, []],
    [{ wids: ["a", NO_ROLE] }, ["permissions warning these credentials have a role in the directory (Entra ID)"]],
    [{ wids: ["a", "b"] }, ["permissions warning these credentials have 2 roles in the directory (Entra ID)"]],
    [{ scp: "user" }, ["permissions note these are credentials of a person, and not those of the OP"]],
    [{ scp: 1 }, []],
  ])("says which roles the claims %j name", (claims, findings) => {
    expect(directoryRoles({ ...claims }).map(shown)).toEqual(findings);
  });

  const LAST =
    "permissions note what these credentials may change cannot be asked here: see their role assignments in Azure";
  const UNPINNED = "rotation warning the URI names no version, so a restart after a rotation signs with another key";
  const PINNED = `azurekms:///${HOST}/keys/op/${VERSION}`;

  test("asks for the version, the policy, and three lists", async () => {
    fake.backend = (name) => (name === "claims" ? {} : { status: 404, json: {} });
    expect(await examined(AZURE_KEY_VAULT, { uri: PINNED })).toEqual([
      "key note not examined: the vault says 404",
      "rotation note the rotation policy was not examined: the vault says 404",
      LAST,
    ]);
    expect(fake.opened).toEqual([HOST]);
    expect(fake.calls.map(([name]) => name)).toEqual([
      `GET /keys/op/${VERSION}`,
      "GET /keys/op/rotationpolicy",
      "GET /keys?maxresults=1",
      "GET /secrets?maxresults=1",
      "GET /certificates?maxresults=1",
      "claims",
    ]);
    expect(fake.closed).toBe(1);
  });

  test.each<[allowed: readonly string[], findings: readonly string[]]>([
    [
      ["keys"],
      ["permissions note these credentials may read all keys of the vault: assign their role for this key alone"],
    ],
    [["secrets"], ["permissions warning these credentials may also list the secrets of the vault"]],
    [
      ["secrets", "certificates"],
      ["permissions warning these credentials may also list the secrets and certificates of the vault"],
    ],
  ])("says what else may be listed: %j", async (allowed, findings) => {
    fake.backend = (name) => {
      if (name === "claims") return { scp: "user" };
      if (name.endsWith(VERSION)) return { status: 200, json: GOOD };
      if (name.endsWith("rotationpolicy")) return policy();
      return { status: allowed.some((list) => name.includes(`/${list}?`)) ? 200 : 403 };
    };
    expect(await examined(AZURE_KEY_VAULT, { uri: `azurekms:///${HOST}/keys/op`, opened: PINNED })).toEqual([
      "key ok not exportable, no release policy",
      "key ok signs only",
      "key ok in an HSM of the vault",
      DELETED,
      "rotation ok no policy makes new versions",
      UNPINNED,
      ...findings,
      "permissions note these are credentials of a person, and not those of the OP",
      LAST,
    ]);
  });

  test("knows a Managed HSM by its host, and how long a version still lasts", async () => {
    vi.spyOn(Date, "now").mockReturnValue(10 * DAY);
    onTestFinished(() => void vi.restoreAllMocks());
    const uri = PINNED.replace("vault.azure", "managedhsm.azure");
    fake.backend = (name) =>
      name === "claims" ? {} : { status: 200, json: { key: { kty: "EC" }, attributes: { exp: 40 * 86_400 } } };
    const findings = await examined(AZURE_KEY_VAULT, { uri });
    expect(findings[2]).toBe("key ok in a Managed HSM");
    expect(findings[3]).toMatch(/^key warning the vault refuses to sign with it from 1970-02-10T00:00:00.000Z/);
  });

  test("says what it needs, and has a clock", async () => {
    fake.backend = undefined;
    const needs = ["key note not examined: this needs a credential, or @azure/identity"];
    expect(await examined(AZURE_KEY_VAULT, { uri: PINNED })).toEqual(needs);
    fake.backend = () => undefined;
    expect(await examined(AZURE_KEY_VAULT, { uri: "azurekms:op" })).toEqual(needs);
    expect(clockUrl(AZURE_KEY_VAULT, { uri: PINNED })).toBe(`https://${HOST}/`);
  });
});

describe("Google Cloud KMS", () => {
  const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k";
  const NAME = `${KEY}/cryptoKeyVersions/1`;
  const ONE = "rotation ok the URI names one version, and Google makes no new versions of a key that signs";
  const FINE = "permissions ok these credentials may do nothing more than signing needs";
  const ANSWERS: Readonly<Record<string, unknown>> = {
    getCryptoKeyVersion: [{ protectionLevel: "HSM" }],
    getCryptoKey: [{ destroyScheduledDuration: { seconds: "2592000" } }],
    testIamPermissions: [{ permissions: [] }],
    getIamPolicy: [{ bindings: [] }],
  };
  const answering =
    (changed: object): Backend =>
    (name) =>
      ({ ...ANSWERS, ...changed })[name];

  test("asks four things of the version and its key", async () => {
    fake.backend = answering({});
    expect(await examined(GCP_KMS, { uri: `gcpkms://${NAME}` })).toEqual(["key ok protection level HSM", ONE, FINE]);
    const limit = { timeout: 5000 };
    expect(fake.calls).toEqual([
      ["getCryptoKeyVersion", { name: NAME }, limit],
      ["getCryptoKey", { name: KEY }, limit],
      [
        "testIamPermissions",
        {
          resource: KEY,
          permissions: [
            "cloudkms.cryptoKeyVersions.destroy",
            "cloudkms.cryptoKeyVersions.update",
            "cloudkms.cryptoKeyVersions.create",
            "cloudkms.cryptoKeys.update",
            "cloudkms.cryptoKeys.setIamPolicy",
          ],
        },
        limit,
      ],
      ["getIamPolicy", { resource: KEY }, limit],
    ]);
    expect(fake.closed).toBe(1);
  });

  const DAY = 86_400;
  test.each<[what: string, changed: object, findings: readonly string[]]>([
    [
      "nothing",
      Object.fromEntries(Object.keys(ANSWERS).map((name) => [name, new Error("PERMISSION_DENIED")])),
      [
        "key note not examined: these credentials may not read the version",
        ONE,
        "permissions note not examined: testIamPermissions was refused",
      ],
    ],
    [
      "an import",
      { getCryptoKeyVersion: [{ importTime: {} }] },
      ["key warning its material was imported, so a copy exists elsewhere", ONE, FINE],
    ],
    [
      "no import, by number",
      { getCryptoKeyVersion: [{ importTime: null, protectionLevel: 2 }] },
      ["key ok protection level HSM", ONE, FINE],
    ],
    [
      "an external key",
      { getCryptoKeyVersion: [{ protectionLevel: "EXTERNAL_VPC" }] },
      ["key ok protection level EXTERNAL_VPC", ONE, FINE],
    ],
    [
      "software",
      { getCryptoKeyVersion: [{ protectionLevel: "SOFTWARE" }] },
      ["key note protection level SOFTWARE, without an HSM", ONE, FINE],
    ],
    ["no duration", { getCryptoKey: [{}] }, ["key ok protection level HSM", ONE, FINE]],
    [
      "seven days",
      { getCryptoKey: [{ destroyScheduledDuration: { seconds: 7 * DAY } }] },
      ["key ok protection level HSM", ONE, FINE],
    ],
    [
      "less than seven days",
      { getCryptoKey: [{ destroyScheduledDuration: { seconds: 7 * DAY - 1 } }] },
      ["key ok protection level HSM", "key warning a destroyed version is gone after 7 days", ONE, FINE],
    ],
    [
      "all that is too much",
      {
        testIamPermissions: [
          {
            permissions: [
              "cloudkms.cryptoKeyVersions.destroy",
              "cloudkms.cryptoKeyVersions.update",
              "cloudkms.cryptoKeyVersions.create",
              "cloudkms.cryptoKeys.update",
              "cloudkms.cryptoKeys.setIamPolicy",
              "cloudkms.cryptoKeys.get",
            ],
          },
        ],
      },
      [
        "key ok protection level HSM",
        ONE,
        "permissions warning these credentials may also destroy the version, disable the version, make new versions, change the key, give permissions to others",
      ],
    ],
    ["no permissions", { testIamPermissions: [{}] }, ["key ok protection level HSM", ONE, FINE]],
    ...["allUsers", "allAuthenticatedUsers"].map((member): [string, object, readonly string[]] => [
      member,
      { getIamPolicy: [{ bindings: [{ members: null }, { members: ["user:a@b", member] }] }] },
      ["key ok protection level HSM", ONE, FINE, "permissions problem the policy of the key gives a role to everyone"],
    ]),
    ["no bindings", { getIamPolicy: [{}] }, ["key ok protection level HSM", ONE, FINE]],
    [
      "one user",
      { getIamPolicy: [{ bindings: [{ members: ["user:a@b"] }] }] },
      ["key ok protection level HSM", ONE, FINE],
    ],
  ])("says of %s", async (_what, changed, findings) => {
    fake.backend = answering(changed);
    expect(await examined(GCP_KMS, { uri: `gcpkms://${NAME}` })).toEqual(findings);
  });

  test("takes the key of a name only at its end", async () => {
    const asked: unknown[] = [];
    const record = async (request: object): Promise<never> => {
      asked.push(request);
      throw new Error("no");
    };
    const client = {
      getCryptoKeyVersion: record,
      getCryptoKey: record,
      testIamPermissions: record,
      getIamPolicy: record,
    };
    await examineVersion(client as never, "a/cryptoKeyVersions/1/cryptoKeyVersions/2");
    expect(asked[1]).toEqual({ name: "a/cryptoKeyVersions/1" });
  });

  test("says what it needs, and has the clock of Google alone", async () => {
    fake.backend = undefined;
    expect(await examined(GCP_KMS, { uri: `gcpkms://${NAME}` })).toEqual([
      "key note not examined: this needs @google-cloud/kms",
    ]);
    expect(clockUrl(GCP_KMS, { uri: NAME })).toBe("https://cloudkms.googleapis.com/");
    expect(clockUrl(GCP_KMS, { uri: NAME, options: { endpoint: "http://localhost:1" } })).toBeUndefined();
  });
});

describe("Vault", () => {
  const SAFE = "key ok not exportable";
  const FIXED = "rotation ok the engine makes no new versions by itself";
  test.each<[data: object, version: string | undefined, findings: readonly string[]]>([
    [{ latest_version: 1 }, "1", [SAFE, FIXED]],
    [{ latest_version: 2 }, "1", [SAFE, FIXED, "rotation note the engine has 1 newer version"]],
    [{ latest_version: 3 }, "1", [SAFE, FIXED, "rotation note the engine has 2 newer versions"]],
    [{ latest_version: 3 }, undefined, [SAFE, FIXED]],
    [
      { exportable: true, allow_plaintext_backup: true, deletion_allowed: true, auto_rotate_period: 5400 },
      "1",
      [
        "key problem the key is exportable: its private half can leave the server",
        "key problem plaintext backups are allowed, and contain the private key",
        "key warning the key may be deleted",
        "rotation warning the engine makes a new version every 2 h",
      ],
    ],
    [
      { exportable: false, allow_plaintext_backup: false, deletion_allowed: false, auto_rotate_period: 1 },
      "1",
      [SAFE, "rotation warning the engine makes a new version every 0 h"],
    ],
  ])("says of %j, version %s", (data, version, findings) => {
    expect(keyFindings({ ...data }, version).map(shown)).toEqual(findings);
  });

  const PATHS = {
    "transit/keys/op": "change or delete the key",
    "transit/keys/op/config": "change its configuration",
    "transit/keys/op/rotate": "make new versions",
    "transit/export/signing-key/op": "export it",
    "transit/backup/op": "make a backup of it",
    "sys/policies/acl/signpost-doctor": "change policies",
  };
  const URI = "vault:///transit/keys/op?version=1";
  const answering =
    (capabilities: object, data: object | undefined = { latest_version: 1 }): Backend =>
    (name) =>
      name.startsWith("GET")
        ? { status: data === undefined ? 403 : 200, json: { data } }
        : { status: 200, json: { data: capabilities } };
  const FINE = "permissions ok the token may do nothing more than signing needs";

  test("asks for the key, and for what the token may do", async () => {
    fake.backend = answering({});
    expect(await examined(VAULT, { uri: URI, options: { address: "https://v" } })).toEqual([SAFE, FIXED, FINE]);
    expect(fake.opened).toEqual([{ address: "https://v" }]);
    expect(fake.calls).toEqual([
      ["GET transit/keys/op", undefined],
      ["POST sys/capabilities-self", { paths: Object.keys(PATHS) }],
    ]);
    expect(fake.closed).toBe(1);
  });

  test.each(
    ["root", "sudo", "create", "update", "delete", "patch"].flatMap((capability) =>
      Object.entries(PATHS).map(([path, words]) => [capability, path, words] as const),
    ),
  )("%s at %s is too much", async (capability, path, words) => {
    fake.backend = answering({ [path]: ["list", capability] });
    expect((await examined(VAULT, { uri: URI })).at(-1)).toBe(`permissions warning the token may also ${words}`);
  });

  test.each(Object.entries(PATHS))("to read %s is too much only where that exports", async (path, words) => {
    fake.backend = answering({ [path]: ["read"] });
    const isExport = /export|backup/.test(path);
    expect((await examined(VAULT, { uri: URI })).at(-1)).toBe(
      isExport ? `permissions warning the token may also ${words}` : FINE,
    );
  });

  test.each<[what: string, capabilities: object, finding: string]>([
    [
      "several",
      { "transit/keys/op": ["update"], "transit/backup/op": ["read"] },
      "permissions warning the token may also change or delete the key, make a backup of it",
    ],
    ["no list", { "transit/keys/op": "root" }, FINE],
  ])("capabilities are told together: %s", async (_what, capabilities, finding) => {
    fake.backend = answering(capabilities);
    const [warning] = (await VAULT.examine(...subjectOf({ uri: URI }))).slice(-1);
    expect(warning === undefined ? "" : shown(warning)).toBe(finding);
    if (warning?.level !== "warning") return;
    expect(warning.todo).toBe(
      "Give it a policy with read on transit/keys/op and update on transit/sign/op/sha2-256 only",
    );
  });

  test("says what it may not ask, what it needs, and that a version is missing", async () => {
    fake.backend = () => ({ status: 403, json: {} });
    expect(await examined(VAULT, { uri: "vault:///transit/keys/op", opened: URI })).toEqual([
      "key note not examined: the token may not read the key",
      "rotation warning the URI names no version, so a restart after a rotation signs with another key",
      "permissions note not examined: the token may not ask for its capabilities",
    ]);
    const needs = ["key note not examined: this needs a token in VAULT_TOKEN, in the options, or in a file"];
    expect(await examined(VAULT, { uri: URI, opened: "vault:op" })).toEqual(needs);
    fake.backend = undefined;
    expect(await examined(VAULT, { uri: URI })).toEqual(needs);
    expect(clockUrl(VAULT, { uri: URI, env: { VAULT_ADDR: "https://v.example" } })).toBe("https://v.example");
  });
});

describe("PKCS#11", () => {
  const STATE = {
    label: "op",
    model: "m",
    loginRequired: true,
    pinCountLow: false,
    pinFinalTry: false,
    pinLocked: false,
    pinToBeChanged: false,
  };
  const URI = "pkcs11:token=op?module-path=/m.so";
  const QUIET = "token ok no wrong PIN since the last login";
  test.each<[flags: object, findings: readonly string[]]>([
    [{}, [QUIET]],
    [{ pinCountLow: true }, ["token warning a wrong PIN was given since the last login"]],
    [{ pinLocked: true, pinFinalTry: true }, ["token problem the PIN is locked"]],
    [{ pinFinalTry: true }, ["token problem one wrong PIN from now locks the token, so no login was tried"]],
    [
      { pinToBeChanged: true, loginRequired: false },
      [QUIET, "token warning the PIN must be changed", "token warning the token needs no login"],
    ],
  ])("says before a login of %j", async (flags, findings) => {
    expect(tokenFindings({ ...STATE, ...flags }).map(shown)).toEqual(findings);
    fake.backend = () => ({ ...STATE, ...flags });
    const [subject] = subjectOf({ uri: URI });
    expect((await PKCS11.before?.(subject))?.map(shown)).toEqual(findings);
    expect(fake.calls).toEqual([["module", undefined, { task: "token" }]]);
  });

  test("has nothing to say before a login without the module", async () => {
    fake.backend = undefined;
    expect(await PKCS11.before?.(subjectOf({ uri: URI })[0])).toEqual([]);
  });

  const SAFE = "key ok sensitive and not extractable";
  const SIGNS = "key ok signs only";
  test.each<[key: object, findings: readonly string[]]>([
    [{}, [SAFE, SIGNS]],
    [{ CKA_EXTRACTABLE: false, CKA_SENSITIVE: true, CKA_LOCAL: true, CKA_ALWAYS_AUTHENTICATE: false }, [SAFE, SIGNS]],
    [{ CKA_EXTRACTABLE: true }, ["key problem extractable: its private half can leave the token", SIGNS]],
    [{ CKA_SENSITIVE: false }, ["key problem not sensitive: its private half can be read", SIGNS]],
    [{ CKA_NEVER_EXTRACTABLE: false }, ["key warning not extractable now, but it was, or it was readable", SIGNS]],
    [{ CKA_ALWAYS_SENSITIVE: false }, ["key warning not extractable now, but it was, or it was readable", SIGNS]],
    [{ CKA_LOCAL: false }, [SAFE, "key warning made outside of the token and imported, so a copy may exist", SIGNS]],
    [
      { CKA_DECRYPT: true, CKA_UNWRAP: true, CKA_DERIVE: true },
      [SAFE, "key warning may be used for more than signatures: CKA_DECRYPT, CKA_UNWRAP, CKA_DERIVE"],
    ],
    [{ CKA_ALWAYS_AUTHENTICATE: true }, [SAFE, SIGNS, "key note always-authenticate: each signature logs in again"]],
  ])("says of the attributes %j", (key, findings) => {
    expect(attributeFindings(key as never).map(shown)).toEqual(findings);
  });

  test("reads the attributes of the opened key with the PIN", async () => {
    fake.backend = () => ({});
    expect(await examined(PKCS11, { uri: URI, opened: "pkcs11:object=sig", pin: "1234" })).toEqual([SAFE, SIGNS]);
    expect(fake.calls).toEqual([["module", "736967", { task: "attributes", pin: "1234" }]]);
  });

  test("needs the module and the PIN", async () => {
    const needs = ["key note attributes not examined: this needs the module and the PIN"];
    expect(await examined(PKCS11, { uri: URI })).toEqual(needs);
    fake.backend = undefined;
    expect(await examined(PKCS11, { uri: URI, pin: "1234" })).toEqual(needs);
    expect(fake.calls).toEqual([]);
  });
});
