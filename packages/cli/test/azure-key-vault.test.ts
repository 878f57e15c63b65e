import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { calculateJwkThumbprint, importJWK, jwtVerify, type JWK } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Finding } from "../src/doctor/finding.ts";
import { directoryRoles, rotationFinding, versionFindings } from "../src/doctor/azure-key-vault.ts";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

let vault: FakeAzureKeyVault;
let folder: KeyFolder;
let uri: string;

beforeAll(async () => {
  [vault, folder] = await Promise.all([startFakeAzureKeyVault(), createKeyFolder()]);
  uri = `azurekms:///127.0.0.1:${vault.port}/keys/op`;
  const token = await vault.entra.credential.getToken(["https://127.0.0.1/.default"]);
  const config = `export default {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-2026", signer: ${JSON.stringify(uri)} }],
    adapters: {
      azurekms: {
        credential: () => ${JSON.stringify(token?.token)},
        tls: { caFile: ${JSON.stringify(vault.caFile)} },
      },
    },
  };`;
  await writeFile(join(folder.path, "signpost.config.mjs"), config);
});
afterAll(async () => {
  await vault.stop();
  await folder[Symbol.asyncDispose]();
});

const cli = (args: readonly string[], stdin = ""): Promise<CliResult> => runCli(args, { cwd: folder.path, stdin });

test("jwks prints the key set of a key in Azure Key Vault", async () => {
  const { code, stdout, stderr } = await cli(["jwks"]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(JSON.parse(stdout).keys).toEqual([expect.objectContaining({ kid: "sig-2026", alg: "ES256" })]);
});

test("kid prints its thumbprint, and the version that the URI resolved to", async () => {
  const { code, stdout } = await cli(["kid", uri, "--config", "signpost.config.mjs", "--json"]);
  const [key] = JSON.parse((await cli(["jwks"])).stdout).keys as JWK[];
  expect(code).toBe(0);
  expect(stdout).toContain(await calculateJwkThumbprint(key ?? {}));
  expect(stdout).toContain(vault.key.latest.version);
});

test("sign makes a token that verifies with the published key", async () => {
  const { stdout } = await cli(["sign"], JSON.stringify({ sub: "u" }));
  const [key] = JSON.parse((await cli(["jwks"])).stdout).keys as JWK[];
  const { payload, protectedHeader } = await jwtVerify(stdout.trim(), await importJWK(key ?? {}, "ES256"));
  expect(payload["sub"]).toBe("u");
  expect(protectedHeader.kid).toBe("sig-2026");
});

test("doctor signs a probe, and says which key is not found", async () => {
  const found = await cli(["doctor", "--samples", "0", "--json"]);
  expect(JSON.parse(found.stdout).keys[0].findings).toEqual(
    expect.arrayContaining([expect.objectContaining({ check: "probe", level: "ok" })]),
  );
  const gone = await cli(["doctor", `${uri}-gone`, "--config", "signpost.config.mjs", "--samples", "0"]);
  expect(gone.code).toBe(1);
  expect(gone.stdout + gone.stderr).toContain("op-gone");
});

test("bench measures the key against bare HTTP calls, which sign no token either", async () => {
  vault.forgetRequests();
  const flags = ["--raw", "--calls", "5", "--concurrency", "1,2", "--json", "--yes", "--config", "signpost.config.mjs"];
  const { code, stdout, stderr } = await cli(["bench", uri, ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "Azure Key Vault bills up to 28 calls\n" });
  expectMeasured(stdout, { name: "bare HTTP", calls: 5 });
  // One to read the key, and what was said; a challenge has no token and costs nothing.
  expect(vault.requests.filter(({ token }) => token !== undefined)).toHaveLength(28);
});

const CONFIG = ["--config", "signpost.config.mjs"];
/** For further cases: the first tests run the built program. */
const app = (args: readonly string[]): Promise<CliResult> => runApp(args, { cwd: folder.path });
const key = (name: string): string => `azurekms:///127.0.0.1:${vault.port}/keys/${name}`;

describe("keygen", () => {
  afterEach(() => {
    vault.management.mayCreate = false;
    vault.management.hasHsm = true;
  });

  test("makes a key that only signs and cannot be exported, and another version only if told", async () => {
    vault.management.mayCreate = true;
    vault.forgetRequests();
    const first = await app(["keygen", key("made"), "--key-id", "sig-1", ...CONFIG]);
    expect(first.code).toBe(0);
    const { signer } = JSON.parse(first.stdout);
    expect(signer).toMatch(new RegExp(`^${key("made")}/[0-9a-f]{32}$`));
    const created = vault.requests.find(({ path }) => path.endsWith("/create"));
    expect(JSON.parse(created?.body ?? "")).toEqual({
      kty: "EC-HSM",
      crv: "P-256",
      key_ops: ["sign"],
      attributes: { enabled: true },
    });
    // The service would make a new version.
    const again = await app(["keygen", key("made"), ...CONFIG]);
    expect(again).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("The key made exists, and is not replaced"),
    });
    const second = await app(["keygen", key("made"), "--new-version", "--protection", "software", ...CONFIG]);
    expect(second.code).toBe(0);
    expect(JSON.parse(second.stdout).signer).not.toBe(signer);
    expect(vault.requests.filter(({ path }) => path.endsWith("/create"))).toHaveLength(2);
    expect(vault.requests.at(-1)?.path).toMatch(/sign$/);
  });

  test("a deleted key keeps its name, and makes no version of a key that is not there", async () => {
    vault.management.mayCreate = true;
    vault.addKey("deleted").softDeleted = true;
    expect(await app(["keygen", key("deleted"), ...CONFIG])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("A deleted key of this name exists"),
    });
    expect(await app(["keygen", key("away"), "--new-version", ...CONFIG])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no key away"),
    });
  });

  test("says that a key may have been made whose answer a proxy lost", async () => {
    const away = { status: 404, body: JSON.stringify({ error: { code: "KeyNotFound" } }) };
    // For the adapter, and then for the command.
    vault.replyNext(away, 2);
    vault.replyNext({ status: 502, body: "" });
    expect(await app(["keygen", key("lost"), ...CONFIG])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("The key may have been made: look in the backend before you try again"),
    });
    expect(vault.requests.at(-1)?.path).toContain("/create");
  });

  test.each([
    ["RSA", { kty: "RSA", crv: "" }],
    ["on another curve", { kty: "EC", crv: "P-384" }],
  ])("makes no version of a key that is %s, whose users would get it", async (_what, settings) => {
    vault.management.mayCreate = true;
    vault.addKey("other", settings);
    vault.forgetRequests();
    expect(await app(["keygen", key("other"), "--new-version", ...CONFIG])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("A key other that is not EC on P-256 exists, and is not replaced"),
    });
    expect(vault.requests.filter(({ path }) => path.endsWith("/create"))).toEqual([]);
  });

  test("says what the vault refuses, and what a vault without an HSM needs", async () => {
    expect(await app(["keygen", key("denied"), ...CONFIG])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("the vault answered 403 Forbidden ForbiddenByRbac"),
    });
    Object.assign(vault.management, { mayCreate: true, hasHsm: false });
    expect(await app(["keygen", key("standard"), ...CONFIG])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("see --protection software"),
    });
  });
});

test("bench counts failures by their code, gives up when nothing else comes, and prints what it has", async () => {
  const { attributes } = vault.key.latest;
  let reads = 0;
  Object.defineProperty(attributes, "enabled", { get: () => (reads += 1) <= 20, enumerable: true, configurable: true });
  const flags = ["--calls", "1000", "--concurrency", "1", "--yes", "--json"];
  const { code, stdout } = await app(["bench", key("op"), ...flags, ...CONFIG]);
  Object.defineProperty(attributes, "enabled", { value: true, writable: true, enumerable: true });
  const report = JSON.parse(stdout);
  expect(code).toBe(1);
  expect(report.ok).toBe(false);
  expect(report.levels).toEqual([expect.objectContaining({ concurrency: 1, gaveUp: true })]);
  expect(report.levels[0].signpost).toMatchObject({ failures: 20, errors: { key_disabled: 20 } });
  expect(report.levels[0].signpost.signatures).toBeGreaterThan(5);
});

describe("doctor", () => {
  afterEach(() => {
    vault.management.listed.clear();
    vault.management.rotationPolicy = undefined;
  });

  async function findings(
    uriOfKey: string,
  ): Promise<{ readonly code: number | null; readonly found: readonly string[] }> {
    const { code, stdout } = await app(["doctor", uriOfKey, "--samples", "0", "--json", ...CONFIG]);
    const [{ findings: all }] = JSON.parse(stdout).keys;
    return { code, found: all.map(({ check, level, text }: Finding) => `${check} ${level} ${text}`) };
  }

  test("has nothing to do for a pinned version that only signs, with credentials that only sign", async () => {
    vault.management.rotationPolicy = { lifetimeActions: [{ action: { type: "Notify" } }] };
    const { code, found } = await findings(`${uri}/${vault.key.latest.version}`);
    expect(code).toBe(0);
    expect(found).toEqual([
      expect.stringMatching(/^open ok/),
      "probe ok signs, and the signature verifies with the public key",
      expect.stringMatching(/^clock note/),
      "key ok not exportable, no release policy",
      "key ok signs only",
      "key ok in an HSM of the vault",
      "key ok a deleted key can be recovered for 90 days, and not purged",
      "rotation ok no policy makes new versions",
      "permissions note what these credentials may change cannot be asked here: see their role assignments in Azure",
    ]);
  });

  test("finds what may surprise, and what these credentials may see", async () => {
    const exp = Math.floor(Date.now() / 1000) + 86_400;
    const attributes = { exportable: true, recoveryLevel: "Recoverable+Purgeable", exp };
    const loose = vault.addKey("loose", { kty: "EC", keyOps: ["sign", "verify", "import"], attributes });
    loose.latest.others = { release_policy: { data: "" }, managed: true };
    vault.management.rotationPolicy = {
      lifetimeActions: [{ trigger: { timeAfterCreate: "P90D" }, action: { type: "rotate" } }],
    };
    for (const list of ["keys", "secrets", "certificates"] as const) vault.management.listed.add(list);
    const { code, found } = await findings(key("loose"));
    expect(code).toBe(1);
    expect(found).toEqual(
      expect.arrayContaining([
        "key problem exportable: its release policy lets its private half leave the vault",
        expect.stringMatching(/^key warning belongs to a certificate/),
        "key warning may be used for more than signatures: import",
        "key note a software key of the vault, without an HSM",
        expect.stringMatching(/^key warning the vault refuses to sign with it from /),
        "key warning no purge protection: two calls delete the key for good",
        "rotation warning a rotation policy makes a new version P90D after each version",
        expect.stringMatching(/^rotation warning the URI names no version/),
        "permissions warning these credentials may also list the secrets and certificates of the vault",
        expect.stringMatching(/^permissions note these credentials may read all keys/),
      ]),
    );
  });

  test("what the service refuses is no finding against the key", () => {
    expect(rotationFinding({ status: 403, headers: {}, json: { error: { code: "Forbidden" } } })).toMatchObject({
      level: "note",
      text: expect.stringContaining("403 Forbidden"),
    });
    // The message of the service is never shown: it names callers and addresses.
    const json = { error: { code: "Forbidden", message: "appid=secret" } };
    expect(rotationFinding({ status: 403, headers: {}, json }).text).not.toContain("secret");
  });

  test("a key in a Managed HSM, an expiry that is far, and a vault without soft delete", () => {
    const attributes = { recoveryLevel: "Purgeable", exp: 2_000_000_000 };
    const bundle = { key: { kty: "EC-HSM", key_ops: ["sign"] }, attributes };
    expect(versionFindings(bundle, true, 0).map(({ level, text }) => `${level} ${text}`)).toEqual([
      "ok not exportable, no release policy",
      "ok signs only",
      "ok in a Managed HSM",
      "note the vault refuses to sign with it from 2033-05-18T03:33:20.000Z (exp)",
      "problem no soft delete: one call deletes the key for good",
    ]);
  });

  test("what the vault does not say is no verdict", () => {
    const [levelOf, last] = [
      ({ level }: Finding) => level,
      (attributes: object, isHsmPool = false) =>
        versionFindings({ key: { kty: "EC" }, attributes }, isHsmPool, 0).at(-1),
    ];
    expect(last({})).toMatchObject({ level: "note", text: expect.stringContaining("does not say") });
    // Later than any date.
    const far = versionFindings(
      { key: { kty: "EC" }, attributes: { recoveryLevel: "Recoverable", exp: 1e14 } },
      false,
      0,
    );
    expect(far.map(levelOf)).toEqual(["ok", "ok", "note", "ok"]);
    expect(last({ recoveryLevel: "Recoverable+Purgeable" }, true)?.todo).toContain("az keyvault update-hsm");
    expect(last({ recoveryLevel: "Recoverable+Purgeable" })?.todo).toContain("az keyvault update --");
  });

  test("roles in the directory and credentials of a person show in the token", () => {
    const none = "b79fbf4d-3ef9-4689-8143-76b194e85509";
    expect(directoryRoles({ wids: [none] })).toEqual([]);
    expect(directoryRoles({ wids: ["62e90394-69f5-4237-9190-012177145e10", none] })).toEqual([
      expect.objectContaining({ level: "warning", text: expect.stringContaining("a role in the directory") }),
    ]);
    expect(directoryRoles({ scp: "user_impersonation" })).toEqual([expect.objectContaining({ level: "note" })]);
  });
});
