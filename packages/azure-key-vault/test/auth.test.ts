import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { rejection, signsTruly } from "./support/signatures.ts";
import { DIGEST, startVaultFixture } from "./support/vault-fixture.ts";

const { fake, open } = await startVaultFixture();
const { entra } = fake;

const scopes = (): readonly string[] => entra.issued.map(({ scope }) => scope);
const tokensSent = (): readonly (string | undefined)[] => fake.requests.map(({ token }) => token);

describe("the token is for the cloud of the vault:", () => {
  test.each([
    ["op.vault.azure.net", "https://vault.azure.net/.default"],
    ["op.managedhsm.azure.net", "https://managedhsm.azure.net/.default"],
    ["op.vault.azure.cn", "https://vault.azure.cn/.default"],
    ["op.vault.usgovcloudapi.net", "https://vault.usgovcloudapi.net/.default"],
  ])("%s", async (host, scope) => {
    expect(await signsTruly(await open({ vault: `https://${host}` }))).toBe(true);
    expect(scopes()).toEqual([scope]);
    expect(tokensSent()).not.toContain(undefined);
  });
});

describe("another host names its resource in a challenge", () => {
  const vault = "https://op.vault.example";

  test("which covers the host: itself, or a domain above it", async () => {
    for (const resource of ["https://op.vault.example", "https://vault.example", "https://vault.example/"]) {
      fake.reset();
      fake.resource = resource.replace(/\/$/, "");
      fake.challenge = `Bearer authorization="https://login.microsoftonline.com/${entra.tenantId}", resource="${resource}"`;
      const signer = await open({ vault });
      expect(await signsTruly(signer)).toBe(true);
      expect(entra.issued).toMatchObject([{ scope: `${fake.resource}/.default`, tenantId: entra.tenantId }]);
      // Only the first request has no token.
      expect(tokensSent().filter((token) => token === undefined)).toHaveLength(1);
    }
  });

  test.each([
    "https://vault.azure.net",
    "https://ault.example",
    "https://x.op.vault.example",
    "https://example.vault",
    "https://example",
    "http://vault.example",
    "https://op.vault.example.evil.test",
    "https://evil.test/op.vault.example",
    "not a url",
  ])("and gets no token for %s, which does not cover it", async (resource) => {
    fake.challenge = `Bearer authorization="https://login.microsoftonline.com/x", resource="${resource}"`;
    const error = await rejection(open({ vault }));
    expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(String(error)).toContain("op.vault.example asks for a token of a resource that does not cover this host");
    expect(entra.issued).toHaveLength(0);
    expect(tokensSent()).toEqual([undefined]);
  });

  test("by scope instead of resource, and next to other schemes", async () => {
    fake.resource = "https://vault.example";
    const realm = 'Basic realm="a", ';
    const bearer = `Bearer authorization="https://login.microsoftonline.com/t", scope="https://vault.example/.default"`;
    fake.challenge = `${realm}${bearer}, PoP realm="b", resource="https://vault.azure.net"`;
    expect(await signsTruly(await open({ vault }))).toBe(true);
    expect(scopes()).toEqual(["https://vault.example/.default"]);
  });

  test.each(["", 'Basic realm="x"', "Bearer", 'Bearer realm=""'])(
    "and is refused if it names none (%#)",
    async (challenge) => {
      fake.challenge = challenge;
      expect(await rejection(open({ vault }))).toMatchObject({ code: "access_denied" });
      expect(entra.issued).toHaveLength(0);
    },
  );

  test("an address covers only itself", async () => {
    const tls = { caFile: fake.caFile };
    const local = { vault: fake.url, dispatcher: undefined, tls } as const;
    expect(await signsTruly(await open(local))).toBe(true);
    expect(scopes()).toEqual(["https://127.0.0.1/.default"]);
    fake.challenge = 'Bearer authorization="https://login.microsoftonline.com/x", resource="https://0.0.1"';
    expect(await rejection(open(local))).toMatchObject({ code: "access_denied" });
  });

  test("unless the caller names the scope, which is then used at once", async () => {
    fake.resource = "https://vault.azure.net";
    const tls = { caFile: fake.caFile };
    const scope = "https://vault.azure.net/.default";
    expect(await signsTruly(await open({ vault: fake.url, dispatcher: undefined, tls, scope }))).toBe(true);
    expect(scopes()).toEqual([scope]);
    expect(tokensSent()).not.toContain(undefined);
  });
});

describe("a vault in Azure", () => {
  test("cannot ask for a token of another resource", async () => {
    fake.resource = "https://azure.net";
    const error = await rejection(open());
    expect(error).toMatchObject({ code: "access_denied" });
    expect(String(error)).toContain("the vault refused the token (AKV10022)");
    expect(new Set(scopes())).toEqual(new Set(["https://vault.azure.net/.default"]));
  });

  test("names its tenant to a credential of another one", async () => {
    entra.requiresTenant = true;
    expect(await signsTruly(await open())).toBe(true);
    expect(entra.issued.map(({ tenantId }) => tenantId)).toEqual([undefined, entra.tenantId]);
    const all = inspect(await rejection(open({ key: "other" })), { depth: 10 });
    expect(all).not.toContain(entra.tenantId);
  });
});

describe("continuous access evaluation", () => {
  const CLAIMS = '{"access_token":{"nbf":{"essential":true,"value":"1790000000"}}}';

  test("is answered with the claims, once", async () => {
    const signer = await open();
    entra.requiredClaims = CLAIMS;
    expect(await signsTruly(signer)).toBe(true);
    expect(entra.issued.map(({ claims }) => claims)).toEqual([undefined, CLAIMS]);
    expect(await signsTruly(signer)).toBe(true);
    expect(entra.issued).toHaveLength(2);
  });

  test("after the first challenge of another host", async () => {
    entra.requiredClaims = CLAIMS;
    expect(await signsTruly(await open({ vault: "https://op.vault.example" }))).toBe(true);
    expect(entra.issued.map(({ claims }) => claims)).toEqual([undefined, CLAIMS]);
    expect(entra.issued.every(({ tenantId }) => tenantId === entra.tenantId)).toBe(true);
  });

  /** As MSAL: without claims, the last token comes from a cache. */
  const cachingCredential = (gate: Promise<void> = Promise.resolve()) => {
    let cached = entra.issue("https://vault.azure.net/.default");
    return vi.spyOn(entra.credential, "getToken").mockImplementation(async (scopes, options) => {
      if (options?.claims !== undefined) {
        await gate;
        cached = entra.issue(String(scopes), options);
      }
      return { token: cached.token, expiresOnTimestamp: Date.now() + 3_600_000 };
    });
  };

  test("is answered for calls that begin meanwhile, if the credential keeps its last token", async () => {
    let passGate: () => void = () => {};
    const getToken = cachingCredential(new Promise((resolve) => (passGate = resolve)));
    const signer = await open();
    entra.requiredClaims = CLAIMS;
    const first = signer.sign(DIGEST);
    await vi.waitFor(() =>
      expect(getToken).toHaveBeenLastCalledWith(expect.anything(), expect.objectContaining({ claims: CLAIMS })),
    );
    const second = signer.sign(DIGEST);
    await new Promise(setImmediate);
    passGate();
    expect(await Promise.all([first, second])).toHaveLength(2);
    expect(getToken).toHaveBeenCalledTimes(2);
  });

  test("is answered by the next call, if the credential fails once", async () => {
    const getToken = cachingCredential();
    const signer = await open();
    entra.requiredClaims = CLAIMS;
    getToken.mockRejectedValueOnce(Object.assign(new Error(""), { code: "ECONNRESET" }));
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "unavailable", transient: true });
    expect(await signsTruly(signer)).toBe(true);
  });

  test("that is not satisfied by the new token denies access, after two requests", async () => {
    const signer = await open();
    const before = fake.requests.length;
    entra.requiredClaims = CLAIMS;
    vi.spyOn(entra, "issue").mockImplementation((scope) => {
      const token = `fake-token-${Math.random()}`;
      return { token, scope, tenantId: undefined, claims: undefined };
    });
    expect(await rejection(signer.sign(DIGEST))).toMatchObject({ code: "access_denied", transient: false });
    expect(fake.requests.length - before).toBeLessThanOrEqual(3);
  });

  test("credentials are told that it is supported", async () => {
    const getToken = vi.spyOn(entra.credential, "getToken");
    await open();
    expect(getToken).toHaveBeenCalledWith("https://vault.azure.net/.default", {
      enableCae: true,
      abortSignal: expect.any(AbortSignal),
    });
  });
});
