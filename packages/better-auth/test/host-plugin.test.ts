import { generateKeyPairSync } from "node:crypto";
import { APIError } from "better-auth/api";
import { jwt } from "better-auth/plugins";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySet, type Signer, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { basePathOf, type HostContext, oauthProviderOptions, requireOneJwtPlugin } from "../src/host.ts";
import { signpostJwt } from "../src/index.ts";
import { hostKeys, withLiveKeys } from "../src/verifying-keys.ts";

let signer: Signer;
let keys: KeySet;
beforeAll(async () => {
  signer = await openLocalSigner();
  keys = createKeySet([{ keyId: "sig", signer }]);
});
afterAll(() => signer.close());

const endpoint = () => createJwksEndpoint({ issuer: "https://op.example", mountPrefix: "/api/auth", keys });
const context = (options: object = {}): HostContext => ({
  baseURL: "https://op.example/api/auth",
  logger: { error: () => undefined },
  adapter: { findOne: async () => null },
  options,
});

interface Plugin {
  readonly init?: (context: HostContext) => unknown;
  readonly hooks: { readonly before: readonly unknown[]; readonly after?: readonly unknown[] };
}

/** The plug around a `jwt()` that has more than the host's. */
function pluginAround(more: object): Plugin {
  const around = (options?: never) => Object.assign(jwt(options), more);
  return signpostJwt({ jwt: around, APIError, keys, endpoint: endpoint() }) as unknown as Plugin;
}

describe("what the host's own plugin has", () => {
  test("its hooks come before those of the plug", () => {
    const [before, after] = [{ own: "before" }, { own: "after" }];
    const { hooks } = pluginAround({ hooks: { before: [before], after: [after] } });
    expect(hooks.before).toHaveLength(5);
    expect(hooks.before[0]).toBe(before);
    expect(hooks.after).toEqual([after]);
  });

  test("without hooks, the plug has its own", () => {
    expect(pluginAround({ hooks: undefined }).hooks.before).toHaveLength(4);
  });

  test("its start runs too, and its result is the result", () => {
    const started: unknown[] = [];
    const result = { options: { extra: true } };
    const { init } = pluginAround({
      init: (given: unknown) => {
        started.push(given);
        return result;
      },
    });
    const given = context();
    expect(init?.(given)).toBe(result);
    expect(started).toEqual([given]);
  });
});

test("without onError, the host's log has why a token could not be signed", async () => {
  const away = { ...signer, sign: () => Promise.reject(new SignerError("unavailable", "away")) };
  const broken = createKeySet([{ keyId: "sig", signer: away }]);
  const around = (options?: never) => Object.assign(jwt(options), { init: undefined });
  const plug = signpostJwt({ jwt: around, APIError, keys: broken, endpoint: endpoint() }) as unknown as Plugin & {
    readonly options: { readonly jwt: { readonly sign: (payload: object) => Promise<string> } };
  };
  const logged: unknown[] = [];
  plug.init?.({ ...context(), logger: { error: (...line) => void logged.push(line) } });
  await expect(plug.options.jwt.sign({ sub: "a" })).rejects.toBeInstanceOf(APIError);
  await new Promise(setImmediate);
  expect(logged).toEqual([["Signpost could not sign as it should", expect.objectContaining({ code: "unavailable" })]]);
});

describe("what the plug reads of the host", () => {
  test("a host without a list of plugins has no provider, and not two of them", () => {
    expect(oauthProviderOptions(context())).toBeUndefined();
    expect(() => requireOneJwtPlugin(context())).not.toThrow();
  });

  test("a provider without options has none", () => {
    expect(oauthProviderOptions(context({ plugins: [{ id: "oauth-provider" }] }))).toEqual({});
  });

  test.each([
    ["https://op.example/api/auth//", {}, "/api/auth"],
    ["", {}, "/api/auth"],
    ["", { basePath: "auth/" }, "/auth"],
  ])("the base path of %j with %j is %s", (baseURL, options, expected) => {
    expect(basePathOf({ ...context(options), baseURL })).toBe(expected);
  });
});

test("the host verifies its own tokens with the signing keys, and not with the encryption keys", () => {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const encryptionKeyset = [{ keyId: "enc", publicKey: publicKey.export({ format: "jwk" }) }];
  const both = createKeySet([{ keyId: "sig", signer }], { encryptionKeyset });
  const rows = hostKeys(createJwksEndpoint({ issuer: "https://op.example", keys: both }));
  expect(rows).toMatchObject([{ id: "sig", alg: "ES256", crv: "P-256", createdAt: new Date(0) }]);
  expect(() => rows[0]?.privateKey).toThrow("jwt.sign");
});

describe("the host's document of keys", () => {
  const live = () => ({ keys: [expect.objectContaining({ kid: "sig" })] });

  test("has the keys of the endpoint, alone or with the headers that the host was asked for", () => {
    const headers = new Headers();
    expect(withLiveKeys({ keys: [] }, endpoint())).toEqual(live());
    expect(withLiveKeys({ headers, response: { keys: [] } }, endpoint())).toEqual({ headers, response: live() });
  });

  test.each([undefined, null, 7, {}, { response: undefined }, { response: { keys: "none" } }, { response: null }])(
    "%j is no document, and stays what it is",
    (result) => {
      expect(withLiveKeys(result, endpoint())).toBe(result);
    },
  );
});
