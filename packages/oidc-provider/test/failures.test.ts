import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  ConfigurationError,
  createJwksEndpoint,
  createKeySet,
  guardSigner,
  SignerError,
  type SignerErrorCode,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type HostProvider, signpostKeys } from "@signpost/oidc-provider";
import { browser, type Op, REDIRECT_URI, startOp } from "./support/op.ts";

const SECRET = "arn:aws:kms:eu-central-1:111122223333:key/secret";
let op: Op;
let failing: SignerErrorCode | undefined;

beforeAll(async () => {
  const bare = await openLocalSigner({ policy: false });
  const signer = guardSigner(
    {
      ...bare,
      sign: async (digest, options) => {
        if (failing !== undefined) throw new SignerError(failing, SECRET);
        return bare.sign(digest, options);
      },
    },
    { maxAttempts: 1 },
  );
  op = await startOp({
    keys: createKeySet([{ signer }]),
    configuration: {
      clients: [
        {
          client_id: "service",
          client_secret: "only-for-this-test",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
        {
          client_id: "rp",
          token_endpoint_auth_method: "none",
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "implicit"],
          response_types: ["code", "id_token"],
        },
      ],
    },
  });
});
afterAll(() => {
  op.close();
});
beforeEach(() => {
  failing = undefined;
});

function askToken(): Promise<Response> {
  return fetch(`${op.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa("service:only-for-this-test")}` },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: "urn:example:api" }),
  });
}

function authorize(parameters: Record<string, string>): Promise<URL | Response> {
  const url = new URL(`${op.issuer}/auth`);
  const all = { client_id: "rp", redirect_uri: REDIRECT_URI, scope: "openid", nonce: "n", state: "s", ...parameters };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return browser(op.issuer)(url);
}

/** What the operator's event of the last failure says. */
function lastCode(): unknown {
  const cause = op.failures.at(-1)?.error.cause;
  return cause instanceof SignerError ? cause.code : undefined;
}

const PASSING = ["overloaded", "throttled", "unavailable", "timeout"] as const;
const LASTING = ["key_disabled", "access_denied", "wrong_key", "bad_signature", "pin_locked"] as const;

describe("where the client calls directly", () => {
  test.each(PASSING)(
    "%s is 503 temporarily_unavailable with Retry-After, and the operator sees the code",
    async (code) => {
      failing = code;
      const response = await askToken();
      const body = await response.text();
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(JSON.parse(body)).toMatchObject({ error: "temporarily_unavailable" });
      expect(body).not.toContain(SECRET);
      expect(lastCode()).toBe(code);
    },
  );

  test.each(LASTING)("%s is server_error, and the operator sees the code", async (code) => {
    failing = code;
    const response = await askToken();
    const body = await response.text();
    expect(response.status).toBe(500);
    expect(response.headers.get("retry-after")).toBeNull();
    expect(JSON.parse(body)).toMatchObject({ error: "server_error" });
    expect(body).not.toContain(SECRET);
    expect(lastCode()).toBe(code);
  });

  test("the next request succeeds once the backend is back", async () => {
    failing = "unavailable";
    await askToken();
    failing = undefined;
    expect((await askToken()).status).toBe(200);
  });
});

describe("from the authorization endpoint", () => {
  test.each([
    ...PASSING.map((code) => [code, "temporarily_unavailable"] as const),
    ...LASTING.map((code) => [code, "server_error"] as const),
  ])("%s is %s in the redirect (RFC 6749 section 4.1.2.1)", async (code, error) => {
    failing = code;
    const callback = await authorize({ response_type: "id_token" });
    if (!(callback instanceof URL)) throw new Error(`expected a redirect, got ${callback.status}`);
    const response = new URLSearchParams(callback.hash.slice(1));
    expect(Object.fromEntries(response)).toMatchObject({ error, state: "s" });
    expect(callback.href).not.toContain("secret");
    expect(lastCode()).toBe(code);
  });

  test("a JARM response that cannot be signed is a plain 503 page", async () => {
    failing = "unavailable";
    const page = await authorize({
      response_type: "code",
      response_mode: "jwt",
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    });
    if (!(page instanceof Response)) throw new Error("expected a page");
    expect(page.status).toBe(503);
    expect(page.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(page.headers.get("content-type")).toContain("text/plain");
    expect(await page.text()).toBe("temporarily unavailable\n");
  });
});

describe("at construction", () => {
  const keysOf = async () => createKeySet([{ signer: await openLocalSigner() }]);

  test("a host whose hook has changed is refused, saying so", async () => {
    const keys = await keysOf();
    class Changed {
      keyObject(): void {}
      signDigest(): void {}
    }
    const refused = () => signpostKeys({ ExternalSigningKey: Changed, errors, keys });
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(/external signing hook.*has changed \(missing: .*sign\)/);
  });

  test.each([
    ["ExternalSigningKey", { ExternalSigningKey: undefined }],
    ["errors", { errors: {} }],
    ["verifyingKeys", { verifyingKeys: -1 }],
  ])("a wrong %s is refused and named", async (argument, wrong) => {
    const options = { ExternalSigningKey, errors, keys: await keysOf(), ...wrong };
    expect(() => signpostKeys(options as never)).toThrow(expect.objectContaining({ argument }));
  });

  test("a host that acknowledges another version of its hook refuses the configuration itself", async () => {
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys: await keysOf() });
    const features = { externalSigningSupport: { enabled: true, ack: "experimental-99" } };
    const construct = () => new Provider("http://127.0.0.1", { jwks: signpost.jwks, features });
    expect(construct).toThrow(/externalSigningSupport|acknowledg/i);
  });

  test("a host without JARM and JWT introspection takes the configuration as it is", async () => {
    const keys = await keysOf();
    const issuer = "http://127.0.0.1";
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider(issuer, {
      jwks: signpost.jwks,
      features: { ...signpost.features },
      clientDefaults: { ...signpost.clientDefaults },
      clients: [{ client_id: "rp", client_secret: "only-for-this-test", redirect_uris: [REDIRECT_URI] }],
    });
    signpost.attach(provider, createJwksEndpoint({ issuer, keyset: keys }));
    expect((await provider.Client.find("rp"))?.idTokenSignedResponseAlg).toBe("ES256");
  });

  test("an endpoint at another path than the host announces is refused", async () => {
    const keys = await keysOf();
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider("http://127.0.0.1", { ...signpost, clientDefaults: { ...signpost.clientDefaults } });
    const endpoint = createJwksEndpoint({ issuer: "http://127.0.0.1", keyset: keys, endpoints: { jwks: "/keys" } });
    expect(() => signpost.attach(provider, endpoint)).toThrow(expect.objectContaining({ argument: "endpoint" }));
  });

  test("keys serve one provider", async () => {
    const keys = await keysOf();
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const host: HostProvider = { use: () => host, pathFor: () => "/jwks", urlFor: () => "http://127.0.0.1/jwks" };
    const endpoint = createJwksEndpoint({ issuer: "http://127.0.0.1", keyset: keys });
    signpost.attach(host, endpoint);
    expect(() => signpost.attach(host, endpoint)).toThrow(expect.objectContaining({ argument: "provider" }));
  });

  test("a provider that was never attached signs nothing, and the operator sees why", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    const issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys: await keysOf() });
    const provider = new Provider(issuer, {
      jwks: signpost.jwks,
      features: { ...signpost.features, devInteractions: { enabled: false } },
      clientDefaults: { ...signpost.clientDefaults },
      clients: [
        {
          client_id: "rp",
          token_endpoint_auth_method: "none",
          redirect_uris: [REDIRECT_URI],
          grant_types: ["implicit"],
          response_types: ["id_token"],
        },
      ],
    });
    const token = new provider.IdToken({ sub: "a" }, { client: await provider.Client.find("rp") });
    await expect(token.issue({ use: "idtoken" } as never)).rejects.toMatchObject({
      cause: { argument: "provider", message: expect.stringContaining("attach(provider, endpoint)") },
    });
    server.close();
  });
});
