import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { inspect } from "node:util";
import { Agent, interceptors, RetryAgent } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SignerError, type Signer, type SignerErrorCode } from "@signpost/core";
import { openVaultTransitSigner } from "@signpost/vault-transit";
import {
  dataReply,
  errorReply,
  startFakeVaultTransit,
  type FakeVaultTransit,
  type VaultReply,
} from "@signpost/test-backends/fake-vault-transit";
import { rowOfError } from "../src/error-table.ts";
import { errorOfRequest } from "../src/errors.ts";
import { rejection, signsTruly } from "./support/signatures.ts";

const DIGEST = new Uint8Array(32).fill(7);
let fake: FakeVaultTransit;
let signer: Signer;

beforeAll(async () => {
  fake = await startFakeVaultTransit();
  const auth = { method: "token", token: fake.token } as const;
  signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: false });
});
afterEach(() => fake.reset());
afterAll(async () => {
  await signer.close();
  await fake.stop();
});

describe("an answer of the server", () => {
  test.each<[status: number, message: string, code: SignerErrorCode, transient: boolean]>([
    [400, "signing key not found", "key_not_found", false],
    [404, 'no handler for route "transit/sign/op/sha2-256". route entry not found.', "key_not_found", false],
    [404, "namespace not found", "key_not_found", false],
    [405, "1 error occurred:\n\t* unsupported operation\n\n", "key_not_found", false],
    [400, "key type aes256-gcm96 does not support signing", "unsupported_key", false],
    [400, 'invalid hash algorithm "sha2-256"', "invalid_argument", false],
    // Older servers answer 400 to a call without a token, newer ones 403.
    [400, "missing client token", "access_denied", false],
    [400, "failed to decode JSON input: invalid character 'b'", "invalid_argument", false],
    [403, "permission denied", "access_denied", false],
    [403, "1 error occurred:\n\t* permission denied\n\n", "access_denied", false],
    [401, "", "access_denied", false],
    [408, "", "timeout", true],
    [412, "required index state not present", "unavailable", true],
    [413, "http: request body too large", "invalid_argument", false],
    [429, 'request path "transit/sign/op/sha2-256": rate limit quota exceeded', "throttled", true],
    // Mistakes of the caller that the server answers with 500. To try again would be in vain.
    [
      500,
      "1 error occurred:\n\t* requested version for signing is higher than the latest key version\n\n",
      "key_not_found",
      false,
    ],
    [
      500,
      "1 error occurred:\n\t* requested version for signing is less than the minimum encryption key version\n\n",
      "key_disabled",
      false,
    ],
    [500, "1 error occurred:\n\t* refusing to use soft-deleted key\n\n", "key_disabled", false],
    [
      500,
      "1 error occurred:\n\t* requested version for signing does not contain a private part\n\n",
      "unsupported_key",
      false,
    ],
    [500, "context deadline exceeded", "timeout", true],
    [500, "internal error", "unavailable", true],
    [500, "", "unavailable", true],
    [501, "Vault is not initialized", "unavailable", true],
    [502, "", "unavailable", true],
    [503, "Vault is sealed", "unavailable", true],
    [503, "Vault is not initialized", "unavailable", true],
    [503, "Vault is in standby mode", "unavailable", true],
    [504, "", "timeout", true],
    [302, "", "unavailable", true],
  ])("%i %j is %s", async (status, message, code, transient) => {
    fake.replyNext(errorReply(status, ...(message === "" ? [] : [message])));
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code, transient, uri: signer.uri });
    expect(String(error)).toContain(`cannot sign with version 1 of transit/keys/op at ${fake.address}: `);
    expect(inspect((error as Error).cause)).toContain(`HTTP status ${status}`);
    expect(await signsTruly(signer)).toBe(true);
  });

  test.each([
    [{ "retry-after": "7" }, "; it asks to wait 7 s"],
    [{ "retry-after": "soon" }, "over a rate quota of the server"],
    [{}, "over a rate quota of the server"],
  ])("429 with %o says how long to wait", async (headers, end) => {
    fake.replyNext({ ...errorReply(429), headers });
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code: "throttled" });
    expect((error as Error).message.endsWith(end)).toBe(true);
  });

  const signature = (text: string, version: unknown = 1): VaultReply =>
    dataReply({ key_version: version, signature: text });
  const DER = "MAYCAQECAQE=";
  test.each<[what: string, reply: () => VaultReply, code: SignerErrorCode, transient: boolean]>([
    ["without data", () => ({ status: 200, body: "{}" }), "integrity", true],
    ["with nothing", () => ({ status: 200, body: "" }), "integrity", true],
    ["204", () => ({ status: 204, body: "" }), "integrity", true],
    ["without a signature", () => dataReply({ key_version: 1 }), "integrity", true],
    ["without its version", () => dataReply({ signature: `vault:v1:${DER}` }), "integrity", true],
    ["that is no JSON", () => ({ status: 200, body: "<html>welcome</html>" }), "integrity", true],
    ["404 of an ingress", () => ({ status: 404, body: "default backend - 404" }), "unavailable", true],
    ["404 of the server", () => ({ status: 404, body: '{"errors":[]}' }), "key_not_found", false],
    ["that is truncated", () => ({ status: 200, body: '{"data":{"key_ver' }), "integrity", true],
    ["longer than 64 KiB", () => dataReply({ key_version: 1, signature: "x".repeat(70_000) }), "integrity", false],
    ["of another version", () => signature(`vault:v2:${DER}`, 2), "wrong_key", false],
    ["of another version, only in key_version", () => signature(`vault:v1:${DER}`, 2), "wrong_key", false],
    ["of another version, only in the signature", () => signature(`vault:v2:${DER}`), "wrong_key", false],
    ["with its version as text", () => signature(`vault:v1:${DER}`, "1"), "wrong_key", false],
    ["without a prefix", () => signature(DER), "integrity", false],
    ["with a version that is spelled otherwise", () => signature(`vault:v01:${DER}`), "integrity", false],
    ["in base64url, which was not asked for", () => signature(`vault:v1:${"-_".repeat(43)}`), "integrity", false],
    ["in unpadded base64", () => signature("vault:v1:MAYCAQECAQE"), "integrity", false],
    [
      "with the raw bytes, which were not asked for",
      () => signature(`vault:v1:${Buffer.alloc(64, 1).toString("base64")}`),
      "integrity",
      false,
    ],
    ["with r = 0", () => signature("vault:v1:MAYCAQACAQE="), "bad_signature", false],
  ])("%s is refused", async (_what, reply, code, transient) => {
    fake.replyNext(reply());
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code, transient });
    expect(await signsTruly(signer)).toBe(true);
  });

  test("an answer that is longer than 64 KiB is not read to its end, and says so", async () => {
    fake.replyNext({ status: 200, body: JSON.stringify({ data: { padding: "x".repeat(70_000) } }) });
    expect(String(await rejection(signer.sign(DIGEST)))).toContain("the answer has more than 65536 bytes");
  });

  test("a refusal that is longer than 64 KiB keeps its meaning", async () => {
    fake.replyNext({ status: 503, body: "x".repeat(100_000) });
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "unavailable" });
  });
});

describe("the answer to a read", () => {
  const opening = (changes: object): Promise<unknown> => {
    fake.changes = { ...changes };
    const auth = { method: "token", token: fake.token } as const;
    return rejection(openVaultTransitSigner({ address: fake.address, key: "op", auth, policy: { maxAttempts: 1 } }));
  };
  test.each<[member: string, changes: object]>([
    ["type", { type: undefined }],
    ["keys", { keys: null }],
    ["latest_version", { latest_version: "1" }],
    ["min_available_version", { min_available_version: -1 }],
    ["min_decryption_version", { min_decryption_version: 0.5 }],
    ["min_encryption_version", { min_encryption_version: undefined }],
    ["public_key", { keys: {} }],
    ["public_key", { keys: { "1": 1_795_893_569 } }],
    ["public_key", { keys: { "1": { public_key: "" } } }],
  ])("without a good %s is incomplete (%#)", async (member, changes) => {
    const error = await opening(changes);
    expect(error).toMatchObject({ code: "integrity", transient: true, uri: "vault:///transit/keys/op" });
    expect(String(error)).toContain(`was answered without ${member}`);
  });

  test("with something else than a duration is not repeated in a note", async () => {
    fake.changes = { auto_rotate_period: `1h ${fake.token}` };
    const auth = { method: "token", token: fake.token } as const;
    await using signer = await openVaultTransitSigner({ address: fake.address, key: "op", auth });
    expect(signer.health().notes).toEqual([expect.stringMatching(/^auto_rotate_period \(not a duration\): /)]);
  });

  test("with a public key that is none is refused", async () => {
    const pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    expect(await opening({ keys: { "1": { public_key: pem } } })).toMatchObject({ code: "integrity" });
  });
});

describe("secrets", () => {
  test.each([
    () => errorReply(400, `invalid token ${fake.token}`.replace(fake.token, "hvs.CAESIJabcdefgh")),
    () => errorReply(500, "token s.abcdefghijklmnop is unknown"),
    () => errorReply(400, "jwt eyJhbGciOiJSUzI1NiJ9.e30.x is bad"),
    () => errorReply(400, 'body {"secret_id":"b2f5d0de"}'),
  ])("in the server's message are not shown (%#)", async (reply) => {
    fake.replyNext(reply());
    const text = inspect(await rejection(signer.sign(DIGEST)), { depth: 10 });
    expect(text).not.toMatch(/hvs\.CAES|s\.abcd|eyJhb|b2f5d0de/);
    expect(text).toMatch(/HTTP status (?:400|500)/);
  });
});

test("a digest that the server repeats is not shown", async () => {
  const digest = Buffer.from(DIGEST).toString("base64");
  fake.replyNext(errorReply(400, `cannot sign ${digest}`));
  const error = await rejection(signer.sign(DIGEST));
  expect(inspect(error, { depth: 10 })).not.toContain(digest);
  expect(error).toMatchObject({ code: "invalid_argument", cause: { message: "HTTP status 400" } });
});

describe("a digest", () => {
  test.each([0, 31, 33, 64])("of %i bytes is refused before it is sent", async (length) => {
    expect(await rejection(signer.sign(new Uint8Array(length)))).toMatchObject({ code: "invalid_argument" });
    expect(fake.requests).toEqual([]);
  });
});

test.each<[code: string, expected: SignerErrorCode]>([
  ["ECONNREFUSED", "unavailable"],
  ["ECONNRESET", "unavailable"],
  ["ENOTFOUND", "unavailable"],
  ["EAI_AGAIN", "unavailable"],
  ["EHOSTUNREACH", "unavailable"],
  ["CERT_HAS_EXPIRED", "unavailable"],
  ["INVALID_PURPOSE", "unavailable"],
  ["ERR_HTTP2_STREAM_ERROR", "unavailable"],
  ["UND_ERR_INFO", "unavailable"],
  ["PATH_LENGTH_EXCEEDED", "unavailable"],
  ["UNSPECIFIED", "unavailable"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "unavailable"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unavailable"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "unavailable"],
  ["UND_ERR_SOCKET", "unavailable"],
  ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
  ["ETIMEDOUT", "timeout"],
  ["HPE_INVALID_CONSTANT", "unavailable"],
  ["UND_ERR_INVALID_ARG", "integrity"],
  ["UND_ERR_PRX_TLS", "unavailable"],
  ["UND_ERR_SOCKS5_VERSION", "unavailable"],
  ["UND_ERR_RES_EXCEEDED_MAX_SIZE", "integrity"],
])("the client's error %s is %s", (code, expected) => {
  expect(rowOfError(Object.assign(new Error("made up"), { code })).code).toBe(expected);
});

test("a code of TLS with a slash, as OpenSSL 3.2 makes it, is said", () => {
  const code = "ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE";
  const row = rowOfError(Object.assign(new Error("made up"), { code }));
  expect(row.code).toBe("unavailable");
  expect(row.text).toContain(`(${code})`);
});

test("an answer in another protocol may be followed by a good one, but not one with endless headers", async () => {
  let answer = "SSH-2.0-OpenSSH_9.2\r\n";
  const other = createServer((socket) => socket.on("error", () => {}).end(answer)).listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  const auth = { method: "none" } as const;
  const opening = (): Promise<unknown> =>
    rejection(openVaultTransitSigner({ address, key: "op", auth, policy: { maxAttempts: 1 } }));
  const error = await opening();
  expect(error).toMatchObject({ code: "unavailable", transient: true });
  expect(String(error)).toContain("something that does not speak HTTP answered");
  answer = `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(100_000)}\r\n\r\n`;
  const long = await opening();
  expect(long).toMatchObject({ code: "integrity", transient: false });
  expect(String(long)).toContain("the answer is too long");
  other.close();
});

test.each<[status: number, expected: SignerErrorCode]>([
  [503, "unavailable"],
  [429, "throttled"],
  [403, "access_denied"],
  [404, "key_not_found"],
])("a dispatcher that makes an error of the status %i says what the answer would have said", async (status, code) => {
  const auth = { method: "token", token: fake.token } as const;
  const dispatchers = [
    new RetryAgent(new Agent(), { maxRetries: 1, minTimeout: 1, statusCodes: [status] }),
    new Agent().compose(interceptors.responseError()),
  ];
  for (const dispatcher of dispatchers) {
    fake.reset();
    await using open = await openVaultTransitSigner({ address: fake.address, key: "op", auth, dispatcher });
    fake.replyNext(errorReply(status, "made up"), 20);
    const error = await rejection(open.sign(DIGEST));
    expect(error).toMatchObject({ code });
    expect(String(error)).not.toContain("unknown reason");
    await dispatcher.close();
  }
});

test("an error of the client without a code is integrity", () => {
  expect(rowOfError(new Error("made up")).code).toBe("integrity");
  expect(rowOfError("made up").code).toBe("integrity");
});

test.each(["code", "message", "name", "statusCode", "innerCode"])(
  "an error whose member %s has no text form is one of ours",
  (member) => {
    const thrown = Object.assign(new Error("it failed"), { [member]: { toString: 1, valueOf: 1 } });
    expect(errorOfRequest(thrown, { action: "sign", address: "https://vault.example" }, [])).toMatchObject({
      name: "SignerError",
      code: "integrity",
    });
  },
);
