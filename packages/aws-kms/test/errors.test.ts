import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createServer, type AddressInfo } from "node:net";
import { inspect } from "node:util";
import { runInNewContext } from "node:vm";
import { SignerError, type Signer, type SignerErrorCode } from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { signerErrorFrom } from "../src/errors.ts";
import { provideCredentials } from "./environment.ts";

const DIGEST = new Uint8Array(32).fill(7);

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
const TARGET = { key: "alias/op-2026", region: "eu-west-1" };

describe("an answer of KMS over the wire", () => {
  let signer: Signer;
  const fakeStarted = startFakeAwsKms();
  beforeAll(async () => {
    const fake = await fakeStarted;
    provideCredentials(fake.credentials);
    signer = await openAwsKmsSigner({ key: fake.addKey().arn, endpoint: fake.endpoint, policy: false });
  });
  afterEach(async () => (await fakeStarted).reset());
  afterAll(async () => (await fakeStarted).stop());

  test.each<[type: string, status: number, code: SignerErrorCode]>([
    ["ThrottlingException", 400, "throttled"],
    ["LimitExceededException", 400, "throttled"],
    ["TooManyRequestsException", 429, "throttled"],
    ["ThrottledException", 400, "throttled"],
    ["RequestThrottled", 400, "throttled"],
    ["SlowDown", 400, "throttled"],
    ["KMSInternalException", 500, "unavailable"],
    ["KeyUnavailableException", 500, "unavailable"],
    ["ServiceUnavailableException", 503, "unavailable"],
    ["InternalFailure", 500, "unavailable"],
    ["SomethingNewException", 500, "unavailable"],
    ["RequestAbortedException", 400, "unavailable"],
    ["IDPCommunicationError", 400, "unavailable"],
    ["DependencyTimeoutException", 503, "timeout"],
    ["RequestTimeoutException", 408, "timeout"],
    ["RequestTimeout", 400, "timeout"],
    ["NotFoundException", 400, "key_not_found"],
    ["DisabledException", 400, "key_disabled"],
    ["KMSInvalidStateException", 400, "key_disabled"],
    ["InvalidKeyUsageException", 400, "unsupported_key"],
    ["UnsupportedOperationException", 400, "unsupported_key"],
    ["AccessDeniedException", 400, "access_denied"],
    ["ExpiredTokenException", 400, "access_denied"],
    ["UnrecognizedClientException", 400, "access_denied"],
    ["InvalidSignatureException", 400, "access_denied"],
    ["SignatureDoesNotMatch", 400, "access_denied"],
    ["IncompleteSignatureException", 400, "access_denied"],
    ["RequestExpired", 400, "access_denied"],
    ["RequestInTheFuture", 400, "access_denied"],
    ["RequestTimeTooSkewed", 400, "access_denied"],
    ["InvalidIdentityToken", 400, "access_denied"],
    ["SomethingNewException", 403, "access_denied"],
    // Of other calls than those that are made: nothing is made of them but that the request is refused.
    ["KMSInvalidMacException", 400, "invalid_argument"],
    ["IncorrectKeyException", 400, "invalid_argument"],
    ["ValidationException", 400, "invalid_argument"],
    ["InvalidArnException", 400, "invalid_argument"],
    ["SomethingNewException", 400, "invalid_argument"],
  ])("%s with status %i is %s", async (type, status, code) => {
    const fake = await fakeStarted;
    // Twice, since refused credentials are tried once more.
    fake.replyNext({ type, status }, 2);
    const error = await signer.sign(DIGEST).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code, cause: { name: type, $metadata: { httpStatusCode: status } } });
  });

  const JSON_TYPE = "application/x-amz-json-1.1";
  test.each<[what: string, status: number, contentType: string, body: string, code: SignerErrorCode]>([
    ["a proxy's page", 502, "text/html", "<html>bad gateway</html>", "unavailable"],
    ["a proxy's page", 503, "text/html", "", "unavailable"],
    ["a proxy's page", 504, "text/html", "<html>", "timeout"],
    ["a proxy that refuses", 403, "text/html", "<html>blocked</html>", "access_denied"],
    ["a gateway that has lost its route", 404, "text/html", "<html>no such page</html>", "unavailable"],
    ["a gateway that says so in JSON", 404, "application/json", '{"message":"no route"}', "unavailable"],
    ["an empty page", 405, "text/html", "", "unavailable"],
    ["a proxy that wants other credentials", 407, "text/html", "<html>log in</html>", "unavailable"],
    ["a proxy that redirects", 302, "text/html", "<html>moved</html>", "unavailable"],
    ["a proxy that counts requests", 429, "text/html", "<html>slow down</html>", "throttled"],
    ["a portal", 200, "text/html", "<html>log in</html>", "integrity"],
    ["truncated JSON", 200, JSON_TYPE, '{"KeyId":"arn:aws', "integrity"],
    ["empty JSON", 200, JSON_TYPE, "{}", "integrity"],
    ["nothing", 200, JSON_TYPE, "", "integrity"],
    ["null", 200, JSON_TYPE, "null", "integrity"],
    ["a list", 200, JSON_TYPE, "[]", "integrity"],
    ["numbers", 200, JSON_TYPE, '{"KeyId":1,"Signature":2}', "integrity"],
    ["a signature that is no base64", 200, JSON_TYPE, '{"Signature":"#"}', "integrity"],
    ["a signature without a key", 200, JSON_TYPE, '{"Signature":"MAYCAQECAQE="}', "integrity"],
  ])("%s (%i) is %s", async (_what, status, contentType, body, code) => {
    (await fakeStarted).replyNext({ status, contentType, body });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ name: "SignerError", code });
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("a connection that is refused is unavailable", async () => {
    const fake = await fakeStarted;
    await fake.goAway();
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "unavailable", transient: true });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "unavailable", cause: { code: "ECONNREFUSED" } });
    await fake.comeBack();
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });
});

describe("what is no HTTP", () => {
  test("is unavailable: something else than KMS is there for now", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined).end("SSH-2.0-other\r\n"));
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const opening = openAwsKmsSigner({
      key: "alias/op",
      region: "eu-west-1",
      endpoint: `http://127.0.0.1:${port}`,
      policy: { maxAttempts: 1 },
    });
    await expect(opening).rejects.toMatchObject({
      code: "unavailable",
      transient: true,
      cause: { code: expect.stringMatching(/^HPE_/) },
    });
    server.close();
  });
});

describe("an error of the client", () => {
  const system = (code: string, name = "Error"): Error => Object.assign(new Error("made up"), { code, name });
  const fetchFailed = (code: string): Error => new TypeError("fetch failed", { cause: system(code) });
  /** As in Jest: what Node throws there is of another class than the `Error` that the code sees. */
  const elsewhere = (members: string): unknown => runInNewContext(`Object.assign(new Error("made up"), ${members})`);
  test.each<[string, unknown, SignerErrorCode, boolean]>([
    ["a reset connection", system("ECONNRESET", "TimeoutError"), "unavailable", true],
    ["a broken pipe", system("EPIPE"), "unavailable", true],
    ["a refused connection", system("ECONNREFUSED"), "unavailable", true],
    [
      "a proxy that closed the connection",
      new Error("Proxy connection ended before receiving CONNECT response"),
      "unavailable",
      true,
    ],
    ["an empty answer of a proxy", new Error("No header received from proxy CONNECT response"), "unavailable", true],
    ["a damaged answer of a proxy", new Error('Invalid header from proxy CONNECT response: "x"'), "unavailable", true],
    ["a proxy that refused, for hpagent", new Error("Bad response: 407"), "unavailable", true],
    ["a proxy that did not answer, for hpagent", new Error("Proxy timeout"), "unavailable", true],
    ["words like those of hpagent", new Error("Bad response: 4070"), "integrity", false],
    [
      "other words about a proxy",
      new Error("my Proxy connection ended before receiving CONNECT response"),
      "integrity",
      false,
    ],
    ["a name that is not known", system("ENOTFOUND"), "unavailable", true],
    ["a resolver that is away", system("EAI_AGAIN"), "unavailable", true],
    ["a host that is away", system("EHOSTUNREACH"), "unavailable", true],
    ["a certificate that is over", system("CERT_HAS_EXPIRED"), "unavailable", true],
    ["a chain that is too long", system("PATH_LENGTH_EXCEEDED"), "unavailable", true],
    ["a certificate that is refused without a name", system("UNSPECIFIED"), "unavailable", true],
    ["a certificate of someone else", system("ERR_TLS_CERT_ALTNAME_INVALID"), "unavailable", true],
    ["a certificate nobody vouches for", system("UNABLE_TO_VERIFY_LEAF_SIGNATURE"), "unavailable", true],
    ["a proxy's CA that is none", system("INVALID_CA"), "unavailable", true],
    ["no address that could be reached in time", system("ERR_SOCKET_CONNECTION_TIMEOUT"), "timeout", true],
    ["a socket that closed before the request", system("ERR_SOCKET_CLOSED"), "unavailable", true],
    ["a proxy that refused, for an agent of Node", system("ERR_PROXY_TUNNEL"), "unavailable", true],
    ["an agent for another protocol", system("ERR_INVALID_PROTOCOL", "TypeError"), "invalid_argument", false],
    ["a request that took too long", system("ETIMEDOUT", "TimeoutError"), "timeout", true],
    ["a connection that took too long", Object.assign(new Error("x"), { name: "TimeoutError" }), "timeout", true],
    ["an abort that was not ours", Object.assign(new Error("x"), { name: "AbortError" }), "unavailable", true],
    ["no credentials", Object.assign(new Error("x"), { name: "CredentialsProviderError" }), "access_denied", false],
    ["a credential provider that gave up", system("x", "ProviderError"), "access_denied", false],
    ["a token's file that is missing", Object.assign(system("ENOENT"), { syscall: "open" }), "access_denied", false],
    [
      "a token's file while too many are open",
      Object.assign(system("EMFILE"), { syscall: "open" }),
      "unavailable",
      true,
    ],
    ["a token's file that is a folder", Object.assign(system("EISDIR"), { syscall: "read" }), "access_denied", false],
    ["credentials that are no header", system("ERR_INVALID_CHAR", "TypeError"), "access_denied", false],
    ["an answer that is no HTTP", system("HPE_INVALID_CONSTANT"), "unavailable", true],
    ["a connection that fetch lost", fetchFailed("UND_ERR_SOCKET"), "unavailable", true],
    ["a name that fetch did not find", fetchFailed("ENOTFOUND"), "unavailable", true],
    ["an answer that fetch waited for too long", fetchFailed("UND_ERR_HEADERS_TIMEOUT"), "timeout", true],
    ["a stream of HTTP/2 that ended", system("ERR_HTTP2_STREAM_ERROR"), "unavailable", true],
    ["a reset connection in another realm", elsewhere('{ code: "ECONNRESET" }'), "unavailable", true],
    ["a refusal in another realm", elsewhere('{ name: "AccessDeniedException" }'), "access_denied", false],
    ["a proxy's page in another realm", elsewhere("{ $metadata: { httpStatusCode: 502 } }"), "unavailable", true],
    ["a mistake in the client", new TypeError("x is not a function"), "integrity", false],
    ["something that is no error", "down", "integrity", false],
    ["nothing", undefined, "integrity", false],
  ])("%s", (_what, thrown, code, transient) => {
    expect(signerErrorFrom(thrown, "kms:Sign", TARGET)).toMatchObject({ code, transient });
  });

  test("says which call failed, of which key, where, and how KMS called it", () => {
    const thrown = Object.assign(new Error("made up"), { name: "AccessDeniedException" });
    expect(signerErrorFrom(thrown, "kms:Sign", TARGET).message).toMatch(
      /^kms:Sign of alias\/op-2026 in eu-west-1 failed: .*\(AccessDeniedException\)$/,
    );
  });

  test("keeps neither the response nor the text of a refused signature, which repeats the request", () => {
    const thrown = Object.assign(new Error("The canonical request was x-amz-security-token:TOKEN"), {
      name: "InvalidSignatureException",
      $fault: "client",
      $response: { headers: { authorization: "TOKEN" } },
      $metadata: { httpStatusCode: 400, requestId: "r-1" },
    });
    const error = signerErrorFrom(thrown, "kms:Sign", TARGET);
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain("TOKEN");
    expect(error.cause).toMatchObject({ name: "InvalidSignatureException", $metadata: { requestId: "r-1" } });
  });

  test.each([
    ["AccessDeniedException", "refused: Authorization=AWS4-HMAC-SHA256 Credential=AKIA/x, Signature=TOKEN"],
    ["Unknown", "headers were { X-Amz-Security-Token: TOKEN }"],
    ["CredentialsProviderError", "Command failed: /opt/credentials --password=TOKEN\nTOKEN on stderr"],
  ])("keeps no text of a proxy that repeats the request, nor of a command, as in %s", (name, message) => {
    const inner = Object.assign(new Error(message), { name });
    const error = signerErrorFrom(Object.assign(new Error("made up", { cause: inner }), { name }), "kms:Sign", TARGET);
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toContain("TOKEN");
    expect(error.cause).toMatchObject({ name, message: "made up" });
  });

  test.each(['"c2Vzc2lvbi10b2tlbg"', '{"a":"c2Vzc2lvbi10b2tlbg', '{"a":"session" x', ""])(
    "of an answer %j that is no JSON repeats nothing of it",
    (answer) => {
      const parsed = (): unknown => JSON.parse(`${answer}!`);
      const error = signerErrorFrom(thrownBy(parsed), "kms:Sign", TARGET);
      expect(error.cause).toMatchObject({ name: "SyntaxError", message: "" });
      expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(/c2Vzc2|sess/);
    },
  );

  test("that is a SignerError already stays as it is", () => {
    const error = new SignerError("timeout", "x");
    expect(signerErrorFrom(error, "kms:Sign", TARGET)).toBe(error);
  });
});
