import { readFile } from "node:fs/promises";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { startOpenbao, type Openbao } from "@signpost/test-backends/openbao";
import { startOp, type RunningOp } from "../src/op.ts";
import { readSettings } from "../src/settings.ts";

const HOUR_MS = 3_600_000;
let server: Openbao;
let op: RunningOp;
let base: string;
let ahead = 0;

const settings = (more: NodeJS.ProcessEnv = {}): ReturnType<typeof readSettings> =>
  readSettings({ ISSUER: "https://op.example", PORT: "0", ...more });

beforeAll(async () => {
  server = await startOpenbao();
  await server.must("POST", "transit/keys/op", { type: "ecdsa-p256" });
  const policy = await readFile(new URL("../policy.hcl", import.meta.url), "utf8");
  await server.must("PUT", "sys/policies/acl/op", { policy });
  const { client_token: token } = await server.must("POST", "auth/token/create", { policies: ["op"], period: "1h" });
  vi.stubEnv("VAULT_ADDR", server.address);
  vi.stubEnv("VAULT_TOKEN", String(token));
  op = await startOp({ ...settings(), refreshMs: 50 }, () => Date.now() + ahead);
  base = `http://127.0.0.1:${op.port}`;
});
afterEach(() => {
  ahead = 0;
});
afterAll(async () => {
  await op.close();
  await server.stop();
  vi.unstubAllEnvs();
});

async function newIdToken(): Promise<string> {
  const { id_token: idToken } = (await (await fetch(`${base}/token`)).json()) as { id_token: string };
  return idToken;
}

async function publishedKids(): Promise<readonly string[]> {
  const { keys } = (await (await fetch(`${base}/jwks`)).json()) as { keys: { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

describe("the OP of the Vault example", () => {
  test("issues tokens that an RP verifies with the published keys, with the rights of its policy alone", async () => {
    const jwks = createRemoteJWKSet(new URL(`${base}/jwks`));
    const { payload } = await jwtVerify(await newIdToken(), jwks, { issuer: "https://op.example", audience: "rp" });
    expect(payload.sub).toBe("248289761001");
    expect((await fetch(`${base}/ready`)).status).toBe(200);
  });

  test("answers 503 while the server is sealed, and stays ready", async () => {
    await server.seal();
    const { status } = await fetch(`${base}/token`);
    const ready = await fetch(`${base}/ready`);
    await server.unseal();
    expect([status, ready.status]).toEqual([503, 200]);
    expect(await newIdToken()).toMatch(/^eyJ/);
  });

  test("is not ready while its policy is gone, and notices by itself that it is back", async () => {
    const writePolicy = (policy: string): Promise<unknown> => server.must("PUT", "sys/policies/acl/op", { policy });
    await writePolicy("# nothing");
    const { status } = await fetch(`${base}/token`);
    const without = await fetch(`${base}/ready`);
    await writePolicy(await readFile(new URL("../policy.hcl", import.meta.url), "utf8"));
    expect([status, without.status]).toEqual([500, 503]);
    // The load balancer sends it nothing but this.
    expect((await fetch(`${base}/ready`)).status).toBe(200);
  });

  test("follows a rotation without a deployment: announced first, signing hours later", async () => {
    const [first] = await publishedKids();
    await server.must("POST", "transit/keys/op/rotate");
    ahead = HOUR_MS;
    await vi.waitFor(async () => expect(await publishedKids()).toHaveLength(2), { timeout: 10_000, interval: 50 });
    const [, second] = await publishedKids();
    expect(decodeProtectedHeader(await newIdToken()).kid).toBe(first);
    ahead = 5 * HOUR_MS;
    expect(decodeProtectedHeader(await newIdToken()).kid).toBe(second);
  });
});

describe("the manifest", () => {
  interface Pod {
    readonly containers: readonly {
      readonly env: readonly { readonly name: string; readonly value: string }[];
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
    readonly volumes: readonly { readonly name: string; readonly projected?: unknown }[];
  }

  interface Manifest {
    readonly kind: string;
    readonly spec: { readonly template: { readonly spec: Pod } };
  }

  async function pod(): Promise<Pod> {
    const text = await readFile(new URL("../kubernetes/op.yaml", import.meta.url), "utf8");
    const all = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
    const [deployment] = all.flatMap(({ kind, spec }) => (kind === "Deployment" ? [spec.template.spec] : []));
    if (deployment === undefined) throw new Error("the manifest has no Deployment");
    return deployment;
  }

  test("gives the OP the settings for a login with a projected token", async () => {
    const { containers, volumes } = await pod();
    const env = Object.fromEntries((containers[0]?.env ?? []).map(({ name, value }) => [name, value]));
    const { auth } = readSettings(env);
    expect(auth).toEqual({ method: "kubernetes", role: "op", jwtFile: "/var/run/secrets/vault/token" });
    const mount = containers[0]?.volumeMounts.find(({ mountPath }) => mountPath === "/var/run/secrets/vault");
    expect(volumes.find(({ name }) => name === mount?.name)?.projected).toMatchObject({
      sources: [{ serviceAccountToken: { path: "token", audience: "vault" } }],
    });
  });

  test("has no Secret and no agent", async () => {
    const text = await readFile(new URL("../kubernetes/op.yaml", import.meta.url), "utf8");
    expect(text).not.toMatch(/kind: Secret|secretKeyRef|agent-inject/);
  });
});
