import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { googleAuthLibrary } from "google-gax";
import { KeyManagementServiceClient as Client5 } from "google-cloud-kms-5";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError, type Signer } from "@signpost/core";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { newMessage, rejection } from "./support/signatures.ts";

const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
/** TLS and credentials, and no listener. An error that says the service cannot be reached comes after the credentials. */
const endpoint = "https://127.0.0.1:9";
const CALL_MADE = { code: "unavailable", message: expect.stringMatching(/the service cannot be reached|ECONNREFUSED/) };

/** What a source of credentials does with a request. */
type Behavior =
  | "well"
  | "hangs"
  | "refuses connections"
  | number
  | { readonly text: string }
  | { readonly raw: string };

const certificate = selfSignedCertificate("localhost");
const tlsServer = createSecureServer(certificate);
let directory: string;
let server: Server;
let port: number;
let behavior: Behavior = "well";
let requests: string[] = [];
let delayMs = 0;
/** Life of a token. Seconds. */
let lifeSeconds = 3600;
/** How many tests are over. */
let testsBefore = 0;
// Each test has its own token endpoint, and its own file that names it: on a busy machine a client that a test gave up asks even
// after its signer was closed.
const tokenPath = (): string => `/token/${testsBefore}`;

const headers = { "metadata-flavor": "Google", "content-type": "application/json" };
const giveToken = (response: ServerResponse): void => {
  const token = { access_token: "ya29.secret", token_type: "Bearer", expires_in: lifeSeconds };
  response.writeHead(200, headers).end(JSON.stringify(token));
};
const hung: ServerResponse[] = [];
const answer: RequestListener = (request, response) => {
  const path = String(request.url);
  requests.push(path);
  if (behavior === "refuses connections") return void request.socket.destroy();
  if (behavior === "hangs") return void hung.push(response);
  if (typeof behavior === "number") return void response.writeHead(behavior, headers).end('{"error":"made_up"}');
  if (typeof behavior === "object" && "raw" in behavior) return void request.socket.end(behavior.raw);
  if (typeof behavior === "object") return void response.writeHead(200, headers).end(behavior.text);
  setTimeout(() => giveToken(response), delayMs);
  return undefined;
};

const credentialsFile = (): string => join(directory, `credentials-${testsBefore}.json`);
const useFile = async (content: object): Promise<void> => {
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", credentialsFile());
  await writeFile(credentialsFile(), JSON.stringify(content));
};
/** Workload identity: a file with the token of the platform, which the token endpoint exchanges. */
const workloadIdentity = (): object => ({
  type: "external_account",
  audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
  subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
  token_url: `http://127.0.0.1:${port}${tokenPath()}`,
  credential_source: { file: join(directory, "subject-token") },
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "signpost-gcp-credentials-"));
  server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  tlsServer.listen(0);
  await once(tlsServer, "listening");
  vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  vi.stubEnv("HOME", directory);
  vi.stubEnv("CLOUDSDK_CONFIG", directory);
  for (const name of ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"]) vi.stubEnv(name, undefined);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
  tlsServer.close();
  await rm(directory, { recursive: true });
});

/** Of the clients of a test: when they are over, each has read where its credentials are. */
const beginnings: Promise<unknown>[] = [];
beforeAll(() => {
  const { initialize } = KeyManagementServiceClient.prototype;
  vi.spyOn(KeyManagementServiceClient.prototype, "initialize").mockImplementation(function (
    this: KeyManagementServiceClient,
  ) {
    const beginning = initialize.call(this);
    beginnings.push(beginning);
    return beginning;
  });
});

const opened: Signer[] = [];
beforeEach(() => {
  behavior = "well";
  requests = [];
  delayMs = 0;
  lifeSeconds = 3600;
  googleAuthLibrary.gcpMetadata.setGCPResidency(false);
  googleAuthLibrary.gcpMetadata.resetIsAvailableCache();
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", undefined);
  vi.stubEnv("METADATA_SERVER_DETECTION", undefined);
  vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${port}`);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((signer) => signer.close()));
  behavior = "well";
  hung.splice(0).forEach(giveToken);
  await Promise.allSettled(beginnings.splice(0));
  testsBefore += 1;
});

async function open(
  options: { transport?: "grpc" | "rest"; client?: GcpKmsClientLike; callTimeoutMs?: number } = {},
): Promise<Signer> {
  const way = options.client === undefined ? { endpoint } : {};
  const signer = await openGcpKmsSigner({
    keyVersion: KEY,
    publicKey,
    policy: false,
    callTimeoutMs: 20_000,
    ...way,
    ...options,
  });
  opened.push(signer);
  return signer;
}
/** Short enough to wait for, where something hangs. Milliseconds. */
const SHORT_MS = 400;
const failure = (signer: Signer): Promise<unknown> => rejection(signer.sign(newMessage().digest));

/** The failure of the first call in whose time its source was heard. On a busy machine that is not always the first one. */
async function failureOnceHeard(signer: Signer): Promise<unknown> {
  for (;;) {
    const error = await failure(signer);
    if (!(error instanceof SignerError && error.code === "timeout")) return error;
  }
}

/** At the next call, and on a busy machine a little later. */
async function goesOn(signer: Signer): Promise<void> {
  await vi.waitFor(async () => expect(await failure(signer)).toMatchObject(CALL_MADE), { timeout: 30_000 });
}

describe("a credentials file with a plain http endpoint off this machine", () => {
  const url = "http://sts.example/token";
  test.each<["grpc" | "rest", string, object]>([
    ["grpc", "token_url", { token_url: url }],
    ["rest", "token_url", { token_url: url }],
    ["grpc", "tokenUrl", { token_url: undefined, tokenUrl: url }],
    ["grpc", "service_account_impersonation_url", { service_account_impersonation_url: url }],
    ["rest", "service_account_impersonation_url", { service_account_impersonation_url: url }],
  ])("is refused over %s before a token is sent to its %s", async (transport, name, member) => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    await useFile({ ...workloadIdentity(), ...member });
    expect(await failure(await open({ transport }))).toMatchObject({
      code: "access_denied",
      message: `cannot sign with ${KEY}: no usable Google credentials were found: expected https, or http on the loopback interface, for ${name} in their file`,
    });
    expect(requests).toEqual([]);
  });

  test.each([1, 2, 3])("is refused when it is the source of impersonation, after %i steps", async (steps) => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    let file: object = { ...workloadIdentity(), token_url: url };
    for (let step = 0; step < steps; step += 1) {
      const service_account_impersonation_url = `http://127.0.0.1:${port}/serviceAccounts/a:generateAccessToken`;
      file = { type: "impersonated_service_account", source_credentials: file, service_account_impersonation_url };
    }
    await useFile(file);
    expect(await failure(await open())).toMatchObject({
      code: "access_denied",
      message: expect.stringContaining(
        "expected https, or http on the loopback interface, for token_url in their file",
      ),
    });
    expect(requests).toEqual([]);
  });
});

describe.each(["grpc", "rest"] as const)("a request for credentials that is not answered, over %s", (transport) => {
  const ended = (response: ServerResponse | undefined): Promise<unknown> =>
    response === undefined || response.destroyed ? Promise.resolve() : once(response, "close");

  test("ends when the signer is closed, so that it does not keep the process alive", async () => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    await useFile(workloadIdentity());
    behavior = "hangs";
    const signer = await open({ transport, callTimeoutMs: SHORT_MS });
    await failure(signer);
    await vi.waitFor(() => expect(hung).not.toEqual([]), { timeout: 30_000 });
    await signer.close();
    await Promise.all(hung.map(ended));
  });

  test("ends when the opening fails", async () => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    await useFile(workloadIdentity());
    behavior = "hangs";
    const opening = openGcpKmsSigner({ keyVersion: KEY, endpoint, transport, openDeadlineMs: 2000 });
    expect(await rejection(opening)).toMatchObject({ code: "timeout" });
    await vi.waitFor(() => expect(hung).not.toEqual([]), { timeout: 30_000 });
    await Promise.all(hung.map(ended));
  });
});

describe("a program that provides credentials and cannot be started", () => {
  test.each<["grpc" | "rest", string]>([
    ["grpc", "/nowhere/program"],
    ["rest", "/nowhere/program"],
    ["rest", tmpdir()],
  ])("is access_denied over %s, and does not end the process: %s", async (transport, command) => {
    vi.stubEnv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
    await useFile({ ...workloadIdentity(), credential_source: { executable: { command, timeout_millis: 5_000 } } });
    const signer = await open({ transport });
    expect(await failure(signer)).toMatchObject({
      code: "access_denied",
      message: `cannot sign with ${KEY}: no usable Google credentials were found: the executable that provides them failed`,
    });
    // Corrected, it is used by the same signer.
    await writeFile(join(directory, "subject-token"), "token");
    await useFile(workloadIdentity());
    await goesOn(signer);
  });
});

describe("a metadata server that is late", () => {
  test.each<[Behavior, string]>([
    ["refuses connections", "unavailable"],
    // The SDK asks again and again while it is told 500.
    [500, "unavailable"],
    ["hangs", "timeout"],
  ])("and %s at first: the same signer goes on, and a new one opens", async (at, code) => {
    behavior = at;
    const signer = await open({ callTimeoutMs: at === "refuses connections" ? 20_000 : SHORT_MS });
    const error = await (at === 500 ? failureOnceHeard(signer) : failure(signer));
    expect(error).toMatchObject({ code, uri: `gcpkms://${KEY}` });
    expect(String(error)).toContain(KEY);
    behavior = "well";
    await goesOn(signer);
    expect(await failure(await open())).toMatchObject(CALL_MADE);
  });

  test("is named when the environment names it, and is an outage", async () => {
    behavior = "refuses connections";
    expect(await failure(await open())).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(`the metadata server 127.0.0.1:${port}`),
    });
  });

  test("and is found by an opening that began before it", async () => {
    behavior = "refuses connections";
    const late = setTimeout(() => (behavior = "well"), 150);
    const opening = openGcpKmsSigner({ keyVersion: KEY, endpoint, callTimeoutMs: 10_000, openDeadlineMs: 30_000 });
    expect(await rejection(opening)).toMatchObject({ ...CALL_MADE, uri: `gcpkms://${KEY}` });
    clearTimeout(late);
  });

  test("and silent off Google is looked for once, by the clients that follow each other", async () => {
    behavior = "hangs";
    const signer = await open({ callTimeoutMs: SHORT_MS });
    for (let call = 0; call < 3; call += 1) expect(await failure(signer)).toMatchObject({ code: "timeout" });
    expect(requests).toHaveLength(1);
  });

  test("is not waited for where there is none at all", async () => {
    vi.stubEnv("METADATA_SERVER_DETECTION", "none");
    vi.stubEnv("GCE_METADATA_HOST", undefined);
    expect(await failure(await open())).toMatchObject({ code: "access_denied" });
  });
});

describe.each(["grpc", "rest"] as const)("over %s, a token that ends in a few minutes", (transport) => {
  const SOURCES: readonly (readonly [string, () => Promise<void>])[] = [
    ["the metadata server", async () => googleAuthLibrary.gcpMetadata.setGCPResidency(true)],
    [
      "workload identity",
      async () => {
        await writeFile(join(directory, "subject-token"), "subject-token");
        await useFile(workloadIdentity());
      },
    ],
  ];
  const BEHAVIORS: readonly Behavior[] = ["hangs", "refuses connections", 500, 403, { text: "{}" }];
  const cases = SOURCES.flatMap(([source, use]) => BEHAVIORS.map((to) => ({ source, use, to })));
  const passes = (ms: number): void => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
  };
  afterEach(() => void vi.useRealTimers());

  test.each(cases)("is used while $source turns to $to", async ({ use, to }) => {
    await use();
    lifeSeconds = 400;
    const signer = await open({ transport });
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    behavior = to;
    const asked = requests.length;
    passes(200_000);
    for (let call = 0; call < 3; call += 1) expect(await failure(signer)).toMatchObject(CALL_MADE);
    await vi.waitFor(() => expect(requests.length).toBeGreaterThan(asked), { timeout: 10_000 });
    expect(await failure(signer)).toMatchObject(CALL_MADE);
  });

  test("that cannot be renewed is shown by the health", async () => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    await useFile(workloadIdentity());
    lifeSeconds = 400;
    const way = { endpoint, transport, publicKey, callTimeoutMs: 20_000 };
    const policy = { maxAttempts: 1, deadlineMs: 30_000 };
    await using signer = await openGcpKmsSigner({ keyVersion: KEY, ...way, policy });
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
    behavior = 403;
    passes(200_000);
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    const note = /^the token cannot be replaced since .*Z \(access_denied\); calls fail when it ends$/;
    await vi.waitFor(() => expect(signer.health().notes).toContainEqual(expect.stringMatching(note)), {
      timeout: 10_000,
    });
    expect(signer.health().status).toBe("degraded");
  });

  test("is renewed while calls go on, so that none waits for it at its end", async () => {
    await writeFile(join(directory, "subject-token"), "subject-token");
    await useFile(workloadIdentity());
    lifeSeconds = 400;
    const signer = await open({ transport });
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    const asked = (): number => requests.filter((path) => path === tokenPath()).length;
    expect(asked()).toBe(1);
    lifeSeconds = 3600;
    passes(200_000);
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    await vi.waitFor(() => expect(asked()).toBe(2), { timeout: 10_000 });
    passes(210_000);
    expect(await failure(signer)).toMatchObject(CALL_MADE);
    expect(asked()).toBe(2);
  });
});

describe.each(["grpc", "rest"] as const)("over %s, a request for credentials", (transport) => {
  test("of a metadata server that hangs once does not stop the signer", async () => {
    googleAuthLibrary.gcpMetadata.setGCPResidency(true);
    const signer = await open({ transport, callTimeoutMs: SHORT_MS });
    behavior = "hangs";
    expect(await failure(signer)).toMatchObject({
      code: "timeout",
      message: expect.stringContaining(`cannot sign with ${KEY}: Google credentials did not arrive within 360 ms`),
    });
    behavior = "well";
    await goesOn(signer);
  });

  test("of workload identity that hangs once does not stop the signer", async () => {
    await useFile(workloadIdentity());
    await writeFile(join(directory, "subject-token"), "token");
    const signer = await open({ transport, callTimeoutMs: SHORT_MS });
    behavior = "hangs";
    expect(await failure(signer)).toMatchObject({ code: "timeout" });
    behavior = "well";
    await goesOn(signer);
  });

  test("of workload identity makes no request for the project", async () => {
    await useFile(workloadIdentity());
    await writeFile(join(directory, "subject-token"), "token");
    expect(await failure(await open({ transport }))).toMatchObject(CALL_MADE);
    expect(requests.filter((path) => path === tokenPath() || path.includes("/project/"))).toEqual([tokenPath()]);
  });

  test("that hangs is not begun over and over", async () => {
    await useFile(workloadIdentity());
    await writeFile(join(directory, "subject-token"), "token");
    const signer = await open({ transport, callTimeoutMs: 50 });
    behavior = "hangs";
    const since = performance.now();
    for (let call = 0; call < 12; call += 1) expect(await failure(signer)).toMatchObject({ code: "timeout" });
    // Each one has twice the time of the one before: 44 ms, 88 ms, …, on a busy machine more of them.
    const most = 1 + Math.log2((performance.now() - since) / 44 + 1);
    expect(requests.filter((path) => path === tokenPath()).length).toBeLessThanOrEqual(most);
  });

  test("that comes after the call's time is used by the next call", async () => {
    await useFile(workloadIdentity());
    delayMs = 500;
    const signer = await open({ transport, callTimeoutMs: SHORT_MS });
    expect(await failure(signer)).toMatchObject({ code: "timeout" });
    await goesOn(signer);
  });

  test.each<[number, string]>([
    [503, "unavailable"],
    [429, "throttled"],
    [400, "access_denied"],
    [403, "access_denied"],
  ])("that is answered %i names the token endpoint, and is %s", async (status, code) => {
    await useFile(workloadIdentity());
    behavior = status;
    const error = await failure(await open({ transport }));
    expect(error).toMatchObject({
      code,
      message: expect.stringContaining(`http://127.0.0.1:${port}, answered HTTP ${status}`),
    });
    expect(String(error)).not.toContain("/token");
  });

  test.each<[string, number, string]>([
    ["the token endpoint", 503, "unavailable"],
    ["the token endpoint", 429, "throttled"],
    ["the metadata server", 500, "unavailable"],
  ])("that %s answers %i for all of the call's time names it, and is %s", async (source, status, code) => {
    if (source === "the token endpoint") await useFile(workloadIdentity());
    else googleAuthLibrary.gcpMetadata.setGCPResidency(true);
    await writeFile(join(directory, "subject-token"), "token");
    behavior = status;
    expect(await failureOnceHeard(await open({ transport, callTimeoutMs: SHORT_MS }))).toMatchObject({
      code,
      message: `cannot sign with ${KEY}: the source of Google credentials, http://127.0.0.1:${port}, answered HTTP ${status}`,
    });
  });

  test.each(["<html>log in</html>", '{"access_token":"ya29.secr', "{}", "null", ""])(
    "that is answered 200 and %j is an outage, and does not last",
    async (text) => {
      await useFile(workloadIdentity());
      await writeFile(join(directory, "subject-token"), "token");
      const signer = await open({ transport });
      behavior = { text };
      expect(await failure(signer)).toMatchObject({
        code: "unavailable",
        message: `cannot sign with ${KEY}: the source of Google credentials gave an unreadable answer`,
      });
      behavior = "well";
      await goesOn(signer);
    },
  );

  test("of a metadata server that has no token yet is an outage, and does not last", async () => {
    googleAuthLibrary.gcpMetadata.setGCPResidency(true);
    const signer = await open({ transport });
    behavior = { text: "{}" };
    expect(await failure(signer)).toMatchObject({ code: "unavailable" });
    behavior = "well";
    await goesOn(signer);
  });

  test("of a URL that gives no subject token is an outage", async () => {
    await useFile({
      ...workloadIdentity(),
      credential_source: {
        url: `http://127.0.0.1:${port}/subject`,
        format: { type: "json", subject_token_field_name: "token" },
      },
    });
    behavior = { text: "<html>log in</html>" };
    expect(await failure(await open({ transport }))).toMatchObject({ code: "unavailable" });
  });

  test("for a subject token on a disk that fails is an outage", async () => {
    // The kernel answers a reader of its first byte with EIO.
    await useFile({ ...workloadIdentity(), credential_source: { file: "/proc/self/mem" } });
    expect(await failure(await open({ transport }))).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("is temporarily unreadable (EIO)"),
    });
  });

  test.each<[string, string]>([
    ["something that is not HTTP", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["a broken gzip", "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nabcde"],
  ])("that is answered with %s is an outage", async (_what, raw) => {
    await useFile(workloadIdentity());
    await writeFile(join(directory, "subject-token"), "token");
    behavior = { raw };
    expect(await failure(await open({ transport }))).toMatchObject({
      code: "unavailable",
      message: `cannot sign with ${KEY}: the source of Google credentials, http://127.0.0.1:${port}, gave an unreadable answer`,
    });
  });

  test("of a token endpoint that is away is an outage", async () => {
    await useFile({ ...workloadIdentity(), token_url: "http://127.0.0.1:9/token" });
    const error = await failure(await open({ transport }));
    expect(error).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("http://127.0.0.1:9, cannot be reached"),
    });
  });
});

const REST = { fallback: true, apiEndpoint: "127.0.0.1", port: 9 };
const require = createRequire(import.meta.url);

/** A client over gRPC that gets as far as asking for a token, which it does once it is connected. */
function tlsClient(name: "@google-cloud/kms" | "google-cloud-kms-5"): GcpKmsClientLike {
  const { KeyManagementServiceClient: Client } = require(name) as typeof import("@google-cloud/kms");
  const gax = createRequire(require.resolve(name))("google-gax") as typeof import("google-gax");
  const { credentials } = gax.grpc;
  const auth = new gax.googleAuthLibrary.GoogleAuth({ scopes: "https://www.googleapis.com/auth/cloudkms" });
  const getRequestHeaders = async (): Promise<Record<string, string>> =>
    Object.fromEntries(await auth.getRequestHeaders());
  const sslCreds = credentials.combineChannelCredentials(
    credentials.createSsl(Buffer.from(certificate.cert)),
    credentials.createFromGoogleCredential({ getRequestHeaders }),
  );
  const { port: tlsPort } = tlsServer.address() as AddressInfo;
  return new Client({
    apiEndpoint: "localhost",
    port: tlsPort,
    sslCreds,
    authClient: new gax.googleAuthLibrary.PassThroughClient(),
  });
}

/** Credentials that can never work: each way to the service says the same of them, at once. */
describe.each<[string, () => Promise<void>, string]>([
  [
    "a file of the subject token that is not there",
    async () => {
      await rm(join(directory, "subject-token"), { force: true });
      await useFile(workloadIdentity());
    },
    "the file /",
  ],
  [
    "a private key that is broken",
    () =>
      useFile({
        type: "service_account",
        client_email: "op@p.iam.gserviceaccount.com",
        private_key: String(privateKey.export({ type: "pkcs8", format: "pem" })).replace(/(?<=\n.{8}).{8}/, "AAAAAAAA"),
      }),
    "their private key cannot be read",
  ],
])("%s is access_denied", (_what, prepare, words) => {
  const clients: readonly [string, () => Promise<Signer>][] = [
    ["a client of ours over grpc", () => open()],
    ["a client of ours over rest", () => open({ transport: "rest" })],
    ["a given client 5 over grpc", () => open({ client: tlsClient("google-cloud-kms-5") })],
    ["a given client 5 over rest", () => open({ client: new Client5(REST) })],
    ["a given client 6 over grpc", () => open({ client: tlsClient("@google-cloud/kms") })],
    ["a given client 6 over rest", () => open({ client: new KeyManagementServiceClient(REST) })],
  ];
  test.each(clients)("with %s", async (_client, opening) => {
    await prepare();
    expect(await failure(await opening())).toMatchObject({
      code: "access_denied",
      message: expect.stringContaining(`cannot sign with ${KEY}: no usable Google credentials were found: ${words}`),
    });
  });
});
