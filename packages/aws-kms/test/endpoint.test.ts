import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { Socket, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openSigner } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import { awsKms, openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { formatKeyUri, parseKeyUri } from "../src/uri.ts";
import { clientOf, provideConfiguration, provideCredentials } from "./environment.ts";

const DIGEST = randomBytes(32);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
/** Reaches the fake, and is no loopback address by its name. */
const insecure = `http://0.0.0.0:${fake.port}`;
const folder = mkdtempSync(join(tmpdir(), "aws-config-"));
const FROM_SDK = "from AWS_ENDPOINT_URL_KMS, AWS_ENDPOINT_URL or the SDK's configuration files";

beforeEach(() => {
  fake.reset();
  provideCredentials(fake.credentials);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await fake.stop();
});

const configure = (text: string): void => provideConfiguration(folder, text);

/** How the SDK is told an endpoint. */
const PLACES: readonly (readonly [place: string, tell: (url: string) => void])[] = [
  ["AWS_ENDPOINT_URL_KMS", (url) => void (process.env["AWS_ENDPOINT_URL_KMS"] = url)],
  ["AWS_ENDPOINT_URL", (url) => void (process.env["AWS_ENDPOINT_URL"] = url)],
  ["endpoint_url of the profile", (url) => configure(`[default]\nendpoint_url = ${url}\n`)],
  [
    "a services section",
    (url) => configure(`[default]\nservices = all\n[services all]\nkms =\n  endpoint_url = ${url}\n`),
  ],
];

describe.each(PLACES)("an endpoint from %s", (_place, tell) => {
  test("is called, named by the URI and shown by health", async () => {
    tell(fake.endpoint);
    await using signer = await openAwsKmsSigner({ key: key.arn });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(fake.requests).toHaveLength(2);
    expect(signer.uri).toBe(`awskms://127.0.0.1:${fake.port}/${key.arn}`);
    expect(signer.health().notes).toEqual([`endpoint ${fake.endpoint}, ${FROM_SDK}`]);
  });

  test("in the clear off the loopback interface is refused before anything is sent", async () => {
    tell(insecure);
    for (const options of [{}, { publicKey }, { allowInsecureEndpoint: false }]) {
      await expect(openAwsKmsSigner({ key: key.arn, ...options })).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "endpoint",
        message: expect.stringContaining(`got ${insecure}, ${FROM_SDK}`),
      });
    }
    await expect(openSigner(`awskms:///${key.arn}`, [awsKms()])).rejects.toMatchObject({ argument: "endpoint" });
    expect(fake.requests).toEqual([]);
  });

  test("in the clear is called where the option allows it, and its URI opens again", async () => {
    tell(insecure);
    const adapter = awsKms({ allowInsecureEndpoint: true });
    await using signer = await openSigner(`awskms:///${key.arn}`, [adapter]);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(signer.uri).toBe(`awskms://0.0.0.0:${fake.port}/${key.arn}?scheme=http`);
    expect(signer.health().notes).toEqual([`endpoint ${insecure}, ${FROM_SDK}`]);

    provideCredentials(fake.credentials);
    await using again = await openSigner(signer.uri, [adapter]);
    expect(again.uri).toBe(signer.uri);
    await expect(openSigner(signer.uri, [awsKms()])).rejects.toMatchObject({ argument: "uri" });
  });

  test("gives way to the option, and to a key URI", async () => {
    tell(insecure);
    await using first = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint });
    await using second = await openSigner(first.uri, [awsKms()]);
    expect(second.uri).toBe(`awskms://127.0.0.1:${fake.port}/${key.arn}`);
    expect([...first.health().notes, ...second.health().notes]).toEqual([]);
  });

  test("is ignored with AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", async () => {
    tell(insecure);
    process.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
    await using signer = await openAwsKmsSigner({ key: key.arn, publicKey });
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
  });
});

describe("an endpoint", () => {
  test("of the environment that has a path is called there, and shown by health alone", async () => {
    process.env["AWS_ENDPOINT_URL_KMS"] = `${fake.endpoint}/kms`;
    await using signer = await openAwsKmsSigner({ key: key.arn });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
    expect(signer.health().notes).toEqual([`endpoint ${fake.endpoint}/kms, ${FROM_SDK}`]);
  });

  test.each(["/kms", "/kms/", "//kms//v1"])(
    "of the environment with the path %s gets the same requests",
    async (path) => {
      const called: (string | undefined)[] = [];
      const service = createServer((incoming, response) => {
        called.push(incoming.url);
        response.writeHead(400).end('{"__type":"NotFoundException"}');
      });
      await new Promise<void>((listening) => service.listen(0, "127.0.0.1", listening));
      onTestFinished(() => void service.close());
      process.env["AWS_ENDPOINT_URL_KMS"] = `http://127.0.0.1:${(service.address() as AddressInfo).port}${path}`;
      await expect(openAwsKmsSigner({ key: key.arn })).rejects.toMatchObject({ code: "key_not_found" });
      expect(called).toEqual([path.replace(/\/?$/, "/")]);
    },
  );

  test("over TLS on the loopback interface is no other than over TLS elsewhere", async () => {
    const options = { key: key.arn, publicKey, endpoint: "https://127.0.0.1:4566" };
    await using signer = await openAwsKmsSigner(options);
    expect(signer.uri).toBe(`awskms://127.0.0.1:4566/${key.arn}?scheme=https`);
    process.env["AWS_ENDPOINT_URL"] = options.endpoint;
    await using second = await openAwsKmsSigner({ key: key.arn, publicKey });
    expect(second.uri).toBe(signer.uri);
  });

  test.each(["ftp://127.0.0.1:1", "localhost:4566", "nonsense"])(
    "of the environment that is %s is refused",
    async (url) => {
      process.env["AWS_ENDPOINT_URL"] = url;
      await expect(openAwsKmsSigner({ key: key.arn, publicKey })).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "endpoint",
        message: expect.stringContaining(FROM_SDK),
      });
    },
  );

  test.each([
    "http://user:hunter2@localhost:99999",
    "http://user:hunter2@[::1",
    "http://user:hunter2@localhost:1/?a=b",
  ])("of the environment with a password is never shown (%#)", async (url) => {
    process.env["AWS_ENDPOINT_URL_KMS"] = url;
    const outcome: unknown = await openAwsKmsSigner({ key: key.arn, publicKey }).catch((error: unknown) => error);
    expect(inspect(outcome, { depth: Infinity, showHidden: true })).not.toContain("hunter2");
  });

  test.each([
    "https://kms",
    "https://kms-proxy",
    "https://kms:8443",
    "http://localstack",
    "http://local_stack:4566",
    "https://local_stack:4566",
    "https://a~b.example",
    "https://kms.example.",
    "https://127.0.0.1",
    "http://[::1]:4566",
    "https://kms.internal:80",
  ])("at %s has a URI that opens again", async (endpoint) => {
    const options = { publicKey, allowInsecureEndpoint: true };
    await using signer = await openAwsKmsSigner({ ...options, key: key.arn, endpoint });
    const named = parseKeyUri(signer.uri, { allowInsecureEndpoint: true });
    expect(named.endpoint?.url).toBe(endpoint);
    expect(formatKeyUri(named.key, named.endpoint)).toBe(signer.uri);
  });

  test("of the environment does not touch a client of the caller's", async () => {
    process.env["AWS_ENDPOINT_URL"] = insecure;
    await using signer = await openAwsKmsSigner({ key: key.arn, client: clientOf(fake) });
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
  });

  test("that is given says what else would be accepted", async () => {
    const opening = openAwsKmsSigner({ key: key.arn, endpoint: "http://localstack:4566" });
    await expect(opening).rejects.toMatchObject({ message: expect.stringContaining("allowInsecureEndpoint: true") });
    const withPath = openAwsKmsSigner({ key: key.arn, endpoint: `${fake.endpoint}/kms` });
    await expect(withPath).rejects.toMatchObject({ message: expect.stringMatching(/interface, without path/) });
  });
});

describe.each(["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])("%s", (flag) => {
  test.each<[string, string | undefined, string | undefined]>([
    ["the option", fake.endpoint, undefined],
    ["the environment", undefined, fake.endpoint],
  ])("gives way to the endpoint of %s, and health says so", async (_what, endpoint, url) => {
    process.env[flag] = "true";
    if (url !== undefined) process.env["AWS_ENDPOINT_URL_KMS"] = url;
    await using signer = await openAwsKmsSigner({ key: key.arn, endpoint });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    const note = `${flag} is set (or its setting in a profile) and was overridden by the endpoint ${fake.endpoint}`;
    expect(signer.health().notes).toEqual([...(url === undefined ? [] : [`endpoint ${url}, ${FROM_SDK}`]), note]);
  });

  test("conflicts with the endpoint of the caller's client, and the error says so", async () => {
    process.env[flag] = "true";
    await expect(openAwsKmsSigner({ key: key.arn, client: clientOf(fake) })).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(
        /the client's endpoint conflicts with its FIPS or dual-stack setting \(EndpointError\)$/,
      ),
    });
  });

  test("without an endpoint stays in force, and health names the endpoint", async () => {
    process.env[flag] = "true";
    await using signer = await openAwsKmsSigner({ key: key.arn, publicKey });
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
    const url = flag.includes("FIPS") ? "https://kms-fips.eu-west-1.amazonaws.com" : "https://kms.eu-west-1.api.aws";
    expect(signer.health().notes).toEqual([`endpoint ${url} (${flag})`, "the public key was given, not fetched"]);
  });
});

describe.each(["sdk", "https"] as const)("a flag that the SDK ignores, over %s,", (transport) => {
  const FLAGS: readonly (readonly [flag: string, set: (value: string) => void, named: string])[] = [
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
  ].flatMap((variable) => {
    const setting = variable.slice(4).toLowerCase();
    return [
      [variable, (value: string) => void (process.env[variable] = value), variable],
      [setting, (value: string) => configure(`[default]\n${setting} = ${value}\n`), `${setting} of the profile`],
    ] as const;
  });

  test.each(FLAGS)("%s, is refused", async (_flag, set, named) => {
    for (const value of ["TRUE", "1", "yes"]) {
      set(value);
      await expect(openAwsKmsSigner({ key: key.arn, publicKey, transport })).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "endpoint",
        message: `endpoint: expected true or false in ${named}: the SDK ignores any other value`,
      });
    }
  });

  test.each(FLAGS)("%s, is none if it is empty, and gives way to an endpoint", async (_flag, set) => {
    set("");
    await using signer = await openAwsKmsSigner({ key: key.arn, publicKey, transport });
    expect(signer.uri).toBe(`awskms:///${key.arn}`);
    set("TRUE");
    await using other = await openAwsKmsSigner({ key: key.arn, publicKey, transport, endpoint: fake.endpoint });
    await expect(other.sign(DIGEST)).resolves.toHaveLength(64);
  });
});

describe("a Region that selects the FIPS endpoint", () => {
  const id = key.arn.split("/").at(-1) ?? "";

  test.each<[string, string | undefined, string | undefined]>([
    ["AWS_REGION=fips-us-east-1", "fips-us-east-1", undefined],
    ["the option fips-us-east-1", undefined, "fips-us-east-1"],
    ["the option us-east-1-fips", undefined, "us-east-1-fips"],
  ])("%s is called there, and the URI says so", async (_what, variable, region) => {
    if (variable !== undefined) process.env["AWS_REGION"] = variable;
    const called: unknown[] = [];
    const connect = vi.spyOn(Socket.prototype, "connect").mockImplementation(function (
      this: Socket,
      ...args: unknown[]
    ) {
      const [to] = args.flat();
      called.push(memberOf(to, "host"));
      setImmediate(() => this.destroy(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })));
      return this;
    });
    try {
      const opening = openAwsKmsSigner({ key: id, region, policy: { maxAttempts: 1 }, openDeadlineMs: 1000 });
      const uri = `awskms://kms-fips.us-east-1.amazonaws.com/${id}?region=us-east-1`;
      await expect(opening).rejects.toMatchObject({ code: "unavailable", uri });
      expect(new Set(called)).toEqual(new Set(["kms-fips.us-east-1.amazonaws.com"]));
    } finally {
      connect.mockRestore();
    }
  });
});
