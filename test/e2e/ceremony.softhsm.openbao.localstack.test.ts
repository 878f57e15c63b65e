import { createPublicKey } from "node:crypto";
import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLocalstack } from "@signpost/test-backends/localstack";
import { startOpenbao } from "@signpost/test-backends/openbao";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

// The commands of docs/key-ceremony.md, and those of docs/incidents.md for a stolen key, typed into a shell as they stand. Only the
// URI of the key and its kid are others.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

interface Place {
  /** The URI that a person types to make the key. */
  readonly uri: string;
  readonly administrator: NodeJS.ProcessEnv;
  readonly op: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

const PLACES: Readonly<Record<string, (folder: string) => Promise<Place>>> = {
  "AWS KMS": async () => {
    const kms = await startLocalstack();
    const { accessKeyId, secretAccessKey } = kms.credentials;
    const env = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
    const uri = `awskms://${new URL(kms.endpoint).host}/alias/op-2027?region=${kms.region}`;
    return { uri, administrator: env, op: env, stop: () => kms.stop() };
  },
  OpenBao: async () => {
    const server = await startOpenbao();
    // The policy of the guide, for the name of this key.
    const guide = await readFile(join(ROOT, "docs/vault-transit.md"), "utf8");
    const [, rules = ""] = /```hcl\n([\s\S]*?)```/.exec(guide) ?? [];
    const policy = rules.replaceAll(/\/op\b/g, "/op-2027");
    await server.must("PUT", "sys/policies/acl/op", { policy });
    const { client_token: token } = await server.must("POST", "auth/token/create", { policies: ["op"] });
    return {
      uri: "vault:///transit/keys/op-2027",
      administrator: { VAULT_ADDR: server.address, VAULT_TOKEN: server.token },
      op: { VAULT_ADDR: server.address, VAULT_TOKEN: String(token) },
      stop: () => server.stop(),
    };
  },
  SoftHSM: async (folder) => {
    const hsm = await startSoftHsm();
    const pin = join(folder, "pin");
    await writeFile(pin, hsm.pin, { mode: 0o600 });
    const env = { SOFTHSM2_CONF: hsm.conf };
    const uri = `pkcs11:token=${hsm.tokenLabel};object=op-2027?module-path=${hsm.module}&pin-source=file:${pin}`;
    return { uri, administrator: env, op: env, stop: () => hsm.stop() };
  },
};

const page = await readFile(join(ROOT, "docs/key-ceremony.md"), "utf8");
const incidents = await readFile(join(ROOT, "docs/incidents.md"), "utf8");
const announcing = await readFile(join(ROOT, "docs/cli-rotate.md"), "utf8");

/** The command of a page that begins with these words. */
function commandIn(text: string, beginning: string): string {
  const start = text.indexOf(beginning);
  const [line = ""] = start === -1 ? [] : text.slice(start).split(/[`\n]/, 1);
  return line;
}

/** The command of a step, as the page has it. */
function commandOf(step: number): string {
  const row = page.split("\n").find((line) => line.startsWith(`| ${step} | `)) ?? "";
  return /`(signpost [^`]+)`/.exec(row)?.[1] ?? "";
}

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

describe.each(Object.keys(PLACES))("a key ceremony over %s", { timeout: 300_000 }, (name) => {
  let folder: string;
  let place: Place;
  let signer: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signpost-ceremony-"));
    await mkdir(join(folder, "bin"));
    const bin = join(folder, "bin/signpost");
    await writeFile(bin, `#!/bin/sh\nexec "${process.execPath}" "${ROOT}packages/cli/dist/bin.js" "$@"\n`);
    await chmod(bin, 0o755);
    const start = PLACES[name];
    if (start === undefined) throw new Error(name);
    place = await start(folder);
  }, 300_000);
  afterAll(async () => {
    await place.stop();
    await rm(folder, { recursive: true });
  });

  /** Types a line, with the URI in place of the one in quotes. */
  function type(line: string, uri: string, as: NodeJS.ProcessEnv): Promise<Ended> {
    const words = line.replace(/'[^']*'/, `'${uri}'`);
    const path = `${join(folder, "bin")}${delimiter}${process.env["PATH"] ?? ""}`;
    const env = { ...process.env, NODE_NO_WARNINGS: "1", ...as, PATH: path };
    return new Promise((done) => {
      execFile("sh", ["-c", words], { cwd: folder, env }, (error, stdout, stderr) =>
        done({ code: error === null ? 0 : error.code, stdout, stderr }),
      );
    });
  }
  const written = async (file: string): Promise<string> => readFile(join(folder, file), "utf8");

  test("step 2 makes the key, shows that it signs, and makes it once", async () => {
    const { code, stdout, stderr } = await type(commandOf(2), place.uri, place.administrator);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("signed and verified a probe") });
    const entry = JSON.parse(stdout) as { readonly keyId: string; readonly signer: string };
    expect(entry.keyId).toBe("sig-2027");
    signer = entry.signer;
    expect((await type(commandOf(2), place.uri, place.administrator)).code).toBe(2);
  });

  test("step 4 shows no problem and no warning to the OP", async () => {
    const { code, stdout } = await type(commandOf(4), signer, place.op);
    const [{ findings }] = (JSON.parse(await written("doctor.json")) as { keys: [{ findings: Finding[] }] }).keys;
    const bad = findings.filter(({ level }) => level !== "ok" && level !== "note");
    expect(bad.map(({ check, level, text }) => `${check} ${level} ${text}`)).toEqual([]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });

  test("steps 5 and 7 show the same public key, in kid.json and in the request", async () => {
    expect(await type(commandOf(5), signer, place.op)).toMatchObject({ code: 0 });
    const { publicKey } = JSON.parse(await written("kid.json")) as { publicKey: Record<string, string> };
    expect(await type(commandOf(7), signer, place.op)).toMatchObject({ code: 0 });
    const csr = await written("op.csr");
    const spki = createPublicKey({ key: publicKey, format: "jwk" }).export({ format: "der", type: "spki" });
    expect(Buffer.from(csr.replaceAll(/-----[^-]+-----|\s/g, ""), "base64").includes(spki)).toBe(true);
  });

  test("the key is announced, and signs at once when the key before it is stolen", async () => {
    expect(await type("signpost keygen 'local:'", "local:stolen.pem", place.administrator)).toMatchObject({ code: 0 });
    const stolen = { keyId: "stolen", signer: "local:stolen.pem", activeFrom: "2026-01-01T06:00:00Z" };
    const entries = [{ announcedFrom: "2026-01-01T00:00:00Z", ...stolen }];
    const config = { issuer: "https://op.example", keys: { maxTokenLifetimeSeconds: 3600, entries } };
    await writeFile(join(folder, "signpost.config.json"), JSON.stringify(config, null, 2));
    await copyFile(join(folder, "signpost.config.json"), join(folder, "in-use.json"));

    const announce = commandIn(announcing, "signpost rotate announce --signer");
    expect(await type(`${announce} --yes`, signer, place.op)).toMatchObject({ code: 0 });
    const validate = commandIn(incidents, "signpost rotate validate");
    expect(await type(validate, signer, place.op)).toMatchObject({ code: 0 });
    const emergency = commandIn(incidents, "signpost rotate emergency KID").replace("KID", "stolen");
    const said = await type(`${emergency} --json`, signer, place.op);
    expect({ code: said.code, ...(JSON.parse(said.stdout) as object) }).toMatchObject({
      code: 0,
      written: false,
      withdrawn: "stolen",
      signs: "sig-2027",
    });
    const doctor = commandIn(incidents, "signpost doctor --samples 0");
    expect((await type(doctor, signer, place.op)).stdout).toContain("sig-2027");
  });
});

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly text: string;
}
