import { describe, expect, test } from "vitest";
import type { OidcProviderSigningLike } from "../src/host.ts";
import { requireSignableResourceServers, type SigningAbilities } from "../src/resource-servers.ts";

// What the plug changes of a resource server when the host makes one: nothing, except its algorithm if it has none.

class ResourceServer {
  readonly made: readonly unknown[];

  constructor(...given: readonly unknown[]) {
    this.made = given;
    Object.assign(this, given[1]);
  }

  identifier(): unknown {
    return this.made[0];
  }
}

const ABILITIES: SigningAbilities = {
  activeKid: () => "a",
  host: { signs: () => true, mayName: () => true, hasNone: () => true, checkPublished: () => {} },
  failure: (cause) => new Error("refused", { cause }),
};

type Made = ResourceServer & Readonly<Record<string, unknown>>;

function making(abilities: Partial<SigningAbilities> = {}): (info: object) => Made {
  const provider = { ResourceServer };
  requireSignableResourceServers(provider as unknown as OidcProviderSigningLike, { ...ABILITIES, ...abilities });
  return (info) => new provider.ResourceServer("urn:example:api", info) as Made;
}

const JWT = "jwt";

describe("a resource server", () => {
  test.each<[what: string, info: object]>([
    ["of opaque tokens", { accessTokenFormat: "opaque", scope: "api" }],
    ["of opaque tokens that says something of JWTs", { accessTokenFormat: "opaque", jwt: { sign: { alg: "RS999" } } }],
    ["without a format", { scope: "api" }],
    ["of JWTs with ES256", { accessTokenFormat: JWT, jwt: { sign: { alg: "ES256" } } }],
    ["of JWTs with ES256 and the active kid", { accessTokenFormat: JWT, jwt: { sign: { alg: "ES256", kid: "a" } } }],
    ["of JWTs that the host signs", { accessTokenFormat: JWT, jwt: { sign: { alg: "RS256" } } }],
  ])("%s is as the host makes it", (_what, info) => {
    const made = making()(info);
    expect(made).toBeInstanceOf(ResourceServer);
    expect(made.identifier()).toBe("urn:example:api");
    expect(made.made[1]).toBe(info);
    expect(Object.keys(made)).toEqual(["made", ...Object.keys(info)]);
    expect(made["jwt"]).toBe(Reflect.get(info, "jwt"));
  });

  test.each<[what: string, jwt: object | undefined, expected: object]>([
    ["nothing of JWTs", undefined, { sign: { alg: "ES256" } }],
    ["nothing of signing", {}, { sign: { alg: "ES256" } }],
    ["no algorithm", { sign: { kid: "a" } }, { sign: { kid: "a", alg: "ES256" } }],
    ["no algorithm, and more", { sign: {}, other: 1 }, { sign: { alg: "ES256" }, other: 1 }],
  ])("of JWTs that says %s signs ES256 if all keys are ours", (_what, jwt, expected) => {
    const info = { accessTokenFormat: JWT, jwt };
    expect(making()(info)["jwt"]).toEqual(expected);
    // The OP's object stays as it is.
    expect(info.jwt).toBe(jwt);
  });

  test("has the host's default if the host has keys, or if it names a key", () => {
    const make = making({ host: { ...ABILITIES.host, hasNone: () => false } });
    expect(make({ accessTokenFormat: JWT, jwt: { sign: {} } })["jwt"]).toEqual({ sign: {} });
    const key = Buffer.alloc(32, 1);
    expect(making()({ accessTokenFormat: JWT, jwt: { sign: { key } } })["jwt"]).toEqual({ sign: { key } });
  });

  test("whose tokens cannot be signed is refused, with its name", () => {
    const refused = (): unknown => making()({ accessTokenFormat: JWT, jwt: { sign: { alg: "ES256", kid: "b" } } });
    expect(refused).toThrow(
      expect.objectContaining({
        message: "refused",
        cause: expect.objectContaining({
          argument: "getResourceServerInfo",
          message: expect.stringMatching(/got "b", for urn:example:api$/),
        }),
      }),
    );
  });
});
