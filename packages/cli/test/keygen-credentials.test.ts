import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SignerError, type GuardedSigner } from "@signpost/core";
import { NO_CLOUD_KEY, opensKey } from "../src/keygen/maker.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

// Where `signpost keygen` sends what it needs to get credentials.

const GCP_KEY = "gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/op";

let folder: KeyFolder;
/** Never answers. */
let source: Server;
let port: number;
let requests = 0;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.write("token", "subject-token");
  source = createServer(() => void (requests += 1)).listen(0, "0.0.0.0");
  await once(source, "listening");
  ({ port } = source.address() as AddressInfo);
});
beforeEach(() => void (requests = 0));
afterAll(async () => {
  source.closeAllConnections();
  source.close();
  await folder[Symbol.asyncDispose]();
});

/** With workload identity, whose token endpoint is at a host. */
async function keygenAtGoogle(host: string, transport: "grpc" | "rest"): Promise<CliResult> {
  const file = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `http://${host}:${port}/token`,
    credential_source: { file: join(folder.path, "token") },
  };
  await folder.write("google.json", file);
  await folder.write("config.json", { issuer: "https://op.example", keys: [], adapters: { gcpkms: { transport } } });
  const env = { GOOGLE_APPLICATION_CREDENTIALS: join(folder.path, "google.json") };
  return runCli(["keygen", GCP_KEY, "--config", "config.json"], { cwd: folder.path, env });
}

describe("nothing is sent in the clear off the loopback interface", () => {
  test.each(["grpc", "rest"] as const)("to a token endpoint of Google, over %s", async (transport) => {
    const { code, stderr } = await keygenAtGoogle("0.0.0.0", transport);
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("expected https, or http on the") });
    expect(requests).toBe(0);
  });

  test("to STS", async () => {
    const env = {
      AWS_REGION: "eu-west-1",
      AWS_CONFIG_FILE: "/nowhere",
      AWS_SHARED_CREDENTIALS_FILE: "/nowhere",
      AWS_ENDPOINT_URL_STS: `http://0.0.0.0:${port}`,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/op",
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder.path, "token"),
    };
    const { code, stderr } = await runCli(["keygen", "awskms:///alias/op"], { cwd: folder.path, env });
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining("expected https, or http on the") });
    expect(requests).toBe(0);
  });
});

test("a token endpoint of Google that does not answer ends it", async () => {
  const { code, stderr } = await keygenAtGoogle("127.0.0.1", "rest");
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`127.0.0.1:${port} did not answer`) });
});

test.each([
  ["the token", { auth: { method: "token-file", path: "fifo" } }],
  ["TLS", { auth: { method: "none" }, tls: { caFile: "fifo" } }],
])("a FIFO in place of the file for %s of Vault is refused, and not waited for", async (_what, options) => {
  const fifo = join(folder.path, "fifo");
  execFileSync("sh", ["-c", 'test -p "$0" || mkfifo "$0"', fifo]);
  const vault = { address: "https://127.0.0.1:9", ...options };
  await folder.write("vault.json", { issuer: "https://op.example", keys: [], adapters: { vault } });
  const args = ["keygen", "vault:///transit/keys/op", "--config", "vault.json"];
  const { code, stderr } = await runCli(args, { cwd: folder.path });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("expected a regular file, not a FIFO") });
});

describe("an adapter that was denied access has found no key", () => {
  const denied = (cause: unknown) => opensKey(() => Promise.reject(errorOf(cause)), GCP_KEY, NO_CLOUD_KEY);
  const errorOf = (cause: unknown): SignerError => new SignerError("access_denied", "denied", { cause });

  test.each([
    ["AWS KMS", { $metadata: { httpStatusCode: 400 } }],
    ["Cloud KMS", { code: 7 }],
    ["Key Vault", new Error("HTTP status 403, x-ms-request-id 1")],
    ["Vault", new Error("HTTP status 403: permission denied")],
  ])("if %s said so", async (_service, cause) => {
    expect(await denied(cause)).toBe(false);
  });

  test.each([
    ["a source without TLS", undefined],
    ["a source without TLS, wrapped by the SDK", Object.assign(new Error("no"), { name: "CredentialsProviderError" })],
    ["no credentials", Object.assign(new Error("no file"), { code: "ENOENT" })],
  ])("but not for %s", async (_what, cause) => {
    await expect(denied(cause)).rejects.toThrow("denied");
  });

  test("and closes a key that it opens", async () => {
    let closed = 0;
    const key = { close: async () => void (closed += 1) } as unknown as GuardedSigner;
    expect(await opensKey(async () => key, GCP_KEY)).toBe(true);
    expect(closed).toBe(1);
  });
});
