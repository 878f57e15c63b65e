import { describe, expect, test, vi } from "vitest";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, open } = await startVaultFixture();
const { entra } = fake;
const vault = "https://op.vault.example";
const AUTHORITY = "https://login.microsoftonline.com/t1";
const tokensSent = (): readonly (string | undefined)[] => fake.requests.map(({ token }) => token);

describe("a challenge of another server is read", () => {
  test.each([
    ["in another order", `bearer resource="${vault}",authorization="${AUTHORITY}"`],
    ["with spaces around =", `Bearer authorization = "${AUTHORITY}" ,\tresource = "${vault}"`],
    ["without quotes", `Bearer authorization=${AUTHORITY}, resource=${vault}`],
    ["with other case", `BEARER Authorization="${AUTHORITY}", Resource="${vault}"`],
    ["with escapes", `Bearer realm="say \\"PoP\\", Basic realm=", authorization="${AUTHORITY}", resource="${vault}"`],
    [
      "after a Bearer challenge that asks for nothing",
      `Bearer realm="x", Bearer resource="${vault}", authorization="${AUTHORITY}"`,
    ],
    ["after a Negotiate challenge", `Negotiate YII/abc==, Bearer resource="${vault}", authorization="${AUTHORITY}"`],
    [
      "next to a parameter that ends the same",
      `Bearer x-resource="https://a.test", resource="${vault}", authorization="${AUTHORITY}"`,
    ],
    ["with the whole scope as resource", `Bearer resource="${vault}/.default", authorization="${AUTHORITY}"`],
  ])("%s", async (_what, challenge) => {
    fake.challenge = challenge;
    expect(await signsTruly(await open({ vault }))).toBe(true);
    expect(entra.issued).toMatchObject([{ scope: `${vault}/.default`, tenantId: "t1" }]);
  });
});

describe("no token is asked for", () => {
  test.each([
    ["a second scope", `scope="${vault}/.default https://vault.azure.net/.default"`],
    ["a user", `scope="https://vault.azure.net@op.vault.example/.default"`],
    ["a backslash", `scope="${vault}\\\\@vault.azure.net/.default"`],
    ["a query", `resource="${vault}/?https://vault.azure.net"`],
    ["a fragment", `resource="${vault}#https://vault.azure.net"`],
    ["an escaped character", `resource="${vault}/%20https://vault.azure.net"`],
    ["a tab", `resource="https://op.vault\t.example"`],
  ])("if the resource has %s, which another parser could read as another one", async (_what, parameter) => {
    fake.challenge = `Bearer authorization="${AUTHORITY}", ${parameter}`;
    const error = await rejection(open({ vault }));
    expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(entra.issued).toHaveLength(0);
    expect(tokensSent()).toEqual([undefined]);
  });

  test("if none is named, and the error says what to do", async () => {
    fake.challenge = 'Bearer realm=""';
    const error = await rejection(open({ vault }));
    expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(String(error)).toContain(
      "op.vault.example asks for a token, but does not say for which resource: set scope",
    );
  });
});

describe("claims that cannot be read", () => {
  test.each([
    ["are not base64", "%%%"],
    ["are not JSON", Buffer.from("no JSON").toString("base64")],
    ["are no object", Buffer.from('"text"').toString("base64")],
    ["are missing", ""],
  ])("because they %s are not passed on", async (_what, claims) => {
    const signer = await open();
    entra.revokeAll();
    fake.challenge = `Bearer realm="", error="insufficient_claims", claims="${claims}"`;
    expect(await signsTruly(signer)).toBe(true);
    expect(entra.issued.map((token) => token.claims)).toEqual([undefined, undefined]);
  });
});

describe("a challenge that does not come from the vault", () => {
  const strange = (tenant: string): string =>
    `Bearer authorization="https://login.microsoftonline.com/${tenant}", resource="https://vault.azure.net"`;
  const refusal = (tenant: string) => ({ status: 401, headers: { "www-authenticate": strange(tenant) }, body: "" });
  const getToken = entra.credential.getToken.bind(entra.credential);

  test("and names a tenant in which the credential has no token changes nothing for later calls", async () => {
    const signer = await open();
    vi.spyOn(entra.credential, "getToken").mockImplementation(async (scope, options) => {
      if (options?.tenantId !== "stranger") return getToken(scope, options);
      throw Object.assign(new Error("no such tenant"), { name: "AuthenticationError", statusCode: 400 });
    });
    fake.replyNext(refusal("stranger"));
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
    expect(await signsTruly(signer)).toBe(true);
  });

  test("and names another tenant each time costs few tokens", async () => {
    const signer = await open();
    const asked = vi.spyOn(entra.credential, "getToken");
    for (let count = 0; count < 20; count += 1) {
      fake.replyNext(refusal(`tenant-${count}`), 2);
      expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied" });
      fake.forgetReplies();
    }
    expect(asked.mock.calls.length).toBeLessThanOrEqual(4);
    expect(await signsTruly(signer)).toBe(true);
  });
});
