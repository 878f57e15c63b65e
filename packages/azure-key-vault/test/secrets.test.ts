import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openSigner, type Signer } from "@signpost/core";
import {
  azureKeyVault,
  azureKeyVaultKeys,
  openAzureKeyVaultSigner,
  type AzureKeyVaultHttpRequest,
  type AzureKeyVaultHttpResponse,
} from "@signpost/azure-key-vault";
import { ECHO_FORMS, ECHO_STATUSES, echoOf, leavesOf, withLeaf } from "@signpost/test-backends/echo-proxy";
import { AZURE_KEY_VAULT_FAULTS, startFakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { chosen, partners } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedAs, markedJwt, markedText, type MarkedText } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";

// Every failure path with marked secrets: nothing that a program can log contains a part of one.

const DIGEST = new Uint8Array(32).fill(7);
/** Long, so that a busy machine changes no result. */
const STEADY = { attemptTimeoutMs: 20_000, deadlineMs: 30_000, maxAttempts: 1 } as const;
/** Where nothing answers. */
const HASTY = { attemptTimeoutMs: 100, deadlineMs: 150, maxAttempts: 1 } as const;

const clientSecret = markedText("the client secret");
const assertion = markedText("the client assertion");
const accessToken = markedJwt("the access token");
/** In an access token each part is secret. Its header is the same for all. */
const token = markedAs("the access token", accessToken.jwt.slice(accessToken.jwt.indexOf(".") + 1));
const opaque = markedText("an opaque access token");
const wrong = misplacedSecrets("a misplaced secret");

const fake = await startFakeAzureKeyVault();
const dispatcher = fake.dispatcher();
const watch = watchLeaks([clientSecret, assertion, token, opaque, ...accessToken.secrets, ...wrong.secrets]);
const vault = "https://op.vault.azure.net";

beforeEach(() => {
  vi.spyOn(fake.entra, "find").mockImplementation((sent) =>
    sent === accessToken.jwt || sent === opaque.text
      ? { token: sent, scope: "https://vault.azure.net/.default", claims: undefined, tenantId: undefined }
      : undefined,
  );
});
afterEach(() => {
  vi.restoreAllMocks();
  fake.reset();
  expect(watch.leaks()).toEqual([]);
});
afterAll(async () => {
  watch[Symbol.dispose]();
  await dispatcher.destroy();
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

/** The token that is sent, and what of it is secret. */
const TOKENS: readonly (readonly [name: string, sent: string, secret: MarkedText])[] = [
  ["a JWT", accessToken.jwt, token],
  ["an opaque token", opaque.text, opaque],
];
const { version } = fake.key.latest;

const right = (credential: unknown, options: object = {}): never =>
  ({ vault, key: "op", credential, dispatcher, policy: STEADY, ...options }) as never;

describe.each(TOKENS)("with %s", (_name, sent, secret) => {
  const credential = (): string => sent;
  test.each(AZURE_KEY_VAULT_FAULTS.filter((fault) => fault !== "unreachable"))("the fault %s", async (fault) => {
    const isSilent = /hang|slow/.test(fault);
    const policy = isSilent ? HASTY : STEADY;
    fake.faults.on(fault);
    await drive(fault, () => openAzureKeyVaultSigner(right(credential, { policy })));
    await watch.sawCall(() => azureKeyVaultKeys(right(credential, { policy })), `the versions with ${fault}`);
    fake.faults.off(fault);
    for (const each of [policy, false] as const) {
      const during = (): void => fake.faults.on(fault);
      await drive(
        fault,
        () => openAzureKeyVaultSigner(right(credential, { policy: each })),
        during,
        isSilent ? 100 : undefined,
      );
      fake.faults.off(fault);
    }
  });

  type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body: string };
  const between = (
    answer: (request: AzureKeyVaultHttpRequest) => Answer | undefined,
    change?: (body: string) => string,
  ) => ({
    request: async (request: AzureKeyVaultHttpRequest): Promise<AzureKeyVaultHttpResponse> => {
      const given = answer(request);
      if (given !== undefined)
        return { statusCode: given.status, headers: given.headers ?? {}, body: [Buffer.from(given.body)] };
      const response = await dispatcher.request(request);
      if (change === undefined) return response;
      return {
        statusCode: response.statusCode,
        headers: response.headers,
        body: [Buffer.from(change(await response.body.text()))],
      };
    },
  });
  const answerWith = async (status: number, echo: (dump: string) => string): Promise<void> => {
    for (const path of [/\/keys\/op(?:\/\w+)?\?/, /\/sign\?/, /\/versions\?/]) {
      const through = between((request) => {
        if (!path.test(request.path)) return undefined;
        const text = echo(`${JSON.stringify(request.headers)} ${request.path} ${request.body ?? ""}`);
        const header = text.replaceAll(/[^\x21-\x7e]+/g, " ");
        const challenge = `Bearer authorization="https://login.example/${header}", resource="https://${header}", error="${header}", claims="${Buffer.from(JSON.stringify({ a: text })).toString("base64")}", error_description="${header}"`;
        const headers = {
          "www-authenticate": challenge,
          "x-ms-request-id": header,
          "retry-after": header,
          location: `https://x.example/${header}`,
        };
        const error = { code: header, message: text, innererror: { code: header, message: text } };
        return { status, headers, body: JSON.stringify({ error, [text]: text }) };
      });
      await drive(`${status}`, () => openAzureKeyVaultSigner(right(credential, { dispatcher: through })));
      await drive(`${status}`, () =>
        openAzureKeyVaultSigner(right(credential, { dispatcher: through, vault: "https://keys.vault.example" })),
      );
      await watch.sawCall(async () => {
        await using keys = await azureKeyVaultKeys(right(credential, { dispatcher: through }));
        watch.saw(keys, "the versions");
        await keys.refresh();
      }, `the versions with ${status}`);
    }
  };

  test.each(chosen(ECHO_STATUSES, 9))("a proxy that answers %i and repeats the request", (status) =>
    answerWith(status, (dump) => dump),
  );

  test.each(Object.keys(ECHO_FORMS))("a proxy that repeats the token, %s", async (form) => {
    const statuses = [200, 400, 401, 403, 409, 429, 500];
    for (const status of partners(Object.keys(ECHO_FORMS), form, statuses, 4))
      await answerWith(status, () => echoOf([secret], form));
  });

  test("a member of a right answer that repeats the token", async () => {
    let leaves = 1;
    for (let leaf = 0; leaf < leaves; leaf += 1) {
      const through = between(
        () => undefined,
        (body) => {
          leaves = Math.max(leaves, leavesOf(body));
          return withLeaf(body, leaf, credential());
        },
      );
      await drive(`member ${leaf}`, () => openAzureKeyVaultSigner(right(credential, { dispatcher: through })));
      await drive(`member ${leaf}`, () =>
        openAzureKeyVaultSigner(right(credential, { dispatcher: through, keyVersion: version })),
      );
      await watch.sawCall(async () => {
        await using keys = await azureKeyVaultKeys(right(credential, { dispatcher: through }));
        watch.saw(keys, "the versions");
        await keys.refresh();
      }, `the versions with member ${leaf}`);
    }
  });

  const codes = [
    "ECONNRESET",
    "ETIMEDOUT",
    "UND_ERR_ABORTED",
    "UND_ERR_SOCKS5",
    "ERR_INVALID_CHAR",
    "HPE_X",
    undefined,
  ];
  test.each(chosen(codes, 4))("a dispatcher whose errors repeat the request, with the code %s", async (code) => {
    for (const form of chosen(Object.keys(ECHO_FORMS), 3)) {
      for (const statusCode of [undefined, 403, 500]) {
        const through = {
          request: (request: object): Promise<never> => {
            const text = `${JSON.stringify(request)} ${echoOf([secret], form)}`;
            const inner = new AggregateError([new Error(text)], text, { cause: new Error(echoOf([secret], form)) });
            const message = form === "hex" ? echoOf([secret], form) : text;
            return Promise.reject(
              Object.assign(new Error(message, { cause: inner }), {
                code,
                statusCode,
                request,
                headers: { a: text },
                body: { error: { code: text, message: text } },
              }),
            );
          },
        };
        await drive("a dispatcher", () => openAzureKeyVaultSigner(right(credential, { dispatcher: through })));
      }
    }
  });

  test.each([undefined, 400, 401, 403, 404, 409, 429, 500])(
    "a transport of the caller's whose errors have the status %s",
    async (statusCode) => {
      for (const form of chosen(Object.keys(ECHO_FORMS), 3)) {
        // Only the transport itself knows its token.
        const text = `authorization: Bearer ${echoOf([secret], form)}`;
        const fail = (): Promise<never> =>
          Promise.reject(
            Object.assign(new Error(text, { cause: new Error(text) }), {
              statusCode,
              code: text,
              innerCode: text,
              requestId: text,
              request: text,
            }),
          );
        const api = { getKey: fail, sign: fail, listKeyVersions: fail };
        await drive("a transport", () => openAzureKeyVaultSigner({ vault, key: "op", api, policy: STEADY }));
        await watch.sawCall(() => azureKeyVaultKeys({ vault, key: "op", api, policy: STEADY }), "a transport");
      }
    },
  );
});

describe("a credential", () => {
  const secret = `AADSTS7000215: Invalid client secret ${clientSecret.text}, assertion ${assertion.text}`;
  const failures: readonly (readonly [string, () => unknown])[] = [
    ...[
      "Error",
      "AuthenticationError",
      "CredentialUnavailableError",
      "AggregateAuthenticationError",
      clientSecret.text,
    ].flatMap((name) =>
      [undefined, 400, 401, 429, 500].map((statusCode): readonly [string, () => unknown] => [
        `${name} ${statusCode}`,
        () => {
          const errors = [Object.assign(new Error(secret), { errorResponse: { errorDescription: secret } })];
          const cause = new AggregateError(errors, secret);
          throw Object.assign(new Error(secret, { cause }), {
            name,
            statusCode,
            code: secret,
            errors,
            request: { body: secret },
          });
        },
      ]),
    ),
    ["a text", () => Promise.reject(secret)],
    ...wrong.values.map(([what, value]): readonly [string, () => unknown] => [`that gives ${what}`, () => value]),
    ...wrong.values.map(([what, value]): readonly [string, () => unknown] => [
      `that gives a token that is ${what}`,
      () => ({ token: value, expiresOnTimestamp: Date.now() + 9e6 }),
    ]),
    ...wrong.values.map(([what, value]): readonly [string, () => unknown] => [
      `whose token ends at ${what}`,
      () => ({ token: opaque.text, expiresOnTimestamp: value, refreshAfterTimestamp: value }),
    ]),
    ...wrong.values.map(([what, value]): readonly [string, () => unknown] => [
      `that throws ${what}`,
      () => Promise.reject(value),
    ]),
  ];
  test.each(chosen(failures, 40))("%s", async (what, credential) => {
    await drive(what, () => openAzureKeyVaultSigner(right(credential)));
    await drive(what, () => openAzureKeyVaultSigner(right({ getToken: credential })));
    await watch.sawCall(() => azureKeyVaultKeys(right(credential)), what);
  });
});

test("a secret in the place of any option or key URI", async () => {
  const names = [
    "api",
    "tls",
    "tls.caFile",
    "tls.serverName",
    "scope",
    "apiVersion",
    "keyVersion",
    "publicKey",
    "signal",
    "pickUpMinutes",
    "announceHours",
  ];
  const base = { vault, key: "op", credential: () => opaque.text, dispatcher, policy: STEADY };
  for (const [what, options] of misplacedIn(base, names, wrong)) {
    await drive(what, () => openAzureKeyVaultSigner(options as typeof base));
    await watch.sawCall(async () => (await azureKeyVaultKeys(options as typeof base)).close(), `keys with ${what}`);
    await watch.sawCall(() => azureKeyVault(options), `the adapter with ${what}`);
  }
  for (const [what, value] of wrong.values) {
    const written = typeof value === "string" ? value : "";
    for (const uri of [
      value,
      `azurekms:${written}`,
      `azurekms://${written}/op`,
      `azurekms:///op.vault.azure.net/keys/${written}`,
      `azurekms:///op.vault.azure.net/keys/op/${written}`,
      `azurekms:///op.vault.azure.net/keys/op?${written}`,
    ]) {
      await watch.sawCall(
        () =>
          openSigner(uri as string, [azureKeyVault({ credential: () => opaque.text, dispatcher })], { policy: STEADY }),
        `a URI that is ${what}`,
      );
    }
  }
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
  expect(watch.count).toBeGreaterThan(10_000);
});
