import { randomBytes } from "node:crypto";
import {
  Agent as HttpAgent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import tls from "node:tls";
import { inspect } from "node:util";
import { KMSClient } from "@aws-sdk/client-kms";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ConfigurationError, createKeySet, openSigner, signWith } from "@signpost/core";
import { awsKms, openAwsKmsSigner } from "@signpost/aws-kms";
import {
  kmsOverHttps,
  type AwsKmsCredentialProvider,
  type AwsKmsCredentials,
  type KmsOverHttpsOptions,
} from "@signpost/aws-kms/https";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { provideCredentials } from "../environment.ts";
import { expectedHeaders } from "../support/sigv4-oracle.ts";

const DIGEST = randomBytes(32);
/** Of a file of certificate authorities. Bytes. */
const MAX_BUNDLE = 4_194_304;
const fake = await startFakeAwsKms();
const key = fake.addKey();
const { endpoint, region } = fake;

beforeEach(() => {
  fake.reset();
  fake.acceptOnly(undefined);
  provideCredentials(fake.credentials);
});
afterAll(() => fake.stop());

function open(options: KmsOverHttpsOptions = {}) {
  const api = kmsOverHttps({ region, endpoint, ...options });
  onTestFinished(() => api.close());
  return api;
}

async function writeTemporary(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-https-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "file");
  await writeFile(file, text);
  return file;
}

describe("kmsOverHttps", () => {
  test("gives the transport of a signer, which asks for the same as the SDK", async () => {
    await using signer = await openAwsKmsSigner({ key: key.keyId, api: open() });
    await signWith(createKeySet([{ signer }]).active, DIGEST);
    expect(fake.requests).toEqual([
      {
        operation: "GetPublicKey",
        keyId: key.keyId,
        region,
        accessKeyId: fake.credentials.accessKeyId,
        messageType: undefined,
      },
      { operation: "Sign", keyId: key.arn, region, accessKeyId: fake.credentials.accessKeyId, messageType: "DIGEST" },
    ]);
  });

  test("serves any number of signers, and refuses calls after it is closed", async () => {
    const api = open();
    const other = fake.addKey();
    await using first = await openAwsKmsSigner({ key: key.arn, api });
    await using second = await openAwsKmsSigner({ key: other.arn, api });
    await Promise.all([first.sign(DIGEST), second.sign(DIGEST)]);
    await api.close();
    await expect(first.sign(DIGEST)).rejects.toMatchObject({ code: "closed" });
    await expect.poll(() => fake.sockets.open).toBe(0);
  });

  test("names its Region and its endpoint in messages, key URIs and health, like the transport of a signer", async () => {
    process.env["AWS_ENDPOINT_URL_KMS"] = endpoint;
    process.env["AWS_USE_FIPS_ENDPOINT"] = "true";
    const api = kmsOverHttps({ region });
    onTestFinished(() => api.close());
    const missing = await openAwsKmsSigner({ key: "alias/missing", api }).catch((error: unknown) => error);
    expect(missing).toMatchObject({ uri: `awskms://${new URL(endpoint).host}/alias/missing?region=${region}` });
    expect(String(missing)).toContain(`kms:GetPublicKey of alias/missing in ${region} failed: there is no such key`);
    await using signer = await openAwsKmsSigner({ key: key.keyId, api });
    await using other = await openAwsKmsSigner({ key: key.keyId, region, transport: "https" });
    expect(signer.uri).toBe(other.uri);
    expect(signer.health().notes).toEqual(other.health().notes);
    expect(signer.health().notes.join()).toContain("from AWS_ENDPOINT_URL_KMS");
  });

  test("needs a Region, also if the key ARN names one, and says where to put it", async () => {
    delete process.env["AWS_REGION"];
    const api = kmsOverHttps({ endpoint });
    onTestFinished(() => api.close());
    const error = await openAwsKmsSigner({ key: key.arn, api }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_argument" });
    expect(String(error)).toMatch(
      /: region: expected a Region in the option of kmsOverHttps, or in AWS_REGION; the Region in a key ARN does not count$/,
    );
  });

  test("refuses credentials that are null", () => {
    const refusal = (): unknown => kmsOverHttps({ credentials: null as unknown as undefined });
    expect(refusal).toThrow(ConfigurationError);
    expect(refusal).toThrow("credentials: expected accessKeyId and secretAccessKey, or a function");
  });

  test("takes the Region and the endpoint that the SDK would find", async () => {
    process.env["AWS_REGION"] = "eu-south-1";
    process.env["AWS_ENDPOINT_URL_KMS"] = endpoint;
    const api = kmsOverHttps();
    onTestFinished(() => api.close());
    await api.getPublicKey({ KeyId: key.arn }, {});
    expect(fake.requests).toMatchObject([{ region: "eu-south-1" }]);
  });

  test("says in the first call what its settings lack, and works once they are there", async () => {
    const api = kmsOverHttps({ endpoint });
    onTestFinished(() => api.close());
    await expect(openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("region: expected a Region"),
    });
    process.env["AWS_REGION"] = region;
    await using signer = await openAwsKmsSigner({ key: key.arn, api });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("makes no more connections than it may", async () => {
    const api = open({ maxSockets: 2 });
    const before = fake.sockets.total;
    fake.faults.latencyMs = 20;
    await Promise.all(Array.from({ length: 6 }, () => api.getPublicKey({ KeyId: key.arn }, {})));
    fake.faults.latencyMs = 0;
    expect(fake.sockets.total - before).toBe(2);
  });
});

describe("a call that is under way when the transport is closed", () => {
  const credentials: AwsKmsCredentials = { accessKeyId: "AKIA", secretAccessKey: "secret" };

  test.each<[string, (api: ReturnType<typeof open>) => Promise<void> | void]>([
    ["immediately", () => {}],
    ["before its answer", () => expect.poll(() => fake.requests.length).toBe(1)],
  ])("%s is refused", async (_when, wait) => {
    fake.faults.latencyMs = 200;
    const api = open({ credentials });
    const call = api.getPublicKey({ KeyId: key.arn }, {});
    await Promise.all([
      expect(call).rejects.toMatchObject({ code: "closed" }),
      wait(api)?.then(api.close) ?? api.close(),
    ]);
    await expect.poll(() => fake.sockets.open).toBe(0);
  });

  test("while it waits for credentials sends nothing", async () => {
    let provide: (found: AwsKmsCredentials) => void = () => {};
    const api = open({ credentials: () => new Promise((resolve) => (provide = resolve)) });
    const call = api.getPublicKey({ KeyId: key.arn }, {});
    await expect.poll(() => provide.length).toBe(1);
    await api.close();
    provide(credentials);
    await expect(call).rejects.toMatchObject({ code: "closed" });
    expect(fake.requests).toEqual([]);
  });
});

describe("an option that is wrong is refused by name", () => {
  test.each<[string, object, string]>([
    ["an unknown name", { regions: "eu-west-1" }, "region"],
    ["a Region that is none", { region: "EU West" }, "region"],
    ["an endpoint with a path", { endpoint: "https://kms.example/path" }, "endpoint"],
    ["plain http to another host", { endpoint: "http://kms.example" }, "endpoint"],
    ["a flag that is none", { allowInsecureEndpoint: 1 }, "allowInsecureEndpoint"],
    ["credentials that are text", { credentials: "AKIA" }, "credentials"],
    ["credentials without a secret", { credentials: { accessKeyId: "AKIA" } }, "credentials"],
    ["an agent that is none", { agent: {} }, "agent"],
    ["maxSockets together with an agent", { agent: new Agent(), maxSockets: 5 }, "maxSockets"],
    ["no sockets", { maxSockets: 0 }, "maxSockets"],
    ["no time", { timeoutMs: 0 }, "timeoutMs"],
  ])("%s", (_what, options, argument) => {
    expect(() => kmsOverHttps(options)).toThrow(ConfigurationError);
    expect(() => kmsOverHttps(options)).toThrow(new RegExp(argument));
  });

  test.each([
    ["openAwsKmsSigner", (transport: never) => openAwsKmsSigner({ key: key.arn, transport })],
    ["awsKms", async (transport: never) => void awsKms({ transport })],
  ])("another transport, by %s", async (_what, call) => {
    await expect(call("http" as never)).rejects.toThrow('transport: expected "sdk" or "https"');
  });

  test("a transport together with an api", async () => {
    const opening = openAwsKmsSigner({ key: key.arn, api: open(), transport: "https" });
    await expect(opening).rejects.toMatchObject({ argument: "transport" });
  });
});

describe("credentials", () => {
  const pair: AwsKmsCredentials = { accessKeyId: "AKIAGIVEN", secretAccessKey: "given-secret" };

  test("are those of the option", async () => {
    await open({ credentials: pair }).getPublicKey({ KeyId: key.arn }, {});
    expect(fake.requests).toMatchObject([{ accessKeyId: "AKIAGIVEN" }]);
  });

  test("are those of the environment, read again after a refusal", async () => {
    const api = open();
    await api.getPublicKey({ KeyId: key.arn }, {});
    process.env["AWS_ACCESS_KEY_ID"] = "AKIANEWER";
    fake.acceptOnly(["AKIANEWER"]);
    await api.getPublicKey({ KeyId: key.arn }, {});
    expect(fake.requests.map(({ accessKeyId }) => accessKeyId)).toEqual([
      fake.credentials.accessKeyId,
      fake.credentials.accessKeyId,
      "AKIANEWER",
    ]);
  });

  test("of a function are asked for again after a refusal, once for calls at the same time", async () => {
    const asked: unknown[] = [];
    const credentials: AwsKmsCredentialProvider = (request) => {
      asked.push(request?.forceRefresh);
      return { ...pair, accessKeyId: `AKIA${asked.length}` };
    };
    const api = open({ credentials });
    await api.getPublicKey({ KeyId: key.arn }, {});
    fake.acceptOnly(["AKIA2"]);
    await Promise.all(Array.from({ length: 8 }, () => api.getPublicKey({ KeyId: key.arn }, {})));
    expect(asked).toEqual([undefined, true]);
  });

  test("of a provider of the SDK may depend on the Region", async () => {
    // As `fromTemporaryCredentials` and others in @aws-sdk/credential-providers are declared.
    type ClientConfig = { profile?: string; region(): Promise<string> };
    const provider = async (properties: { callerClientConfig?: ClientConfig } = {}) => ({
      ...pair,
      accessKeyId: `AKIA-${await properties.callerClientConfig?.region()}`,
    });
    await open({ credentials: provider }).getPublicKey({ KeyId: key.arn }, {});
    expect(fake.requests).toMatchObject([{ accessKeyId: `AKIA-${region}` }]);
  });

  test("from STS are fetched through the caller's agent", async () => {
    provideCredentials(undefined);
    process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = await writeTemporary("token");
    process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
    process.env["AWS_ENDPOINT_URL_STS"] = "https://127.0.0.1:1";
    process.env["AWS_REGION"] = region;
    const agent = new Agent();
    const addRequest = vi.spyOn(agent, "addRequest" as never);
    const api = open({ endpoint: "https://127.0.0.1:2", agent });
    await expect(openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("could not get credentials"),
    });
    expect(addRequest).toHaveBeenCalled();
  });

  test.each<[string, KmsOverHttpsOptions["credentials"], string]>([
    ["throws", () => Promise.reject(new Error("secret-1 is gone")), "access_denied"],
    ["returns nothing", () => ({}) as never, "access_denied"],
    [
      "cannot reach its source",
      () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" })),
      "unavailable",
    ],
    ["hangs", () => new Promise(() => {}), "timeout"],
  ])("of a function that %s are no lasting outage", async (_what, credentials, code) => {
    let failing = true;
    const api = open({
      credentials: (options) => (failing ? (credentials as never as () => never)() : { ...pair, ...options }),
      timeoutMs: 100,
    });
    const signing = openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } });
    await expect(signing).rejects.toMatchObject({ code });
    failing = false;
    await using signer = await openAwsKmsSigner({ key: key.arn, api });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test.each([
    [503, "unavailable"],
    [403, "access_denied"],
  ])("of a provider of the SDK whose source answers %d are %s", async (status, code) => {
    const source = createServer((_asked, response) => void response.writeHead(status).end());
    await new Promise<void>((listening) => source.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void source.close());
    const origin = `http://127.0.0.1:${(source.address() as AddressInfo).port}`;
    provideCredentials(undefined);
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${origin}/credentials`;
    const sdk = new KMSClient({ region });
    onTestFinished(() => sdk.destroy());
    const signing = openAwsKmsSigner({
      key: key.arn,
      api: open({ credentials: sdk.config.credentialDefaultProvider({ maxRetries: 0 }) }),
      policy: { maxAttempts: 1 },
    });
    await expect(signing).rejects.toMatchObject({
      code,
      message: expect.stringContaining(
        `could not get credentials: their source, ${origin}, answered HTTP status ${status}`,
      ),
    });
  });

  test("that do not arrive keep no call that is aborted", async () => {
    const caller = new AbortController();
    const api = open({ credentials: () => new Promise(() => {}) });
    const call = api.getPublicKey({ KeyId: key.arn }, { signal: caller.signal });
    setTimeout(() => caller.abort(), 20);
    await expect(call).rejects.toMatchObject({ code: "aborted" });
  });

  test("appear in no error, even if the service repeats the request", async () => {
    const api = open({ credentials: { ...pair, sessionToken: "session-token-1" } });
    fake.replyNext(
      {
        status: 403,
        contentType: "application/x-amz-json-1.1",
        body: JSON.stringify({
          __type: "InvalidSignatureException",
          message: "The canonical request was x-amz-security-token:session-token-1",
        }),
      },
      2,
    );
    const error: unknown = await openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } }).catch(
      (e: unknown) => e,
    );
    expect(error).toMatchObject({ code: "access_denied" });
    expect(inspect(error, { depth: 10 })).not.toMatch(/session-token-1|given-secret/);
  });

  test("with a line end are refused by name", async () => {
    const api = open({ credentials: { ...pair, sessionToken: "token\n" } });
    await expect(openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } })).rejects.toMatchObject({
      code: "access_denied",
      message: expect.stringContaining("a character that is not allowed in an HTTP header"),
    });
  });
});

test.each<[string, Partial<AwsKmsCredentials>]>([
  ["lasting credentials", {}],
  ["a session", { sessionToken: "session-token-1" }],
])("a request is signed as the SDK signs it, for KMS in the Region, with %s", async (_what, others) => {
  const received: IncomingHttpHeaders[] = [];
  const bodies: string[] = [];
  const receive = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    received.push(incoming.headers);
    bodies.push(await text(incoming));
    response.end("{}");
  };
  const service = createServer((incoming, response) => void receive(incoming, response));
  await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void service.close());
  const { port } = service.address() as AddressInfo;
  const pair = { accessKeyId: "AKIAGIVEN", secretAccessKey: "given-secret", ...others };
  const api = open({ region: "eu-central-2", endpoint: `http://127.0.0.1:${port}`, credentials: pair });
  await api.getPublicKey({ KeyId: key.arn }, {});
  const [headers = {}] = received;
  const scope = { region: "eu-central-2", service: "kms", host: `127.0.0.1:${port}`, path: "/" };
  const time = String(headers["x-amz-date"]).replace(/(....)(..)(..T..)(..)(..Z)/, "$1-$2-$3:$4:$5");
  const expected = await expectedHeaders(scope, pair, {
    headers: { "content-type": "application/x-amz-json-1.1", "x-amz-target": "TrentService.GetPublicKey" },
    body: bodies[0] ?? "",
    now: Date.parse(time),
  });
  expect(headers).toMatchObject({
    ...expected,
    "content-length": String(bodies[0]?.length),
    "user-agent": "signpost-aws-kms",
  });
  expect(bodies).toEqual([JSON.stringify({ KeyId: key.arn })]);
});

describe("a machine whose clock is wrong", () => {
  test.each([-7_200_000, -400_000, 400_000, 7_200_000])("by %i ms signs after one refusal", async (byMs) => {
    let refused = 0;
    const service = createServer((incoming, response) => {
      const stated = String(incoming.headers["x-amz-date"]);
      const time = Date.parse(stated.replace(/(....)(..)(..T..)(..)(..Z)/, "$1-$2-$3:$4:$5"));
      const trueNow = Date.now() + byMs;
      response.setHeader("date", new Date(trueNow).toUTCString());
      if (Math.abs(time - trueNow) <= 300_000) return void response.end("{}");
      refused += 1;
      response
        .writeHead(400)
        .end(JSON.stringify({ __type: "InvalidSignatureException", message: "Signature expired" }));
    });
    await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
    onTestFinished(() => void service.close());
    const { port } = service.address() as AddressInfo;
    const api = open({ endpoint: `http://127.0.0.1:${port}` });
    for (let call = 0; call < 3; call += 1) await expect(api.getPublicKey({ KeyId: key.arn }, {})).resolves.toEqual({});
    expect(refused).toBe(1);
  });
});

describe("a service with a private certificate authority", () => {
  const { cert, key: tlsKey } = selfSignedCertificate("localhost");

  async function serveTls(): Promise<string> {
    const service = createTlsServer({ cert, key: tlsKey }, (_incoming, response) => response.end("{}"));
    await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
    onTestFinished(() => {
      service.close();
      service.closeAllConnections();
    });
    return `https://localhost:${(service.address() as AddressInfo).port}`;
  }

  test("is refused by default", async () => {
    const api = open({ endpoint: await serveTls() });
    await expect(api.getPublicKey({ KeyId: key.arn }, {})).rejects.toMatchObject({
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
  });

  test("is reached with the file that AWS_CA_BUNDLE names", async () => {
    process.env["AWS_CA_BUNDLE"] = await writeTemporary(`# our authority\n${cert}`);
    const api = open({ endpoint: await serveTls() });
    await expect(api.getPublicKey({ KeyId: key.arn }, {})).resolves.toEqual({});
  });

  test("is reached without reading the file for each connection", async () => {
    process.env["AWS_CA_BUNDLE"] = await writeTemporary(cert);
    const read = vi.spyOn(tls, "createSecureContext");
    onTestFinished(() => read.mockRestore());
    const api = open({ endpoint: await serveTls() });
    await Promise.all([1, 2, 3].map(() => api.getPublicKey({ KeyId: key.arn }, {})));
    expect(read.mock.calls.filter(([options]) => options?.ca !== undefined)).toEqual([]);
  });

  test.each([
    ["is missing", async () => "/nonexistent/bundle.pem", "expected the path of a file that can be read"],
    ["is a folder", async () => tmpdir(), "expected a regular file, not a FIFO, device or folder"],
    [
      "is too long",
      () => writeTemporary(cert.padEnd(MAX_BUNDLE + 1)),
      `expected a file of at most ${MAX_BUNDLE} bytes`,
    ],
    ["has no certificate", () => writeTemporary("/etc/ssl/bundle.pem"), "expected a file with certificates in PEM"],
    ["has a key instead", () => writeTemporary(tlsKey), "expected a file with certificates in PEM"],
  ])("says so if that file %s", async (_what, path, message) => {
    process.env["AWS_CA_BUNDLE"] = await path();
    const opening = openAwsKmsSigner({ key: key.arn, endpoint: "https://localhost:1", transport: "https" });
    await expect(opening).rejects.toMatchObject({
      argument: "AWS_CA_BUNDLE",
      message: expect.stringContaining(`AWS_CA_BUNDLE: ${message}`) as string,
    });
  });

  test("is reached with a file of the greatest length", async () => {
    process.env["AWS_CA_BUNDLE"] = await writeTemporary(cert.padEnd(MAX_BUNDLE));
    const api = open({ endpoint: await serveTls() });
    await expect(api.getPublicKey({ KeyId: key.arn }, {})).resolves.toEqual({});
  });
});

describe("by default", () => {
  test("a request may take two seconds, and its connection one", async () => {
    const waits = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => waits.mockRestore());
    await open().getPublicKey({ KeyId: key.arn }, {});
    const limits = waits.mock.calls.map(([, ms]) => ms);
    expect(limits).toContain(2000);
    expect(limits).toContain(1000);
  });

  test("it opens 256 connections at most", async () => {
    const api = open({ timeoutMs: 60_000 });
    fake.faults.latencyMs = 500;
    const before = fake.sockets.total;
    await Promise.all(Array.from({ length: 300 }, () => api.getPublicKey({ KeyId: key.arn }, {})));
    expect(fake.sockets.total - before).toBe(256);
  });
});

test("an adapter opens every key URI over it", async () => {
  fake.pointAlias("alias/Op/2026", key);
  await using signer = await openSigner(`awskms:///alias/Op/2026?region=${region}`, [
    awsKms({ endpoint, transport: "https" }),
  ]);
  await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  expect(signer.uri).toBe(`awskms://127.0.0.1:${fake.port}/${key.arn}`);
});

test("an agent of the caller's makes the connections, and is left as it is", async () => {
  const agent = new Agent();
  const destroy = vi.spyOn(agent, "destroy");
  const addRequest = vi.spyOn(agent, "addRequest" as never);
  const api = kmsOverHttps({
    region,
    endpoint: "https://127.0.0.1:1",
    agent,
    credentials: { accessKeyId: "A", secretAccessKey: "b" },
  });
  await expect(api.getPublicKey({ KeyId: key.arn }, {})).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await api.close();
  expect(addRequest).toHaveBeenCalledOnce();
  expect(destroy).not.toHaveBeenCalled();
});

test.each([
  ["is for another protocol", () => new HttpAgent() as Agent, "invalid_argument", "the agent is for http"],
  ["gives no code", () => refusingAgent(new Error("Bad response: 503")), "unavailable", "cannot be reached"],
  ["gives no error", () => refusingAgent("Bad response: 503"), "unavailable", "cannot be reached"],
])("an agent that %s is no unknown failure", async (_what, agentOf, code, text) => {
  const credentials = { accessKeyId: "A", secretAccessKey: "b" };
  const api = open({ endpoint: "https://127.0.0.1:1", agent: agentOf(), credentials });
  await expect(openAwsKmsSigner({ key: key.arn, api, policy: { maxAttempts: 1 } })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(text),
  });
});

/** As one whose proxy refuses. */
function refusingAgent(reason: unknown): Agent {
  const refuse = (_options: unknown, made: (reason: unknown) => void): void => made(reason);
  return Object.assign(new Agent(), { createConnection: refuse });
}
