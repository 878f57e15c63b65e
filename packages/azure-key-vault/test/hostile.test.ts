import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { SignerErrorCode } from "@signpost/core";
import { okReply, type AzureReply } from "@signpost/test-backends/fake-azure-key-vault";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, options, open } = await startVaultFixture();
const OTHER = "f".repeat(32);
const RAW = Buffer.alloc(64, 1);
const value = RAW.toString("base64url");
const kid = (): string => `https://op.vault.azure.net/keys/op/${fake.key.latest.version}`;
const signed = (changes: object): AzureReply => okReply({ kid: kid(), value, ...changes });

describe("a signature is refused", () => {
  test.each<[what: string, reply: () => AzureReply, code: SignerErrorCode, transient: boolean]>([
    ["of another version", () => signed({ kid: `https://op.vault.azure.net/keys/op/${OTHER}` }), "wrong_key", false],
    ["of another key", () => signed({ kid: kid().replace("/op/", "/other/") }), "wrong_key", false],
    ["of another vault", () => signed({ kid: kid().replace("//op.", "//secret-vault.") }), "wrong_key", false],
    [
      "of a host that only begins so",
      () => signed({ kid: kid().replace(".net/", ".net.evil.example/") }),
      "wrong_key",
      false,
    ],
    [
      "with a user in kid",
      () => signed({ kid: kid().replace("//op", "//op.vault.azure.net@evil") }),
      "wrong_key",
      false,
    ],
    ["without kid", () => signed({ kid: undefined }), "integrity", true],
    ["with an empty kid", () => signed({ kid: "" }), "integrity", true],
    ["with text before its kid", () => signed({ kid: `x${kid()}` }), "integrity", false],
    ["with text after its kid", () => signed({ kid: `${kid()}0` }), "integrity", false],
    ["with a kid that is a number", () => signed({ kid: 7 }), "integrity", false],
    ["with a kid without a version", () => signed({ kid: "https://op.vault.azure.net/keys/op" }), "integrity", false],
    ["with a kid that has more", () => signed({ kid: `${kid()}/sign` }), "integrity", false],
    ["without value", () => signed({ value: undefined }), "integrity", true],
    ["with a value that is an array", () => signed({ value: [...RAW] }), "integrity", true],
    ["of 63 bytes", () => signed({ value: RAW.subarray(1).toString("base64url") }), "integrity", false],
    ["of 65 bytes", () => signed({ value: Buffer.alloc(65, 1).toString("base64url") }), "integrity", false],
    [
      "of 96 bytes, as by P-384",
      () => signed({ value: Buffer.alloc(96, 1).toString("base64url") }),
      "integrity",
      false,
    ],
    ["in padded base64", () => signed({ value: RAW.toString("base64") }), "integrity", false],
    ["with a line break", () => signed({ value: `${value}\n` }), "integrity", false],
    ["in DER", () => signed({ value: "MAYCAQECAQE" }), "integrity", false],
    [
      "with r = 0",
      () => signed({ value: Buffer.concat([Buffer.alloc(32), RAW.subarray(32)]).toString("base64url") }),
      "bad_signature",
      false,
    ],
    [
      "with s over the order",
      () => signed({ value: Buffer.concat([RAW.subarray(32), Buffer.alloc(32, 255)]).toString("base64url") }),
      "bad_signature",
      false,
    ],
    ["in nothing", () => ({ status: 200, body: "" }), "integrity", true],
    ["in 204", () => ({ status: 204, body: "" }), "integrity", true],
    ["in an array", () => ({ status: 200, body: "[]" }), "integrity", true],
    ["in null", () => ({ status: 200, body: "null" }), "integrity", true],
    [
      "in HTML",
      () => ({ status: 200, headers: { "content-type": "text/html" }, body: "<html>hello</html>" }),
      "integrity",
      true,
    ],
    ["in half an answer", () => ({ status: 200, body: '{"kid":"https' }), "integrity", true],
    ["in an answer over 64 KiB", () => signed({ tags: "x".repeat(70_000) }), "integrity", false],
  ])("%s", async (_what, reply, code, transient) => {
    const signer = await open();
    fake.replyNext(reply());
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code, transient, uri: signer.uri });
    expect(inspect(error, { depth: 10 })).not.toMatch(/secret-vault|evil|hello/);
    expect(await signsTruly(signer)).toBe(true);
  });
});

describe("a refusal that is not the service's", () => {
  const html = { "content-type": "text/html" };
  test.each<[status: number, body: string, code: SignerErrorCode]>([
    [403, "<html>Access to this page is blocked</html>", "access_denied"],
    [404, "<html>no such page</html>", "unavailable"],
    [400, "<html>bad</html>", "invalid_argument"],
    [418, "short and stout", "unavailable"],
    [502, "<html>gateway</html>", "unavailable"],
    [403, JSON.stringify({ error: "a text" }), "access_denied"],
    [403, JSON.stringify({ error: { code: ["x"], message: 7, innererror: "no" } }), "access_denied"],
    [500, "x".repeat(100_000), "unavailable"],
  ])("%i %s", async (status, body, code) => {
    const signer = await open();
    fake.replyNext({ status, headers: html, body });
    const error = await rejection(signer.sign(DIGEST));
    expect(error).toMatchObject({ code });
    expect(inspect(error, { depth: 10 })).not.toMatch(/html|stout|xxxx/);
  });

  test("whose code is a secret does not show it", async () => {
    const signer = await open();
    const token = fake.requests.at(-1)?.token ?? "";
    const code = token.replaceAll("-", "");
    fake.replyNext({
      status: 403,
      body: JSON.stringify({ error: { code, message: token, innererror: { code: token } } }),
    });
    const all = inspect(await rejection(signer.sign(DIGEST)), { depth: 10 });
    expect(all).not.toContain(token);
    expect(all).not.toContain(code);
  });
});

describe("a key is refused", () => {
  const changed = (jwk: object, others: object = {}): AzureReply => {
    const { kty, crv, keyOps, attributes, material } = fake.key.latest;
    const key = { kid: kid(), kty, crv, key_ops: keyOps, x: material.x, y: material.y, ...jwk };
    return okReply({ key, attributes, ...others });
  };
  test.each<[what: string, reply: () => AzureReply, code: SignerErrorCode]>([
    ["of another vault", () => changed({ kid: kid().replace("//op.", "//x.") }), "wrong_key"],
    ["of another name", () => changed({ kid: kid().replace("/op/", "/x/") }), "wrong_key"],
    ["without key", () => okReply({ attributes: {} }), "integrity"],
    ["without kid", () => changed({ kid: undefined }), "integrity"],
    ["without kty", () => changed({ kty: undefined }), "integrity"],
    ["without x", () => changed({ x: undefined }), "integrity"],
    ["without key_ops", () => changed({ key_ops: "sign" }), "integrity"],
    ["without attributes", () => changed({}, { attributes: undefined }), "integrity"],
    ["with enabled as text", () => changed({}, { attributes: { enabled: "true" } }), "integrity"],
    ["with exp as text", () => changed({}, { attributes: { enabled: true, exp: "soon" } }), "integrity"],
    ["with an nbf that no date holds", () => changed({}, { attributes: { enabled: true, nbf: 1e20 } }), "integrity"],
    ["with a short x", () => changed({ x: "AAAA" }), "integrity"],
    ["with a point off the curve", () => changed({ y: Buffer.alloc(32, 1).toString("base64url") }), "integrity"],
    ["with oct", () => changed({ kty: "oct-HSM", crv: undefined }), "unsupported_key"],
  ])("%s", async (_what, reply, code) => {
    fake.replyNext(reply());
    expect(await rejection(open({ policy: { maxAttempts: 1 } }))).toMatchObject({ code });
  });

  test("if another version answers than the one that was asked for", async () => {
    const { version } = fake.key.latest;
    fake.replyNext(changed({ kid: `https://op.vault.azure.net/keys/op/${OTHER}` }));
    expect(await rejection(open({ keyVersion: version }))).toMatchObject({ code: "wrong_key" });
  });
});

test.each(["own", "caller's"])(
  "an answer that drips ends with the attempt, through the %s dispatcher",
  async (whose) => {
    const tls = { caFile: fake.caFile };
    const own = { vault: fake.url, dispatcher: undefined, tls } as const;
    const signer = await open(whose === "own" ? own : options);
    fake.replyNext({ ...signed({}), ending: "drip" });
    const error = await rejection(signer.sign(DIGEST, { signal: AbortSignal.timeout(100) }));
    expect(error).toMatchObject({ code: "aborted" });
    expect(await signsTruly(signer)).toBe(true);
  },
);

test("a redirect is not followed, so that the token stays with the vault", async () => {
  const signer = await open();
  const before = fake.requests.length;
  fake.replyNext({ status: 307, headers: { location: "https://evil.vault.azure.net/keys/op" }, body: "" });
  expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "unavailable" });
  expect(fake.requests.length - before).toBe(1);
});

test.each([
  [199, false],
  [200, true],
  [299, true],
  [300, false],
])("an answer with status %i counts: %s", async (status, counts) => {
  const { version, material } = fake.key.latest;
  const key = { kid: kid(), kty: "EC", crv: "P-256", x: material.x, y: material.y, key_ops: ["sign"] };
  const body = [Buffer.from(JSON.stringify({ key, attributes: { enabled: true } }))];
  const dispatcher = { request: async () => ({ statusCode: status, headers: {}, body }) };
  const opening = open({ credential: () => "token", keyVersion: version, dispatcher, policy: { maxAttempts: 1 } });
  const opened = await opening.then(
    () => true,
    () => false,
  );
  expect(opened).toBe(counts);
});
