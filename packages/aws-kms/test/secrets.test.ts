import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import { awsKms, openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
import { kmsOverHttps } from "@signpost/aws-kms/https";
import {
  dumpOf,
  ECHO_FORMS,
  ECHO_STATUSES,
  echoOf,
  leavesOf,
  startEchoProxy,
  withLeaf,
} from "@signpost/test-backends/echo-proxy";
import { AWS_KMS_FAULTS, startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { chosen, partners } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedJwt, markedText, type MarkedText } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { clientOf, provideConfiguration, provideCredentials } from "./environment.ts";

// Every failure path with marked secrets: nothing that a program can log contains a part of one.

const DIGEST = new Uint8Array(32).fill(7);
/** Long, so that a busy machine changes no result. */
const STEADY = { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 } as const;
/** Where nothing answers. */
const HASTY = { attemptTimeoutMs: 100, deadlineMs: 150, maxAttempts: 1 } as const;

const secretAccessKey = markedText("the secret access key");
const sessionToken = markedText("the session token");
const ssoToken = markedText("the token of SSO");
const containerToken = markedText("the token of a container");
const inUrl = markedText("what a URL contains");
const web = markedJwt("the web identity token");
const webToken: MarkedText = { name: "the web identity token", text: web.jwt, bytes: Buffer.from(web.jwt) };
const wrong = misplacedSecrets("a misplaced secret");
const CREDENTIALS = [secretAccessKey, sessionToken, ssoToken, containerToken, webToken];
const issued = {
  accessKeyId: "AKIAMARKED0000000000",
  secretAccessKey: secretAccessKey.text,
  sessionToken: sessionToken.text,
};

/** The error codes of the service that the adapter knows. */
const ERROR_NAMES: readonly string[] = [
  ...readFileSync(fileURLToPath(new URL("../src/error-table.ts", import.meta.url)), "utf8").matchAll(
    /^ {2}(?:\[|\s+)"(\w+)",/gm,
  ),
].map(([, name = ""]) => name);

const fake = await startFakeAwsKms();
const key = fake.addKey();
const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};
const proxy = await startEchoProxy(fake.endpoint);
const folder = mkdtempSync(join(tmpdir(), "signpost-aws-secrets-"));
const watch = watchLeaks([...CREDENTIALS, inUrl, ...web.secrets, ...wrong.secrets]);

function useCredentials(): void {
  provideCredentials(issued);
  process.env["AWS_SESSION_TOKEN"] = sessionToken.text;
}

beforeEach(() => {
  fake.reset();
  proxy.reset();
  useCredentials();
});
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(async () => {
  watch[Symbol.dispose]();
  rmSync(folder, { recursive: true });
  await proxy[Symbol.asyncDispose]();
  await fake.stop();
});

/** Opens, signs, asks for the health and closes. Everything that comes of it is searched. */
async function drive(
  what: string,
  open: () => Promise<Signer>,
  during: () => unknown = () => undefined,
  patienceMs: number = 20_000,
): Promise<void> {
  let signer: Signer | undefined;
  await watch.sawCall(async () => (signer = await open()), `opening with ${what}`);
  if (signer === undefined) return;
  const opened = signer;
  await during();
  await watch.sawCall(() => opened.sign(DIGEST, { signal: AbortSignal.timeout(patienceMs) }), `signing with ${what}`);
  if ("health" in opened) watch.saw((opened as { health(): unknown }).health(), `health with ${what}`);
  await watch.sawCall(() => opened.close(), `closing with ${what}`);
}

interface Way {
  readonly name: string;
  open(endpoint: string, options?: object): Promise<Signer>;
}

const WAYS: readonly Way[] = [
  {
    name: "a client of its own",
    open: (endpoint, options) => openAwsKmsSigner({ key: key.arn, endpoint, policy: STEADY, ...options }),
  },
  {
    name: "a client of the caller's",
    open: (endpoint, options) => {
      const client = clientOf(
        { region: fake.region, endpoint, credentials: issued },
        { requestHandler: { requestTimeout: 20_000, throwOnRequestTimeout: true } as never },
      );
      return openAwsKmsSigner({ key: key.arn, client, policy: STEADY, ...options });
    },
  },
  {
    name: "a transport of the caller's",
    open: (endpoint, options) => {
      const api = kmsOverHttps({ region: fake.region, endpoint, credentials: issued, timeoutMs: 20_000 });
      return openAwsKmsSigner({ key: key.arn, api, policy: STEADY, ...options });
    },
  },
];

const NAMES = WAYS.map(({ name }) => name);

describe.each(WAYS)("with $name", ({ name, open }) => {
  test.each(AWS_KMS_FAULTS.filter((fault) => fault !== "unreachable"))("the fault %s", async (fault) => {
    const isSilent = /hang|slow/.test(fault);
    const policy = isSilent ? HASTY : STEADY;
    fake.faults.on(fault);
    await drive(name, () => open(fake.endpoint, { policy }));
    fake.faults.off(fault);
    for (const each of [policy, false] as const) {
      const during = (): void => fake.faults.on(fault);
      await drive(name, () => open(fake.endpoint, { policy: each, publicKey }), during, isSilent ? 100 : undefined);
      fake.faults.off(fault);
    }
  });

  test("a service that is away", async () => {
    await fake.goAway();
    await drive(name, () => open(fake.endpoint));
    await drive(name, () => open(fake.endpoint, { publicKey }));
    await fake.comeBack();
  });

  const answerWith = async (status: number, type: string, echo: (dump: string) => string): Promise<void> => {
    proxy.answer = (request) => {
      const text = echo(dumpOf(request));
      const header = text.replaceAll(/[^\x21-\x7e]+/g, " ").slice(0, 4000);
      const headers = {
        "x-amzn-requestid": header,
        "x-amzn-errortype": header,
        location: `https://x.example/${encodeURIComponent(header)}`,
      };
      return {
        status,
        headers,
        body: JSON.stringify({ __type: type, message: text, [text]: text }),
        reason: header.slice(0, 200),
      };
    };
    const policy = STEADY;
    await drive(`${name}, ${status} ${type}`, () => open(proxy.url, { policy }));
    await drive(`${name}, ${status} ${type}`, () => open(proxy.url, { policy, publicKey }));
  };

  test.each(chosen(ECHO_STATUSES, 9))("a proxy that answers %i and repeats the request", async (status) => {
    await answerWith(status, "", (dump) => dump);
    await answerWith(status, "MadeUpException", (dump) => dump);
  });

  test.each(partners(NAMES, name, ERROR_NAMES, 3))("%s with a message that repeats the request", async (type) => {
    const echoes = [(dump: string) => dump, () => echoOf([sessionToken], "as it is")];
    for (const echo of partners(ERROR_NAMES, type, echoes, 2)) await answerWith(400, type, echo);
  });

  test.each(Object.keys(ECHO_FORMS))("a message that repeats the session token, %s", async (form) => {
    const types = ["AccessDeniedException", "UnrecognizedClientException", "ValidationException", "MadeUp"];
    for (const type of partners(Object.keys(ECHO_FORMS), form, types, 4)) {
      await answerWith(400, type, () => echoOf([sessionToken], form));
      await answerWith(500, echoOf([sessionToken], form), () => echoOf([sessionToken], form));
    }
  });

  test("a member of a right answer that repeats the session token", async () => {
    let leaves = 1;
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      proxy.change = (body) => {
        leaves = Math.max(leavesOf(body), leaves);
        return withLeaf(body, leaf, sessionToken.text);
      };
      await drive(`${name}, member ${leaf}`, () => open(proxy.url));
      await drive(`${name}, member ${leaf}`, () => open(proxy.url, { publicKey }));
    }
  });
});

describe("a transport of the caller's", () => {
  const codes = ["ECONNRESET", "ETIMEDOUT", "ERR_INVALID_CHAR", "HPE_X", "EISDIR", undefined];
  test.each(chosen(codes, 4))("whose errors repeat the request, with the code %s", async (code) => {
    for (const form of chosen(Object.keys(ECHO_FORMS), 3)) {
      for (const name of ["Error", "AccessDeniedException", "CredentialsProviderError", sessionToken.text]) {
        const text = `Authorization: AWS4-HMAC-SHA256 x-amz-security-token ${echoOf([sessionToken], form)}`;
        const inner = new AggregateError([new Error(text)], text, { cause: new Error(text) });
        const fail = (): Promise<never> =>
          Promise.reject(
            Object.assign(new Error(text, { cause: inner }), {
              code,
              name,
              path: text,
              syscall: "open",
              $response: { headers: text },
            }),
          );
        const api: AwsKmsApi = { getPublicKey: fail, sign: fail };
        await drive("a transport", () => openAwsKmsSigner({ key: key.arn, api, policy: STEADY }));
        await drive("a transport", () => openAwsKmsSigner({ key: key.arn, api, publicKey, policy: false }));
      }
    }
  });
});

describe("a source of credentials", () => {
  let status = 200;
  let text: (asked: IncomingMessage, body: string) => string = () => "";
  const source = createServer((asked, response) => {
    let body = "";
    asked.on("data", (chunk) => (body += String(chunk)));
    asked.on("end", () => response.writeHead(status).end(text(asked, body)));
  });
  const origin = new Promise<string>((listening) =>
    source.listen(0, "127.0.0.1", () => listening(`http://127.0.0.1:${(source.address() as AddressInfo).port}`)),
  );
  afterAll(() => {
    source.closeAllConnections();
    source.close();
  });

  const expiration = new Date(Date.now() + 3_600_000).toISOString();
  const sources: Readonly<Record<string, (at: string) => void>> = {
    "a container": (at) => {
      process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${at}/credentials?id=${encodeURIComponent(inUrl.text)}`;
      process.env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = containerToken.text;
    },
    "a container with a token file": (at) => {
      process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${at}/credentials`;
      writeFileSync(join(folder, "container-token"), containerToken.text);
      process.env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = join(folder, "container-token");
    },
    "STS for a web identity": (at) => {
      process.env["AWS_ENDPOINT_URL_STS"] = at;
      process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
      writeFileSync(join(folder, "web-token"), webToken.text);
      process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = join(folder, "web-token");
    },
    "STS for a role of a profile": (at) => {
      process.env["AWS_ENDPOINT_URL_STS"] = at;
      provideConfiguration(
        folder,
        `[default]\nrole_arn = arn:aws:iam::111122223333:role/op\nsource_profile = base\nregion = eu-west-1\n[profile base]\naws_access_key_id = AKIA1\naws_secret_access_key = ${secretAccessKey.text}\naws_session_token = ${sessionToken.text}\n`,
      );
    },
    SSO: (at) => {
      process.env["AWS_ENDPOINT_URL_SSO"] = at;
      process.env["HOME"] = folder;
      const cache = join(folder, ".aws", "sso", "cache");
      mkdirSync(cache, { recursive: true });
      const file = `${createHash("sha1").update("https://start.example/").digest("hex")}.json`;
      writeFileSync(join(cache, file), JSON.stringify({ accessToken: ssoToken.text, expiresAt: expiration }));
      provideConfiguration(
        folder,
        "[default]\nsso_start_url = https://start.example/\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = op\n",
      );
    },
    "the metadata service": (at) => {
      delete process.env["AWS_EC2_METADATA_DISABLED"];
      process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = at;
    },
  };
  const answers: Readonly<Record<string, (asked: IncomingMessage, body: string) => string>> = {
    "the request": ({ headers, url }, body) =>
      JSON.stringify({ headers, url, body, message: `${JSON.stringify(headers)} ${body}` }),
    "the request as text": ({ headers, url }, body) =>
      `${url} ${JSON.stringify(headers)} ${body} ${echoOf(CREDENTIALS, "as it is")}`,
    "the request as XML": ({ headers }, body) =>
      `<ErrorResponse><Error><Code>AccessDenied</Code><Message>${JSON.stringify(headers)} ${body} ${encodeURIComponent(webToken.text)}</Message></Error></ErrorResponse>`,
    "cut credentials": () =>
      JSON.stringify({
        Code: "Success",
        AccessKeyId: "AKIA1",
        SecretAccessKey: secretAccessKey.text,
        Token: sessionToken.text,
      }).slice(0, -10),
    "credentials that fit no header": () =>
      JSON.stringify({
        Code: "Success",
        AccessKeyId: "AKIA1",
        SecretAccessKey: secretAccessKey.text,
        Token: `${sessionToken.text}\n`,
        Expiration: expiration,
      }),
    "a failure with the credentials": () =>
      JSON.stringify({
        Code: secretAccessKey.text,
        Message: sessionToken.text,
        error: sessionToken.text,
        __type: sessionToken.text,
      }),
  };

  describe.each(Object.entries(sources))("%s", (_name, tell) => {
    test.each(Object.entries(answers))("answers with %s", async (what, answer) => {
      for (const answered of chosen([200, 302, 400, 401, 403, 404, 429, 500, 503], 2)) {
        provideCredentials(undefined);
        tell(await origin);
        status = answered;
        text = answer;
        const open = (options: object): Promise<Signer> =>
          openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: STEADY, ...options });
        await drive(`${what}, ${answered}`, () => open({}));
        await drive(`${what}, ${answered}`, () => open({ publicKey }));
      }
    });
  });

  const process_ = (script: string): string => {
    const file = join(folder, `process-${createHash("sha1").update(script).digest("hex").slice(0, 8)}`);
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o700);
    return file;
  };
  const quoted = (value: string): string => `'${value.replaceAll("'", `'\\''`)}'`;
  test.each([
    ["fails and prints them", `echo ${quoted(secretAccessKey.text)} >&2; echo ${quoted(sessionToken.text)}; exit 3`],
    ["prints no JSON", `echo ${quoted(`${secretAccessKey.text} ${sessionToken.text}`)}`],
    [
      "prints cut JSON",
      `printf %s ${quoted(JSON.stringify({ Version: 1, SecretAccessKey: secretAccessKey.text }).slice(0, -4))}`,
    ],
    [
      "prints a wrong version",
      `printf %s ${quoted(JSON.stringify({ Version: secretAccessKey.text, AccessKeyId: "A", SecretAccessKey: secretAccessKey.text }))}`,
    ],
    [
      "prints expired ones",
      `printf %s ${quoted(JSON.stringify({ Version: 1, AccessKeyId: "A", SecretAccessKey: secretAccessKey.text, Expiration: "2001-01-01T00:00:00Z" }))}`,
    ],
  ])("a credential_process that %s", async (what, script) => {
    provideCredentials(undefined);
    const argument = sessionToken.text.replaceAll(/[^\w]/g, "");
    provideConfiguration(
      folder,
      `[default]\nregion = eu-west-1\ncredential_process = ${process_(script)} --token ${argument}\n`,
    );
    const policy = STEADY;
    await drive(what, () => openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy }));
  });

  test.each([
    ["no INI", `${secretAccessKey.text}\n${sessionToken.text}`],
    ["a line without a name", `[default]\n${secretAccessKey.text}\naws_session_token ${sessionToken.text}\n`],
    ["a secret as a name", `[default]\n${secretAccessKey.text} = ${sessionToken.text}\n[${secretAccessKey.text}]\n`],
    ["half of the credentials", `[default]\naws_secret_access_key = ${secretAccessKey.text}\n`],
    [
      "a secret in place of each setting",
      `[default]\nregion = ${secretAccessKey.text}\nendpoint_url = ${sessionToken.text}\nuse_fips_endpoint = ${sessionToken.text}\ndefaults_mode = ${sessionToken.text}\nretry_mode = ${sessionToken.text}\nmax_attempts = ${sessionToken.text}\ncredential_source = ${sessionToken.text}\nrole_arn = ${sessionToken.text}\nsso_session = ${sessionToken.text}\n`,
    ],
  ])("a credentials file with %s", async (what, content) => {
    for (const name of ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"]) {
      provideCredentials(undefined);
      const file = join(
        folder,
        `ini-${createHash("sha1")
          .update(content + name)
          .digest("hex")
          .slice(0, 8)}`,
      );
      writeFileSync(file, content);
      process.env[name] = file;
      await drive(what, () => openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy: STEADY }));
      await drive(what, () => openAwsKmsSigner({ key: "alias/op", endpoint: fake.endpoint, policy: STEADY }));
      await drive(what, () => openAwsKmsSigner({ key: "alias/op", policy: STEADY }));
    }
  });
});

describe("a secret in the wrong place", () => {
  const PLACES = [
    "region",
    "endpoint",
    "publicKey",
    "client",
    "api",
    "transport",
    "signal",
    "openDeadlineMs",
    "allowInsecureEndpoint",
  ];

  test("an option, or a key URI", async () => {
    const right = { key: key.arn, endpoint: fake.endpoint, policy: STEADY };
    for (const [what, options] of misplacedIn(right, PLACES, wrong)) {
      await drive(what, () => openAwsKmsSigner(options as typeof right));
      await watch.sawCall(() => awsKms(options), `the adapter with ${what}`);
    }
    for (const [what, value] of wrong.values) {
      const written = typeof value === "string" ? value : "";
      const uris = [
        value,
        `awskms:${written}`,
        `awskms:///${written}`,
        `awskms://${written}/alias/op`,
        `awskms:///alias/op?region=${written}`,
        `awskms:///alias/op?${written}`,
      ];
      for (const uri of uris) {
        await watch.sawCall(
          () => openSigner(uri as string, [awsKms({ endpoint: fake.endpoint })]),
          `a URI that is ${what}`,
        );
      }
    }
  });

  test("an option of the transport", async () => {
    const right = { region: fake.region, endpoint: fake.endpoint, credentials: issued };
    for (const [what, options] of misplacedIn(
      right,
      ["agent", "maxSockets", "timeoutMs", "allowInsecureEndpoint"],
      wrong,
    )) {
      await watch.sawCall(async () => {
        const api = kmsOverHttps(options);
        await drive(what, () => openAwsKmsSigner({ key: key.arn, api, policy: STEADY }));
        await api.close();
      }, `the transport with ${what}`);
    }
  });

  test("an environment variable", async () => {
    const names = [
      "AWS_REGION",
      "AWS_ENDPOINT_URL",
      "AWS_ENDPOINT_URL_KMS",
      "AWS_CA_BUNDLE",
      "AWS_PROFILE",
      "AWS_USE_FIPS_ENDPOINT",
      "AWS_USE_DUALSTACK_ENDPOINT",
      "AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
      "AWS_WEB_IDENTITY_TOKEN_FILE",
      "AWS_ROLE_ARN",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
      "AWS_ACCESS_KEY_ID",
      "AWS_EC2_METADATA_SERVICE_ENDPOINT",
      "AWS_STS_REGIONAL_ENDPOINTS",
    ];
    for (const [what, value] of wrong.values) {
      if (typeof value !== "string" || value.includes("\0")) continue;
      for (const name of names) {
        provideCredentials(undefined);
        process.env[name] = value;
        if (name === "AWS_ROLE_ARN") process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/nowhere";
        if (name === "AWS_WEB_IDENTITY_TOKEN_FILE") process.env["AWS_ROLE_ARN"] = "arn:aws:iam::111122223333:role/op";
        if (name === "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
          process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.1:1/v1";
        await drive(`${name} that is ${what}`, () => openAwsKmsSigner({ key: "alias/op", policy: STEADY }));
      }
    }
  });
});

test("the codes of all failures were seen", () => {
  expect([...watch.codes]).toEqual(
    expect.arrayContaining([
      "access_denied",
      "bad_signature",
      "integrity",
      "invalid_argument",
      "invalid_configuration",
      "key_disabled",
      "key_not_found",
      "throttled",
      "timeout",
      "unavailable",
      "unsupported_key",
      "wrong_key",
    ]),
  );
  expect(watch.count).toBeGreaterThan(5000);
});
