import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { inspect } from "node:util";
import { interceptors } from "undici";
import { describe, expect, test } from "vitest";
import { SignerError, type Signer, type SignerErrorCode } from "@signpost/core";
import { openAzureKeyVaultSigner, type AzureKeyVaultApi } from "@signpost/azure-key-vault";
import { azureError } from "@signpost/test-backends/fake-azure-key-vault";
import { rowOfError } from "../src/error-table.ts";
import { signerErrorFrom } from "../src/errors.ts";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, options, open } = await startVaultFixture();

/** What the service says about the caller. None of it may be shown. */
const CALLER = "appid=1b8a0c5e-3f0f-4b1e-8a52-77d6a1f0c9aa;oid=x;iss=https://sts.windows.net/0f2c7a41/";

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly innerCode?: string;
  readonly message?: string;
}

describe("a refusal of the service", () => {
  test.each<[Refusal, SignerErrorCode, boolean, RegExp]>([
    [
      { status: 400, code: "BadParameter", message: "Property has invalid value" },
      "invalid_argument",
      false,
      /refused/,
    ],
    [
      { status: 400, code: "BadParameter", message: "Key and signing algorithm are incompatible." },
      "unsupported_key",
      false,
      /cannot sign with ES256/,
    ],
    [{ status: 403, code: "Forbidden", innerCode: "ForbiddenByRbac" }, "access_denied", false, /role assignment/],
    [{ status: 403, code: "Forbidden", innerCode: "AccessDenied" }, "access_denied", false, /access policy/],
    [{ status: 403, code: "Forbidden", innerCode: "ForbiddenByPolicy" }, "access_denied", false, /access policy/],
    [{ status: 403, code: "Forbidden", innerCode: "ForbiddenByFirewall" }, "access_denied", false, /firewall/],
    [
      { status: 403, code: "Forbidden", innerCode: "ForbiddenByConnection" },
      "access_denied",
      false,
      /private endpoints only/,
    ],
    [{ status: 403, code: "Forbidden", innerCode: "KeyDisabled" }, "key_disabled", false, /is disabled/],
    [{ status: 403, code: "Forbidden", innerCode: "KeyExpired" }, "key_disabled", false, /has expired \(exp\)/],
    [{ status: 403, code: "Forbidden", innerCode: "KeyNotYetValid" }, "key_disabled", false, /not valid yet \(nbf\)/],
    [{ status: 403, code: "Forbidden", innerCode: "Unheard" }, "access_denied", false, /without a reason/],
    [{ status: 403, code: "Forbidden" }, "access_denied", false, /without a reason/],
    // What some answers say in their message alone.
    [
      { status: 403, code: "Forbidden", message: "Operation sign is not allowed on a disabled key." },
      "key_disabled",
      false,
      /is disabled/,
    ],
    [
      { status: 403, code: "Forbidden", message: "Operation sign is not allowed on an expired key." },
      "key_disabled",
      false,
      /has expired/,
    ],
    [
      { status: 403, code: "Forbidden", message: "Operation sign is not permitted on this key." },
      "unsupported_key",
      false,
      /key_ops/,
    ],
    [
      { status: 403, code: "Forbidden", message: "Client address is not authorized and caller is not trusted." },
      "access_denied",
      false,
      /firewall/,
    ],
    // A Managed HSM.
    [
      {
        status: 403,
        code: "AccessDenied",
        message: "Not authorized to access Microsoft.KeyVault/managedHsm/keys/sign/action on /keys/op",
      },
      "access_denied",
      false,
      /local role assignment of the Managed HSM/,
    ],
    [
      { status: 403, code: "AccessDenied", message: "User is not allowed" },
      "access_denied",
      false,
      /local role assignment of the Managed HSM/,
    ],
    [
      { status: 400, code: "Conflict", message: "The security domain is not activated" },
      "invalid_argument",
      false,
      /refused/,
    ],
    [
      { status: 503, code: "Unavailable", message: "The HSM is not activated" },
      "unavailable",
      true,
      /Managed HSM is not activated/,
    ],
    [{ status: 404, code: "KeyNotFound" }, "key_not_found", false, /no such key/],
    [{ status: 404, code: "SecretNotFound" }, "key_not_found", false, /no such key/],
    [{ status: 404, code: "NotFound" }, "key_not_found", false, /no such key/],
    [
      { status: 409, code: "Conflict", innerCode: "ObjectIsDeletedButRecoverable" },
      "key_disabled",
      false,
      /soft-deleted/,
    ],
    [
      { status: 409, code: "Conflict", message: "Key op is currently in a deleted but recoverable state" },
      "key_disabled",
      false,
      /soft-deleted/,
    ],
    [{ status: 409, code: "Conflict", innerCode: "ObjectIsBeingDeleted" }, "key_disabled", false, /being deleted/],
    [{ status: 409, code: "Conflict", innerCode: "ObjectIsBeingRecovered" }, "unavailable", true, /being recovered/],
    [{ status: 409, code: "Conflict" }, "unavailable", true, /another operation/],
    [{ status: 405, code: "MethodNotAllowed" }, "invalid_argument", false, /HTTP status 405/],
    [{ status: 408, code: "RequestTimeout" }, "timeout", true, /no answer in time/],
    [{ status: 429, code: "Throttled" }, "throttled", true, /over the vault's limit of calls \(Throttled\)$/],
    [{ status: 500, code: "InternalServerError" }, "unavailable", true, /HTTP status 500/],
    [{ status: 502, code: "BadGateway" }, "unavailable", true, /HTTP status 502/],
    [{ status: 503, code: "ServiceUnavailable" }, "unavailable", true, /HTTP status 503/],
    [{ status: 504, code: "GatewayTimeout" }, "timeout", true, /HTTP status 504/],
    [{ status: 302, code: "Moved" }, "unavailable", true, /something other than the vault/],
  ])("%o", async ({ status, code, innerCode, message = "made up" }, expected, transient, text) => {
    const signer = await open();
    fake.replyNext(azureError(status, code, `${message} ${CALLER}`, innerCode));
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: expected, transient, uri: signer.uri });
    expect(String(error)).toMatch(text);
    expect(String(error)).toContain(`cannot sign with op/${fake.key.latest.version} at https://op.vault.azure.net: `);
    const all = inspect(error, { depth: 10 });
    expect(all).toContain(`HTTP status ${status}, x-ms-request-id 5f1c8ff4-8c1c-4e6e-9f6f-0c3f6a2f9d11`);
    expect(all).not.toMatch(/appid|sts\.windows|0f2c7a41|fake-token/);
    expect(await signsTruly(signer)).toBe(true);
  });

  test.each([
    [{ "retry-after": "7" }, "; it asks to wait 7 s (Throttled)"],
    [{ "retry-after": "soon" }, "over the vault's limit of calls (Throttled)"],
    [{}, "over the vault's limit of calls (Throttled)"],
  ])("429 with %o says how long to wait", async (headers, end) => {
    const signer = await open();
    fake.replyNext({ ...azureError(429, "Throttled", "made up"), headers });
    const error = await rejection(signer.sign(DIGEST));
    expect((error as Error).message.endsWith(end)).toBe(true);
  });

  test("of a Managed HSM for a role says so", async () => {
    fake.denied.add("sign");
    const signer = await open({ vault: "https://op.managedhsm.azure.net" });
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code: "access_denied" });
    expect(String(error)).toMatch(/Managed HSM Crypto User.*\(AccessDenied\)$/);
    expect(inspect(error, { depth: 10 })).not.toContain("Activity ID");
  });

  test.each<[what: string, change: "enabled" | "exp" | "nbf"]>([
    ["disabled", "enabled"],
    ["expired", "exp"],
    ["not valid yet", "nbf"],
  ])("to sign with a version that is %s by now", async (_what, change) => {
    const signer = await open();
    const now = Math.floor(Date.now() / 1000);
    const changes = { enabled: { enabled: false }, exp: { exp: now - 1 }, nbf: { nbf: now + 60 } };
    Object.assign(fake.key.latest.attributes, changes[change]);
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "key_disabled", transient: false });
  });
});

describe("a network that fails", () => {
  const { credential } = options;
  const openAt = (vault: string): Promise<unknown> =>
    rejection(
      openAzureKeyVaultSigner({ vault, key: "op", credential, policy: { maxAttempts: 1 }, openDeadlineMs: 10_000 }),
    );

  test("because the vault's name does not resolve says what that can mean", async () => {
    const error = await openAt("https://no-such-vault.invalid");
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    expect(String(error)).toMatch(/does not resolve: the vault was deleted, or its private DNS zone|cannot be reached/);
    const row = rowOfError(Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }));
    expect(row).toMatchObject({ code: "unavailable", text: expect.stringMatching(/deleted, .*\(ENOTFOUND\)$/) });
  });

  test("because the certificate is not trusted", async () => {
    const error = await openAt(fake.url);
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    expect(String(error)).toContain("the vault cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)");
  });

  test("because something else answers", async () => {
    const other = createServer((socket) => socket.end("SSH-2.0-x\r\n")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const error = await openAt(`https://127.0.0.1:${(other.address() as AddressInfo).port}`);
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    other.close();
  });

  test.each([
    ["Proxy response (407) !== 200 when HTTP Tunneling", "unavailable", /the proxy answered with status 407/],
    ["made up", "integrity", /unknown reason/],
  ])("with the error %j", (message, code, text) => {
    expect(rowOfError(new Error(message))).toMatchObject({ code, text: expect.stringMatching(text) });
  });
});

test.each<[code: string, expected: SignerErrorCode]>([
  ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ["UND_ERR_SOCKET", "unavailable"],
  ["ECONNRESET", "unavailable"],
  ["EAI_AGAIN", "unavailable"],
  ["CERT_HAS_EXPIRED", "unavailable"],
  ["INVALID_PURPOSE", "unavailable"],
  ["ERR_HTTP2_STREAM_ERROR", "unavailable"],
  ["UND_ERR_INFO", "unavailable"],
  ["PATH_LENGTH_EXCEEDED", "unavailable"],
  ["UNSPECIFIED", "unavailable"],
  ["HPE_INVALID_CONSTANT", "unavailable"],
  ["UND_ERR_PRX_TLS", "unavailable"],
  ["UND_ERR_SOCKS5_VERSION", "unavailable"],
  ["UND_ERR_RES_EXCEEDED_MAX_SIZE", "integrity"],
  ["UND_ERR_INVALID_ARG", "integrity"],
  ["REQUEST_SEND_ERROR", "unavailable"],
])("the client's error %s is %s", (code, expected) => {
  expect(rowOfError(Object.assign(new Error("made up"), { code })).code).toBe(expected);
});

test("a code of TLS with a slash, as OpenSSL 3.2 makes it, is said", () => {
  const code = "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE";
  const row = rowOfError(Object.assign(new Error("made up"), { code }));
  expect(row.code).toBe("unavailable");
  expect(row.text).toContain(`(${code})`);
});

test.each<[status: number, expected: SignerErrorCode]>([
  [503, "unavailable"],
  [429, "throttled"],
  [403, "access_denied"],
  [404, "key_not_found"],
])("a dispatcher that makes an error of the status %i says what the answer would have said", async (status, code) => {
  const dispatcher = fake.dispatcher();
  const signer = await open({ dispatcher: dispatcher.compose(interceptors.responseError()) });
  fake.replyNext(azureError(status, "made-up", "made up"));
  const error = await rejection(signer.sign(DIGEST));
  expect(error).toMatchObject({ code });
  expect(String(error)).not.toContain("unknown reason");
  await dispatcher.destroy();
});

describe("the caller's own transport", () => {
  const failing = (reason: unknown): Promise<Signer> => {
    const { version, material } = fake.key.latest;
    const call = async (): Promise<never> => {
      throw reason;
    };
    const api: AzureKeyVaultApi = { getKey: call, sign: call, listKeyVersions: call };
    const publicKey = { kty: "EC", crv: "P-256", x: material.x, y: material.y } as const;
    const { vault, key } = options;
    return openAzureKeyVaultSigner({ vault, key, keyVersion: version, publicKey, api, policy: false });
  };

  test.each<[what: string, error: object, code: SignerErrorCode]>([
    // As @azure/core-rest-pipeline throws it, which drops the inner code.
    [
      "RestError",
      { name: "RestError", statusCode: 403, code: "Forbidden", message: "on a disabled key" },
      "key_disabled",
    ],
    ["an inner code", { statusCode: 403, code: "Forbidden", innerCode: "ForbiddenByFirewall" }, "access_denied"],
    ["a system error", { code: "ECONNRESET" }, "unavailable"],
    ["nothing that is known", {}, "integrity"],
  ])("fails with %s", async (_what, error, code) => {
    const signer = await failing(Object.assign(new Error("made up"), error));
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code });
  });
});

test("a dispatcher that makes an error of a 401 does not keep the signer from getting another token", async () => {
  const signer = await open({ dispatcher: fake.dispatcher().compose(interceptors.responseError()) });
  fake.entra.revokeAll();
  expect(await signsTruly(signer)).toBe(true);
});

test.each(["code", "message", "name", "statusCode", "innerCode"])(
  "an error whose member %s has no text form is one of ours",
  (member) => {
    const thrown = Object.assign(new Error("it failed"), { [member]: { toString: 1, valueOf: 1 } });
    expect(signerErrorFrom(thrown, "read the key")).toMatchObject({ name: "SignerError", code: "integrity" });
  },
);
