import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { describe, expect, test } from "vitest";
import { ConfigurationError, createJwksEndpoint, createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { REDIRECT_URI } from "./support/op.ts";

describe("at construction", () => {
  const keysOf = async () => createKeySet([{ signer: await openLocalSigner() }]);

  test.each(["kid", "alg", "use", "kty", "crv", "x", "y", "key_ops", "keyObject", "sign"])(
    "a host whose hook has no %s is refused, and what is missing is named",
    async (name) => {
      function Changed(): void {}
      for (const member of Object.getOwnPropertyNames(ExternalSigningKey.prototype)) {
        if (member !== name) Object.defineProperty(Changed.prototype, member, { value: undefined });
      }
      const keys = await keysOf();
      const refused = () => signpostKeys({ ExternalSigningKey: Changed as never, errors, keys });
      expect(refused).toThrow(expect.objectContaining({ argument: "ExternalSigningKey" }));
      expect(refused).toThrow(`(missing: ${name})`);
    },
  );

  test("a host whose hook has changed is refused, saying so", async () => {
    const keys = await keysOf();
    class Changed {
      keyObject(): void {}
      signDigest(): void {}
    }
    const refused = () => signpostKeys({ ExternalSigningKey: Changed, errors, keys });
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(
      /signing hook.*is different \(missing: kid, alg, use, kty, crv, x, y, key_ops, sign\) and needs another/,
    );
  });

  test.each([
    ["ExternalSigningKey", { ExternalSigningKey: undefined }],
    ["ExternalSigningKey", { ExternalSigningKey: {} }],
    ["errors", { errors: undefined }],
    ["errors", { errors: {} }],
    ["errors", { errors: { ...errors, OIDCProviderError: undefined } }],
    ["errors", { errors: { ...errors, TemporarilyUnavailable: undefined } }],
    ["keys", { keys: undefined }],
    ["keys", { keys: [] }],
    ["keys", { keys: {} }],
    ["verifyingKeys", { verifyingKeys: -1 }],
    ["verifyingKeys", { verifyingKeys: 257 }],
    ["verifyingKeys", { verifyingKeys: Number.NaN }],
    ["verifyingKeys", { verifyingKeys: null }],
    ["onError", { onError: "log" }],
    ["onError", { onError: null }],
    ["verify", { verify: "never" }],
    ["verify", { verify: null }],
  ])("a wrong %s is refused and named: %j", async (argument, wrong) => {
    const options = { ExternalSigningKey, errors, keys: await keysOf(), ...wrong };
    expect(() => signpostKeys(options as never)).toThrow(expect.objectContaining({ argument }));
  });

  test.each([
    [{}, 17],
    [{ verifyingKeys: undefined, verify: undefined, onError: undefined }, 17],
    [{ verifyingKeys: 0 }, 1],
    [{ verifyingKeys: 256 }, 257],
    [{ verify: "always" }, 17],
    [{ verify: "first" }, 17],
    [{ onError: () => {} }, 17],
  ] as const)(
    "with %j, the host gets %d keys: one that signs, and places for those that verify",
    async (more, count) => {
      const { jwks } = signpostKeys({ ExternalSigningKey, errors, keys: await keysOf(), ...more });
      expect(jwks.keys).toHaveLength(count);
    },
  );

  test("each key of the host shows its members as those of a JWK, and not its functions", async () => {
    const keys = await keysOf();
    const { jwks } = signpostKeys({ ExternalSigningKey, errors, keys, verifyingKeys: 1 });
    const members = ["alg", "crv", "e", "key_ops", "kid", "kty", "n", "pub", "use", "x", "y"];
    for (const key of jwks.keys) {
      expect(members).toEqual(expect.arrayContaining(Object.keys(key)));
      expect(Object.keys(key)).toEqual(expect.arrayContaining(["kid", "alg", "kty", "crv", "x", "y", "n", "e", "pub"]));
    }
    const [signing, free] = jwks.keys;
    const { x, y } = keys.active.publicKey;
    expect({ ...free }).toMatchObject({ kid: "signpost-free-place-0", key_ops: ["verify"], x, y });
    expect({ ...signing }).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", kid: keys.active.keyId, x, y });
  });

  test("a free place has no key, and no place for a key that verifies signs", async () => {
    const { jwks } = signpostKeys({ ExternalSigningKey, errors, keys: await keysOf(), verifyingKeys: 1 });
    const free = jwks.keys[1] as unknown as { keyObject(): unknown; sign(data: Uint8Array): Promise<unknown> };
    const refusal = (message: string): unknown =>
      expect.objectContaining({ name: "ConfigurationError", argument: "kid", message: `kid: ${message}` });
    expect(() => free.keyObject()).toThrow(refusal("expected the kid of a key, got the kid of a free place"));
    await expect(free.sign(new Uint8Array(1))).rejects.toEqual(
      refusal("expected the kid of the active key: this one only verifies"),
    );
  });

  test.each([
    ["verifyingkeys", "verifyingKeys"],
    ["keySet", "keys"],
    ["ExternalSigningkey", "ExternalSigningKey"],
  ])("a misspelled option is refused with the one that was meant: %s", async (name, meant) => {
    const options = { ExternalSigningKey, errors, keys: await keysOf(), [name]: 1 };
    expect(() => signpostKeys(options)).toThrow(
      expect.objectContaining({ argument: name, message: `${name}: unknown option; did you mean ${meant}?` }),
    );
    expect(() => signpostKeys({ ...options, [name]: undefined })).not.toThrow();
  });

  test("the host's errors and its class may have members that we do not use", async () => {
    const keys = await keysOf();
    const more = { ...errors, Unheard: class extends Error {} };
    expect(() => signpostKeys({ ExternalSigningKey, errors: more, keys })).not.toThrow();
  });

  test("options without anything name the option that is missing first", () => {
    expect(() => signpostKeys({} as never)).toThrow(
      "ExternalSigningKey: expected the class with this name from oidc-provider, got undefined",
    );
    expect(() => signpostKeys(undefined as never)).toThrow("options: expected an object, got undefined");
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
    signpost.attach(provider, createJwksEndpoint({ issuer, keys }));
    expect((await provider.Client.find("rp"))?.idTokenSignedResponseAlg).toBe("ES256");
  });

  test("an endpoint at another path than the host announces is refused", async () => {
    const keys = await keysOf();
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider("http://127.0.0.1", { ...signpost, clientDefaults: { ...signpost.clientDefaults } });
    const endpoint = createJwksEndpoint({ issuer: "http://127.0.0.1", keys, endpoints: { jwks: "/keys" } });
    expect(() => signpost.attach(provider, endpoint)).toThrow(expect.objectContaining({ argument: "endpoint" }));
  });

  test("keys serve one provider", async () => {
    const keys = await keysOf();
    const issuer = "http://127.0.0.1";
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const { jwks, features, clientDefaults } = signpost;
    const provider = new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } });
    const endpoint = createJwksEndpoint({ issuer, keys });
    signpost.attach(provider, endpoint);
    expect(() => signpost.attach(provider, endpoint)).toThrow(expect.objectContaining({ argument: "provider" }));
  });

  test.each([
    ["IdToken"],
    ["Client"],
    ["ResourceServer"],
    ["AuthorizationCode"],
    ["RefreshToken"],
    ["DeviceCode"],
    ["BackchannelAuthenticationRequest"],
    ["PreAuthorizedCode"],
    ["PushedAuthorizationRequest"],
    ["Client", "ResourceServer", "DeviceCode"],
  ])("a provider without the class %s is refused, and what is missing is named", async (...missing) => {
    const keys = await keysOf();
    const signpost = signpostKeys({ ExternalSigningKey, errors, keys });
    const { jwks, features, clientDefaults } = signpost;
    const issuer = "http://127.0.0.1";
    const provider = new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } });
    for (const name of missing) Object.defineProperty(provider, name, { value: undefined });
    expect(() => signpost.attach(provider, createJwksEndpoint({ issuer, keys }))).toThrow(
      expect.objectContaining({
        argument: "provider",
        message: expect.stringContaining(`this one is different (missing: ${missing.join(", ")})`),
      }),
    );
  });

  test.each([
    ["cors", { cors: "yes" }],
    ["cors", { cors: null }],
    ["servesRequests", { servesRequests: 0 }],
    ["getResourceServerInfo", { getResourceServerInfo: {} }],
    ["servesrequests", { servesrequests: false }],
  ])("attach refuses a wrong %s: %j", async (argument, options) => {
    const keys = await keysOf();
    const issuer = "http://127.0.0.1";
    const { attach, jwks, features, clientDefaults } = signpostKeys({ ExternalSigningKey, errors, keys });
    const provider = new Provider(issuer, { jwks, features, clientDefaults: { ...clientDefaults } });
    const endpoint = createJwksEndpoint({ issuer, keys });
    expect(() => attach(provider, endpoint, options as never)).toThrow(expect.objectContaining({ argument }));
    expect(() => attach(provider, endpoint)).not.toThrow();
  });

  test("a provider that was never attached signs nothing, and the operator sees why", async () => {
    const issuer = "http://127.0.0.1";
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
  });
});
