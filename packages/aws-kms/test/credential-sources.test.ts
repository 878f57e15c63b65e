import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { failoverSigner, guardSigner, type SignerErrorCode } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { clientOf, provideConfiguration, provideCredentials } from "./environment.ts";

const DIGEST = randomBytes(32);
const fake = await startFakeAwsKms();
const key = fake.addKey();
const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
const folder = mkdtempSync(join(tmpdir(), "aws-sources-"));

/** Plays every source of credentials. */
let answer: (asked: IncomingMessage, response: ServerResponse) => void = () => undefined;
const source = createServer((asked, response) => answer(asked, response));
// By 127.0.0.2 a container's endpoint is one that the SDK asks in one of its two ways alone, as it asks EKS.
await new Promise<void>((listening) => source.listen(0, "0.0.0.0", listening));
const { port } = source.address() as AddressInfo;

beforeEach(() => provideCredentials(undefined));
afterEach(() => {
  fake.reset();
  source.closeAllConnections();
});
afterAll(async () => {
  source.close();
  rmSync(folder, { recursive: true });
  await fake.stop();
});

const Expiration = new Date(Date.now() + 3_600_000).toISOString();
const ISSUED = { AccessKeyId: "AKIA1", SecretAccessKey: "secret-1", Token: "token-1", Expiration };

const configure = (text: string): void => provideConfiguration(folder, text);

interface Source {
  readonly name: string;
  /** Tells the SDK to ask it at this origin. */
  configure(origin: string): void;
  /** What it gives when it is well. */
  readonly credentials: (asked: IncomingMessage) => string;
  /** The status of a refusal. */
  readonly refusal: number;
}

const STS = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKIA1</AccessKeyId><SecretAccessKey>secret-1</SecretAccessKey><SessionToken>token-1</SessionToken><Expiration>${Expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;

const metadata = ({ url = "" }: IncomingMessage): string => {
  if (url.endsWith("/token")) return "metadata-token";
  return url.endsWith("/") ? "op" : JSON.stringify({ Code: "Success", ...ISSUED });
};

const SOURCES: readonly Source[] = [
  {
    name: "a container's endpoint",
    configure: (origin) => void (process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${origin}/credentials?id=1`),
    credentials: () => JSON.stringify(ISSUED),
    refusal: 403,
  },
  {
    name: "an endpoint of EKS Pod Identity",
    configure: (origin) => {
      process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${origin.replace("127.0.0.1", "127.0.0.2")}/v1/credentials`;
      writeFileSync(join(folder, "eks-token"), "token");
      process.env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = join(folder, "eks-token");
    },
    credentials: () => JSON.stringify(ISSUED),
    refusal: 404,
  },
  {
    name: "SSO",
    configure: (origin) => {
      process.env["AWS_ENDPOINT_URL_SSO"] = origin;
      process.env["HOME"] = folder;
      const cache = join(folder, ".aws", "sso", "cache");
      mkdirSync(cache, { recursive: true });
      const start = "https://start.example/";
      const file = `${createHash("sha1").update(start).digest("hex")}.json`;
      writeFileSync(join(cache, file), JSON.stringify({ accessToken: "sso-token", expiresAt: Expiration }));
      configure(
        `[default]\nsso_start_url = ${start}\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = op\n`,
      );
    },
    credentials: () =>
      JSON.stringify({
        roleCredentials: {
          accessKeyId: "AKIA1",
          secretAccessKey: "secret-1",
          sessionToken: "token-1",
          expiration: Date.parse(Expiration),
        },
      }),
    refusal: 401,
  },
  {
    name: "the metadata service of EC2",
    configure: (origin) => {
      delete process.env["AWS_EC2_METADATA_DISABLED"];
      process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = origin;
    },
    credentials: metadata,
    refusal: 404,
  },
  {
    name: "the metadata service of EC2 in a profile",
    configure: (origin) => {
      delete process.env["AWS_EC2_METADATA_DISABLED"];
      configure(`[default]\nec2_metadata_service_endpoint = ${origin}\n`);
    },
    credentials: metadata,
    refusal: 404,
  },
  {
    name: "STS for a web identity",
    configure: (origin) => {
      process.env["AWS_ENDPOINT_URL_STS"] = origin;
      process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
      process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = join(folder, "web-token");
      writeFileSync(join(folder, "web-token"), "web-identity-token");
    },
    credentials: () => STS,
    refusal: 403,
  },
];

const open = (options: object = {}) =>
  openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: { maxAttempts: 1 }, ...options });

describe.each(SOURCES)("$name", ({ configure: tell, credentials, refusal }) => {
  beforeEach(() => {
    tell(`http://127.0.0.1:${port}`);
  });
  const reply = (status: number, body: string | ((asked: IncomingMessage) => string)): void => {
    answer = (asked, response) => {
      response.statusCode = status;
      response.end(typeof body === "string" ? body : body(asked));
    };
  };

  test("that is well gives them", async () => {
    reply(200, credentials);
    await using signer = await open();
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(fake.requests.map(({ accessKeyId }) => accessKeyId)).toEqual(["AKIA1", "AKIA1"]);
  });

  test.each<[string, number, string]>([
    ["500", 500, ""],
    ["503 with a page", 503, "<html>"],
  ])("that answers %s passes, as the first signature when it does not", async (_what, status, body) => {
    reply(status, body);
    await expect(open()).rejects.toMatchObject({
      code: "unavailable",
      transient: true,
      message: expect.stringMatching(/^kms:GetPublicKey of arn:.* failed: could not get credentials: /),
    });
    await using signer = await open({ publicKey });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "unavailable", transient: true });
    reply(200, credentials);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test.each<[string, number, string]>([
    ["200 and the page of a proxy", 200, "<html>log in</html>"],
    ["200 and nothing", 200, ""],
    ["200 and a page of some lines", 200, "<html>\nlog in\n</html>"],
    ["302", 302, ""],
  ])("that answers %s passes", async (_what, status, body) => {
    reply(status, body);
    await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
  });

  test("whose answer is cut off passes, and shows nothing of it", async () => {
    const cut = (text: string): string => (/^[{<]/.test(text) ? text.slice(0, text.indexOf("secret-1") + 9) : text);
    reply(200, (asked) => cut(credentials(asked)));
    const failed: unknown = await open().catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "unavailable", transient: true });
    reply(200, (asked) => cut(credentials(asked)).replace(/"$/, '" x'));
    const damaged: unknown = await open().catch((error: unknown) => error);
    expect(inspect([failed, damaged], { depth: Infinity, showHidden: true })).not.toContain("ecret-1");
  });

  test("that cannot be reached passes, and a failover moves on", async () => {
    tell("http://127.0.0.1:1");
    await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
    const second = { publicKey, policy: false, endpoint: undefined, client: clientOf(fake) };
    const places = [await open({ publicKey, policy: false }), await open(second)];
    await using both = guardSigner(failoverSigner(places));
    await expect(both.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("that refuses does not pass, and shows nothing of what it was sent", async () => {
    reply(refusal, '{"Message":"no","__type":"UnauthorizedException"}');
    const refused: unknown = await open().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "access_denied", transient: false });
    expect(inspect(refused, { depth: Infinity, showHidden: true })).not.toMatch(/sso-token|web-identity-token/);
  });
});

describe.each(SOURCES.filter(({ name }) => name === "SSO" || name.startsWith("STS")))("$name", (source) => {
  const { name, configure: tell, credentials } = source;

  test("in the clear off the loopback interface is sent nothing, unless the option allows it", async () => {
    let requests = 0;
    answer = (asked, response) => {
      requests += 1;
      response.end(credentials(asked));
    };
    tell(`http://0.0.0.0:${port}`);
    const refused: unknown = await open().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "access_denied", transient: false });
    if (name !== "SSO") expect(refused).toMatchObject({ message: expect.stringContaining("allowInsecureEndpoint") });
    expect(requests).toBe(0);
    await using signer = await open({ allowInsecureEndpoint: true });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(requests).toBe(1);
  });
});

test.each<[string, number, string]>([
  ["that is down", 503, "{}"],
  ["that answers 200 and a page", 200, "<html>"],
])(
  "SSO-OIDC %s passes, where the portal's token has to be renewed, even if it is not asked again",
  async (what, status, page) => {
    const session = what.replaceAll(" ", "-");
    process.env["AWS_ENDPOINT_URL_SSO_OIDC"] = `http://127.0.0.1:${port}`;
    process.env["HOME"] = folder;
    const cache = join(folder, ".aws", "sso", "cache");
    mkdirSync(cache, { recursive: true });
    const expired = { accessToken: "t", expiresAt: new Date(Date.now() - 1000).toISOString() };
    const renewal = { refreshToken: "r", clientId: "c", clientSecret: "s", region: "eu-west-1" };
    const file = `${createHash("sha1").update(session).digest("hex")}.json`;
    writeFileSync(join(cache, file), JSON.stringify({ ...expired, ...renewal }));
    configure(
      `[default]\nsso_session = ${session}\nsso_account_id = 1\nsso_role_name = op\n[sso-session ${session}]\nsso_region = eu-west-1\nsso_start_url = https://start.example/\n`,
    );
    let requests = 0;
    answer = (_asked, response) => {
      requests += 1;
      response.writeHead(status).end(page);
    };
    await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
    // The SDK renews a token at most every 30 seconds. Until then it only says that the token has expired.
    const before = requests;
    await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
    expect(requests).toBe(before);
  },
);

test.each<[string, (response: ServerResponse) => unknown, SignerErrorCode]>([
  ["answers 503", (response) => response.writeHead(503).end(), "unavailable"],
  ["answers 429", (response) => response.writeHead(429).end(), "throttled"],
  ["is cut off", (response) => response.destroy(), "unavailable"],
  ["refuses", (response) => response.writeHead(403).end(), "access_denied"],
])("a metadata service without version 1, whose token request %s, is judged by that", async (_what, token, code) => {
  delete process.env["AWS_EC2_METADATA_DISABLED"];
  process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = `http://127.0.0.1:${port}`;
  answer = ({ url = "" }, response) => {
    if (url.endsWith("/token")) token(response);
    else response.writeHead(401).end();
  };
  await expect(open()).rejects.toMatchObject({ code, transient: code !== "access_denied" });
});

test("a gateway in front of STS that has lost its route passes", async () => {
  process.env["AWS_ENDPOINT_URL_STS"] = `http://127.0.0.1:${port}`;
  process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
  process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = join(folder, "web-token");
  writeFileSync(join(folder, "web-token"), "web-identity-token");
  answer = (_asked, response) => void response.writeHead(404, { "content-type": "text/html" }).end("<html></html>");
  await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
});

test("a container's endpoint with https that cannot be reached passes", async () => {
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "https://127.0.0.1:1/credentials";
  await expect(open()).rejects.toMatchObject({ code: "unavailable", transient: true });
});

describe("no source at all", () => {
  test("is access_denied at once", async () => {
    await expect(open()).rejects.toMatchObject({ code: "access_denied", transient: false });
  });

  test.each<[string, string, SignerErrorCode]>([
    ["a credentials endpoint that no client may ask", "http://example.com/credentials", "access_denied"],
    ["one that is no URL", "credentials", "access_denied"],
  ])("and %s is access_denied", async (_what, uri, code) => {
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = uri;
    await expect(open()).rejects.toMatchObject({ code, transient: false });
  });

  test("of a client of the caller's is access_denied, and one that is down passes", async () => {
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/mine";
    const none = Object.assign(new Error("Could not load credentials from any providers"), {
      name: "CredentialsProviderError",
    });
    const ask = (): Promise<never> =>
      new Promise((_resolve, reject) => {
        request("http://127.0.0.1:1/mine")
          .once("error", () => reject(none))
          .end();
      });
    const openWith = (credentials: () => Promise<never>) =>
      open({ client: clientOf(fake, { credentials }), endpoint: undefined });
    await expect(openWith(() => Promise.reject(none))).rejects.toMatchObject({ code: "access_denied" });
    await expect(openWith(ask)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("and one whose answer a client of the caller's cannot read passes", async () => {
    const url = `http://127.0.0.1:${port}/mine`;
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    answer = (_asked, response) => response.end("<html>");
    const credentials = async (): Promise<never> => {
      const page = await new Promise<IncomingMessage>((resolve) => void request(url).once("response", resolve).end());
      JSON.parse((await page.toArray()).join(""));
      throw new Error("expected a page");
    };
    const opening = open({ client: clientOf(fake, { credentials }), endpoint: undefined });
    await expect(opening).rejects.toMatchObject({ code: "unavailable", transient: true });
  });
});
