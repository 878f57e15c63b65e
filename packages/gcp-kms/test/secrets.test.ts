import { createRequire } from "node:module";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { generateKeyPairSync } from "node:crypto";
import { googleAuthLibrary } from "google-gax";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import { gcpKms, listGcpKmsKeyVersions, openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import {
  dumpOf,
  ECHO_FORMS,
  ECHO_STATUSES,
  echoOf,
  type EchoProxy,
  leavesOf,
  startEchoProxy,
  withLeaf,
} from "@signpost/test-backends/echo-proxy";
import { DEFAULT_CRYPTO_KEY, startFakeGcpKms } from "@signpost/test-backends/fake-gcp-kms";
import { chosen, isLong, partners } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedAs, markedJwt, markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { clientKind } from "./support/clients.ts";
import { FAULTS } from "./support/conformance.ts";

// Every failure path with marked secrets: nothing that a program can log contains a part of one.

const DIGEST = new Uint8Array(32).fill(7);
const keyVersion = `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/1`;
/** Long, so that a busy machine changes no result. */
const STEADY = { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 } as const;
/** The SDK asks a source again and again while it is told 500. */
const PATIENT = { deadlineMs: 1500, maxAttempts: 1 } as const;
/** Where nothing answers. */
const HASTY = { attemptTimeoutMs: 100, deadlineMs: 150, maxAttempts: 1 } as const;

const accessToken = markedWord("the access token", 40);
const refreshToken = markedText("the refresh token");
const clientSecret = markedText("the client secret");
const subject = markedJwt("the subject token");
const subjectToken = markedAs("the subject token", subject.jwt.slice(subject.jwt.indexOf(".") + 1));
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const serviceKey = {
  name: "the key of the service account",
  bytes: Buffer.from(String(privateKey.export({ format: "jwk" }).d), "base64url"),
};
const wrong = misplacedSecrets("a misplaced secret");

const fake = await startFakeGcpKms();
fake.addVersion();
const publicKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" });
const folder = mkdtempSync(join(tmpdir(), "signpost-gcp-secrets-"));
const watch = watchLeaks([
  accessToken,
  refreshToken,
  clientSecret,
  subjectToken,
  ...subject.secrets,
  serviceKey,
  ...wrong.secrets,
]);

const WRAPPINGS: readonly ((text: string, status: number) => string)[] = [
  (text, code) =>
    JSON.stringify({
      error: {
        code,
        message: text,
        status: "PERMISSION_DENIED",
        details: [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: text, domain: text, metadata: { a: text } },
        ],
      },
    }),
  (text, code) =>
    JSON.stringify({
      error: { code, message: text, status: text, errors: [{ reason: text, message: text }] },
      [text]: text,
    }),
  (text) => JSON.stringify({ error: text, error_description: text }),
  (text) => `<html><body>${text}</body></html>`,
];

const FORMS = Object.keys(ECHO_FORMS);
const FEW_STATUSES = [200, 302, 400, 401, 403, 404, 429, 500];
const STATUSES = [...new Set([...ECHO_STATUSES, ...FEW_STATUSES])];

/** The whole lists mostly wait, so these groups wait at the same time. In each, one test follows the other. */
const TOGETHER = { concurrent: isLong, timeout: isLong ? 300_000 : 60_000 } as const;

afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(async () => {
  vi.unstubAllEnvs();
  watch[Symbol.dispose]();
  rmSync(folder, { recursive: true });
  await fake.stop();
});

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

type RestClient = GcpKmsClientLike & { close(): Promise<unknown> };

const require = createRequire(import.meta.url);
function restClient(version: 5 | 6, port: number, authOptions: object = {}): RestClient {
  const name = version === 5 ? "google-cloud-kms-5" : "@google-cloud/kms";
  const { KeyManagementServiceClient: Client } = require(name) as typeof import("@google-cloud/kms");
  const { googleAuthLibrary: auth } = createRequire(require.resolve(name))("google-gax") as typeof import("google-gax");
  const authClient = new auth.OAuth2Client(authOptions);
  authClient.setCredentials({ access_token: accessToken.text, expiry_date: Date.now() + 3_600_000 });
  return new Client({
    fallback: true,
    protocol: "http",
    apiEndpoint: "127.0.0.1",
    port,
    authClient: authClient as never,
  });
}

/** Redirects for which node-fetch sends the body of a request again, and fails where no caller can catch it. */
const NOT_TO_FOLLOW: readonly number[] = [307, 308];
/** What the guide says to give to an `authClient`. */
const FOLLOWS_NONE = { transporterOptions: { redirect: "manual" } };

const TRANSPORTS = ["grpc", "rest"] as const;

describe.each(TRANSPORTS)("over %s", (transport) => {
  beforeEach(() => fake.faults.clear());
  const client = transport === "grpc" ? clientKind(6, "grpc").connect(fake) : restClient(6, fake.restPort);
  afterAll(() => client.close());
  const open = (policy: object | false): Promise<Signer> => openGcpKmsSigner({ keyVersion, client, policy });

  test.each(FAULTS.filter((fault) => fault !== "unreachable"))("the fault %s", async (fault) => {
    const isSilent = /hang|slow|pending/.test(fault);
    const policy = isSilent ? HASTY : STEADY;
    fake.faults.on(fault);
    await drive(fault, () => open(policy));
    const listing = { client, deadlineMs: isSilent ? 100 : 20_000 };
    await watch.sawCall(() => listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, listing), `listing with ${fault}`);
    fake.faults.off(fault);
    for (const each of [policy, false] as const) {
      await drive(
        fault,
        () => open(each),
        () => fake.faults.on(fault),
        isSilent ? 100 : undefined,
      );
      fake.faults.off(fault);
    }
  });
});

describe("a client of the caller's", () => {
  test.each([undefined, 2, 3, 5, 7, 9, 13, 14, 16, 403, 503, "ECONNRESET"])(
    "whose errors repeat the request, with the code %s",
    async (code) => {
      for (const form of chosen(Object.keys(ECHO_FORMS), 3)) {
        // Only the client itself knows its token.
        const text = `authorization: Bearer ${echoOf([accessToken], form)}`;
        const fail = (): Promise<never> =>
          Promise.reject(
            Object.assign(new Error(text, { cause: new AggregateError([new Error(text)], text) }), {
              code,
              details: text,
              reason: text,
              domain: text,
              status: text,
              metadata: { authorization: text },
              config: { headers: { authorization: text }, url: `https://x.example/?a=${encodeURIComponent(text)}` },
              response: { data: text },
            }),
          );
        const client = {
          asymmetricSign: fail,
          getPublicKey: fail,
          getCryptoKeyVersion: fail,
          listCryptoKeyVersions: fail,
          initialize: () => Promise.resolve(undefined),
          close: () => Promise.resolve(undefined),
        };
        await drive("a client", () => openGcpKmsSigner({ keyVersion, client, policy: STEADY }));
        await drive("a client", () => openGcpKmsSigner({ keyVersion, client, policy: STEADY, publicKey }));
        await drive("a client", () =>
          openGcpKmsSigner({ keyVersion, client: { ...client, initialize: fail }, policy: STEADY, publicKey }),
        );
        await watch.sawCall(() => listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client }), "a client");
      }
    },
  );
});

describe.each([5, 6] as const)("a proxy in front of the service, with the client %i", TOGETHER, (version) => {
  let proxy: EchoProxy;
  let following: RestClient;
  let notFollowing: RestClient;
  beforeAll(async () => {
    proxy = await startEchoProxy(`http://127.0.0.1:${fake.restPort}`);
    following = restClient(version, proxy.port);
    notFollowing = restClient(version, proxy.port, FOLLOWS_NONE);
  });
  beforeEach(() => proxy.reset());
  afterAll(async () => {
    await following.close();
    await notFollowing.close();
    await proxy[Symbol.asyncDispose]();
  });

  const driveBoth = async (what: string, client: RestClient = following): Promise<void> => {
    const base = { keyVersion, client, policy: STEADY };
    await drive(what, () => openGcpKmsSigner(base));
    await drive(what, () => openGcpKmsSigner({ ...base, publicKey }));
    await watch.sawCall(() => listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { client }), `listing with ${what}`);
  };
  const answerWith = async (status: number, echo: (dump: string) => string): Promise<void> => {
    for (const wrap of partners(STATUSES, status, WRAPPINGS, 2)) {
      proxy.answer = (request) => {
        const text = echo(dumpOf(request));
        const header = text.replaceAll(/[^\x21-\x7e]+/g, " ").slice(0, 4000);
        return {
          status,
          headers: { location: `/${encodeURIComponent(header)}`, "www-authenticate": header },
          body: wrap(text, status),
          reason: header.slice(0, 200),
        };
      };
      await driveBoth(`${status}`, NOT_TO_FOLLOW.includes(status) ? notFollowing : following);
    }
  };

  test.sequential.each(chosen(ECHO_STATUSES, 9))("that answers %i and repeats the request", (status) =>
    answerWith(status, (dump) => dump),
  );

  test.sequential.each(FORMS)("that repeats the access token, %s", async (form) => {
    for (const status of partners(FORMS, form, FEW_STATUSES, 4))
      await answerWith(status, () => echoOf([accessToken], form));
  });

  test.sequential("that repeats the access token in a member of a right answer", async () => {
    let leaves = 1;
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      proxy.change = (body) => {
        if (!body.startsWith("{")) return body;
        leaves = Math.max(leaves, leavesOf(body));
        return withLeaf(body, leaf, accessToken.text);
      };
      await driveBoth(`member ${leaf}`);
    }
  });
});

describe("a source of credentials", TOGETHER, () => {
  let status = 200;
  let answer: (asked: IncomingMessage, body: string) => string = () => "";
  const server = createServer((asked, response) => {
    let body = "";
    asked.on("data", (chunk) => (body += String(chunk)));
    asked.on("end", () =>
      response
        .writeHead(status, { "content-type": "application/json", "metadata-flavor": "Google" })
        .end(answer(asked, body)),
    );
  });
  const listening = new Promise<string>((ready) =>
    server.listen(0, "127.0.0.1", () => ready(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  );
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    vi.stubEnv("HOME", folder);
    vi.stubEnv("CLOUDSDK_CONFIG", folder);
    vi.stubEnv("METADATA_SERVER_DETECTION", "none");
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => void watch.saw(warning, "a warning"));
    googleAuthLibrary.gcpMetadata.setGCPResidency(false);
    writeFileSync(join(folder, "subject-token"), subject.jwt);
  });
  afterEach(() => vi.restoreAllMocks());

  const external = (origin: string, credential_source: object): object => ({
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${origin}/token`,
    client_id: "client",
    client_secret: clientSecret.text,
    credential_source,
  });
  const files: Readonly<Record<string, (origin: string) => object>> = {
    "a service account": (origin) => ({
      type: "service_account",
      client_email: "op@example.iam.gserviceaccount.com",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      token_uri: `${origin}/token`,
    }),
    "an authorized user": () => ({
      type: "authorized_user",
      client_id: "client",
      client_secret: clientSecret.text,
      refresh_token: refreshToken.text,
    }),
    "a file of a workload": (origin) => external(origin, { file: join(folder, "subject-token") }),
    "a URL of a workload": (origin) =>
      external(origin, {
        url: `${origin}/subject`,
        headers: { authorization: clientSecret.text },
        format: { type: "json", subject_token_field_name: "token" },
      }),
    "an executable": (origin) =>
      external(origin, { executable: { command: `/bin/echo ${subject.jwt}`, timeout_millis: 5000 } }),
    "a file that is no JSON": () => ({}),
  };
  const answers: Readonly<Record<string, (asked: IncomingMessage, body: string) => string>> = {
    "the request": ({ headers, url }, body) =>
      JSON.stringify({
        error: `${url} ${JSON.stringify(headers)} ${body}`,
        error_description: body,
        token: subject.jwt,
      }),
    "a page": ({ headers }, body) =>
      `<html>${JSON.stringify(headers)} ${body} ${decodeURIComponent(body.replaceAll("+", " "))}</html>`,
    "an error object": (_asked, body) =>
      JSON.stringify({ error: { code: 400, message: `${body} ${subjectToken.text}`, status: "INVALID" } }),
    "a damaged token": () =>
      JSON.stringify({ access_token: `${accessToken.text}\n`, expires_in: 3600, token: `${subject.jwt}\n` }),
    "a cut token": () => JSON.stringify({ access_token: accessToken.text, token: subject.jwt }).slice(0, -4),
    "a text": () => JSON.stringify(accessToken.text),
  };

  describe.sequential.each(Object.entries(files))("%s", (name, file) => {
    test.each(chosen(Object.entries(answers), 4))("that is answered with %s", async (what, given) => {
      const path = join(folder, `${name} ${what}.json`.replaceAll(" ", "-"));
      const content = file(await listening);
      const text = JSON.stringify(content);
      writeFileSync(
        path,
        text === "{}" ? `{"private_key":"${clientSecret.text.replaceAll('"', "")}", ${refreshToken.text}` : text,
      );
      vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", path);
      vi.stubEnv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1");
      answer = given;
      for (const code of chosen([200, 400, 403, 500], 2)) {
        status = code;
        const endpoint = "https://127.0.0.1:9";
        const base = { keyVersion, endpoint, publicKey, policy: PATIENT, callTimeoutMs: 1000 };
        await Promise.all(
          TRANSPORTS.map((transport) => drive(`${what} ${code}`, () => openGcpKmsSigner({ ...base, transport }))),
        );
      }
    });
  });

  test.sequential("the client of the SDK prints nothing of its credentials", async () => {
    const client = new KeyManagementServiceClient({
      credentials: { client_email: "a@b", private_key: clientSecret.text },
    });
    await drive("wrong credentials", () => openGcpKmsSigner({ keyVersion, client, publicKey, policy: PATIENT }));
    await client.close();
  });
});

test("a secret in the place of any option or key URI", async () => {
  const client = clientKind(6, "grpc").connect(fake);
  const base = { keyVersion, client, policy: STEADY };
  for (const [what, options] of misplacedIn(
    base,
    ["endpoint", "transport", "publicKey", "signal", "openDeadlineMs", "callTimeoutMs"],
    wrong,
  )) {
    await drive(what, () => openGcpKmsSigner(options as typeof base));
    await watch.sawCall(() => gcpKms(options), `the adapter with ${what}`);
    await watch.sawCall(() => listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, options), `listing with ${what}`);
  }
  for (const [what, value] of wrong.values) {
    const written = typeof value === "string" ? value : "";
    await watch.sawCall(() => listGcpKmsKeyVersions(value as string, { client }), `listing ${what}`);
    for (const uri of [
      value,
      `gcpkms:${written}`,
      `gcpkms://${written}`,
      `gcpkms://${keyVersion}?${written}`,
      `gcpkms://projects/${written}/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1`,
    ]) {
      await watch.sawCall(
        () => openSigner(uri as string, [gcpKms({ client })], { policy: STEADY }),
        `a URI that is ${what}`,
      );
    }
  }
  await client.close();
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
  expect(watch.count).toBeGreaterThan(2500);
});
