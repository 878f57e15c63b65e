import { execFile } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

// node-fetch throws some errors about redirects where no caller can catch them. So each signer runs in a process, which must
// not end.

const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const STATUSES = [300, 301, 302, 303, 304, 307, 308];
/** Where the redirects lead to. */
const TARGETS = ["/next", "http://user:password@127.0.0.1:9/", "http://[x", "ftp://127.0.0.1/", ""];
const REDIRECTS = TARGETS.flatMap((location) => STATUSES.map((status) => ({ status, location })));

let directory: string;
let server: Server;
let origin: string;
/** The paths that redirect. The others give a token. */
let redirecting: RegExp;
/** The paths that were asked and redirected. */
const redirected: string[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "signpost-gcp-redirects-"));
  await writeFile(join(directory, "subject-token"), "token");
  server = createServer((request, response) => {
    const path = String(request.url);
    const isRedirected = redirecting.test(path);
    const token = { access_token: "ya29.x", token_type: "Bearer", expires_in: 3600 };
    request.resume().once("end", () => {
      const headers = { "metadata-flavor": "Google", "content-type": "application/json" };
      if (!isRedirected) return response.writeHead(200, headers).end(JSON.stringify(token));
      const { status = 307, location = "/next" } = REDIRECTS[redirected.length % REDIRECTS.length] ?? {};
      redirected.push(path);
      return response.writeHead(status, { ...headers, location }).end("Moved");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  redirected.length = 0;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true });
});

/** Signs once for each redirect, in a process. Returns the errors. `options` is code. */
async function errorsOf(options: string, env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const script = `
    import { KeyManagementServiceClient as Client6 } from "@google-cloud/kms";
    import { KeyManagementServiceClient as Client5 } from "google-cloud-kms-5";
    import { openGcpKmsSigner } from "@signpost/gcp-kms";

    const { port } = new URL("${origin}");
    const given = { fallback: true, protocol: "http", apiEndpoint: "127.0.0.1", port: Number(port), projectId: "p" };
    const publicKey = ${JSON.stringify(publicKey)};
    const bounds = { policy: false, callTimeoutMs: 20_000 };
    const signer = await openGcpKmsSigner({ keyVersion: "${KEY}", publicKey, ...bounds, ...${options} });
    const errors = [];
    for (let calls = 0; calls < ${REDIRECTS.length}; calls += 1) {
      await signer.sign(new Uint8Array(32)).catch(({ code, message }) => errors.push(code + ": " + message));
    }
    console.log(JSON.stringify(errors));
    process.exit();
  `;
  const args = ["--no-warnings", "--input-type=module", "--eval", script];
  const { PATH } = process.env;
  const home = { HOME: directory, CLOUDSDK_CONFIG: directory };
  const options_ = { cwd: import.meta.dirname, env: { PATH, ...home, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, args, options_);
  return JSON.parse(stdout) as string[];
}

/** A file with credentials of the server, and the variable that names it. */
async function credentials(more: object = {}): Promise<NodeJS.ProcessEnv> {
  const content = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${origin}/token`,
    credential_source: { file: join(directory, "subject-token") },
    ...more,
  };
  const file = join(directory, "credentials.json");
  await writeFile(file, JSON.stringify(content));
  return { GOOGLE_APPLICATION_CREDENTIALS: file };
}

describe("a redirect of a call over REST is an outage, and is not followed", () => {
  const expected = REDIRECTS.map(
    ({ status }) => `unavailable: cannot sign with ${KEY}: something that is not the service answered (HTTP ${status})`,
  );

  test.each<[string, () => string]>([
    ["by a client of ours", () => `{ endpoint: "${origin}", transport: "rest" }`],
    [
      "by a given client 6 with the option of the guide",
      () => `{ client: new Client6({ ...given, clientOptions: { transporterOptions: { redirect: "manual" } } }) }`,
    ],
    [
      "by a given client 5 with the option of the guide",
      () => `{ client: new Client5({ ...given, clientOptions: { transporterOptions: { redirect: "manual" } } }) }`,
    ],
  ])("%s", async (_what, options) => {
    redirecting = /^\/(?:v1|next)/;
    expect(await errorsOf(options(), await credentials())).toEqual(expected);
    expect(redirected.map((path) => path.replace(/\?.*/, ""))).toEqual(
      REDIRECTS.map(() => `/v1/${KEY}:asymmetricSign`),
    );
  });
});

describe("a redirect of a source of credentials is an outage, and is not followed:", () => {
  test.each<[string, RegExp, () => Promise<NodeJS.ProcessEnv>]>([
    ["of a token endpoint", /^\/(?:token|next)/, () => credentials()],
    [
      "of an endpoint for a subject token",
      /^\/(?:subject|next)/,
      () => credentials({ credential_source: { url: `${origin}/subject` } }),
    ],
    [
      "of an endpoint for a service account",
      /^\/(?:account|next)/,
      () => credentials({ service_account_impersonation_url: `${origin}/account:generateAccessToken` }),
    ],
    [
      "of a metadata server",
      /^\/(?:computeMetadata\/v1\/instance\/service-accounts|next)/,
      async () => ({ GCE_METADATA_HOST: new URL(origin).host, METADATA_SERVER_DETECTION: "assume-present" }),
    ],
  ])("%s", async (_what, paths, environment) => {
    redirecting = paths;
    const env = await environment();
    const expected = REDIRECTS.map(
      ({ status }) =>
        `unavailable: cannot sign with ${KEY}: the source of Google credentials, ${origin}, answered HTTP ${status}`,
    );
    // No service listens there.
    expect(await errorsOf(`{ endpoint: "https://127.0.0.1:9", transport: "rest" }`, env)).toEqual(expected);
    expect(redirected).toHaveLength(REDIRECTS.length);
    expect(redirected).not.toContain("/next");
  });
});
