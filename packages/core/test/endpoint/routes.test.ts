import { describe, expect, test } from "vitest";
import { createJwksEndpoint, type JwksEndpointOptions } from "@signpost/core";
import { goldenSet, thrownBy } from "../support/key-fixtures.ts";

const endpoint = (options: Partial<JwksEndpointOptions>) =>
  createJwksEndpoint({ issuer: "https://op.example", keys: goldenSet(), ...options });

describe("routePath, pathname and jwksUri", () => {
  test.for([
    [{}, "/jwks", "https://op.example/jwks"],
    [{ issuer: "https://op.example/" }, "/jwks", "https://op.example/jwks"],
    [{ issuer: "https://op.example/tenant/a" }, "/jwks", "https://op.example/tenant/a/jwks"],
    [{ issuer: "https://op.example/tenant/a/" }, "/jwks", "https://op.example/tenant/a/jwks"],
    [{ issuer: "https://op.example:8443" }, "/jwks", "https://op.example:8443/jwks"],
    [{ issuer: "https://OP.example/Tenant" }, "/jwks", "https://OP.example/Tenant/jwks"],
    [{ issuer: "https://op.example/caf%C3%A9" }, "/jwks", "https://op.example/caf%C3%A9/jwks"],
    [{ issuer: "https://[2001:db8::1]" }, "/jwks", "https://[2001:db8::1]/jwks"],
    [{ mountPrefix: "" }, "/jwks", "https://op.example/jwks"],
    [{ mountPrefix: "/oidc" }, "/oidc/jwks", "https://op.example/oidc/jwks"],
    [{ mountPrefix: "/a/b", endpoints: {} }, "/a/b/jwks", "https://op.example/a/b/jwks"],
    [
      { endpoints: { jwks: "/.well-known/jwks.json" } },
      "/.well-known/jwks.json",
      "https://op.example/.well-known/jwks.json",
    ],
    [
      { issuer: "https://op.example/t/", mountPrefix: "/oidc", endpoints: { jwks: "/keys/v1_a~b-c" } },
      "/oidc/keys/v1_a~b-c",
      "https://op.example/t/oidc/keys/v1_a~b-c",
    ],
    [{ endpoints: { jwks: undefined }, mountPrefix: undefined }, "/jwks", "https://op.example/jwks"],
    [{ issuer: "http://localhost:3000" }, "/jwks", "http://localhost:3000/jwks"],
    [{ issuer: "http://127.0.0.1:3000/op" }, "/jwks", "http://127.0.0.1:3000/op/jwks"],
    [{ issuer: "http://127.1.2.3" }, "/jwks", "http://127.1.2.3/jwks"],
    [{ issuer: "http://[::1]:3000" }, "/jwks", "http://[::1]:3000/jwks"],
    [{ issuer: "http://op.internal", allowInsecureIssuer: true }, "/jwks", "http://op.internal/jwks"],
  ] as const)("of %j are %s and %s", ([options, routePath, jwksUri]) => {
    const { metadata, ...rest } = endpoint(options);
    expect(rest).toMatchObject({ routePath, pathname: new URL(jwksUri).pathname, jwksUri });
    expect(metadata).toEqual({ jwks_uri: jwksUri, id_token_signing_alg_values_supported: ["ES256"] });
  });

  test("metadata has exactly the two members, even with legacy keys, and is frozen", () => {
    const { metadata } = endpoint({});
    expect(Object.keys(metadata)).toEqual(["jwks_uri", "id_token_signing_alg_values_supported"]);
    expect([metadata, metadata.id_token_signing_alg_values_supported].every((part) => Object.isFrozen(part))).toBe(
      true,
    );
  });
});

describe("matches", () => {
  const jwks = endpoint({ issuer: "https://op.example/tenant", mountPrefix: "/oidc" });

  test.for([
    ["/tenant/oidc/jwks", true],
    ["/tenant/oidc/jwks?kid=a", true],
    ["http://op.example/tenant/oidc/jwks", true],
    ["HTTPS://OP.example:8443/tenant/oidc/jwks?a=/b", true],
    ["/oidc/jwks", false],
    ["/tenant/oidc/jwks/", false],
    ["/tenant/oidc/JWKS", false],
    ["/tenant/oidc/%6Awks", false],
    ["//tenant/oidc/jwks", false],
    ["/tenant/oidc/jwks#a", false],
    ["*", false],
    ["", false],
    [undefined, false],
  ] as const)("%j: %s", ([target, expected]) => {
    expect(jwks.matches(target)).toBe(expected);
  });
});

describe("a path is refused when it is", () => {
  const paths = [
    "jwks",
    "./jwks",
    "../jwks",
    "/./jwks",
    "/a/../jwks",
    "/a/..",
    "/.",
    "//jwks",
    "/a//jwks",
    "/jwks/",
    "/",
    "//",
    "/jwks?v=1",
    "/jwks#keys",
    "/{tenant}/jwks",
    "/%6Awks",
    "/a%2Fb",
    "/:tenant/jwks",
    "/*",
    "/jwks(.json)",
    "/jwks+",
    "/jw ks",
    "/jwks\n",
    "/jwks\\x",
    "/schlüssel",
    "https://op.example/jwks",
    null,
    7,
    ["/jwks"],
  ];
  test.for([...paths, ""])("endpoints.jwks %j", (jwks) => {
    const error = thrownBy(() => endpoint({ endpoints: { jwks: jwks as string } }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "endpoints.jwks" });
  });
  test.for(paths)("mountPrefix %j", (mountPrefix) => {
    const error = thrownBy(() => endpoint({ mountPrefix: mountPrefix as string }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "mountPrefix" });
  });
});

describe("an issuer is refused when it is", () => {
  test.for([
    undefined,
    null,
    7,
    "",
    "op.example",
    "//op.example",
    "/op",
    "https:",
    "https://",
    "https:/op.example",
    "https:op.example",
    "ftp://op.example",
    "javascript://op.example",
    "https://op.example?tenant=a",
    "https://op.example?",
    "https://op.example/#a",
    "https://op.example#",
    "https://user:secret@op.example",
    "https://user@op.example",
    "https://@op.example",
    "https://op.example//",
    "https://op.example//tenant",
    "https://op.example/a//",
    "https://op.example/a/../b",
    "https://op.example/.",
    "https://op.example/%2e%2e/b",
    "https://op.example\\tenant",
    " https://op.example",
    "https://op.example\n",
    "https://op.\texample",
    "https://op.example/a b",
    "https://op.example/ü",
    "https://op.example/%zz",
    "https://op.example/[a]",
    "https://öp.example",
    "https://op%2eexample",
    "https://op.example:port",
    "https://op.example:99999",
    "https://[::1",
    "http://op.example",
    "http://127.0.0.1.example",
    "http://localhost.example",
    "http://10.0.0.1",
    "http://[::2]",
    "http://0.0.0.0",
  ])("%j", (issuer) => {
    const error = thrownBy(() => endpoint({ issuer: issuer as string }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "issuer" });
  });

  test.for([
    ["https://op.example?tenant=a", /must not have a query or a fragment/],
    ["https://op.example/#a", /must not have a query or a fragment/],
    ["https://user:hunter2@op.example", /must not have a user name or a password/],
    ["https://öp.example", /ASCII/],
    ["https://op.example/a/../b", /path must not have empty/],
    ["http://op.example", /https.*allowInsecureIssuer/],
  ] as const)("%s, with a message that says what was expected and repeats no password", ([issuer, expected]) => {
    const { message } = thrownBy(() => endpoint({ issuer })) as Error;
    expect(message).toMatch(expected);
    expect(message).not.toContain("hunter2");
  });

  test("http with allowInsecureIssuer: false", () => {
    const error = thrownBy(() => endpoint({ issuer: "http://op.example", allowInsecureIssuer: false }));
    expect(error).toMatchObject({ argument: "issuer" });
  });
});

test("an issuer that is long and wrong at its end is refused in one pass over it", () => {
  const started = performance.now();
  const error = thrownBy(() => endpoint({ issuer: `https://${"a".repeat(100_000)}/^` }));
  expect(error).toMatchObject({ name: "ConfigurationError", argument: "issuer" });
  // A pass from each character on takes most of a minute.
  expect(performance.now() - started).toBeLessThan(5000);
});

describe("options are refused when they are", () => {
  test.for([
    ["nothing", undefined],
    ["null", null],
    ["a string", "https://op.example"],
    ["a list", []],
  ] as const)("%s", ([, options]) => {
    const error = thrownBy(() => createJwksEndpoint(options as unknown as JwksEndpointOptions));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "options" });
  });
});

describe("endpoints are refused, and not replaced by a default, when they are", () => {
  test.for([
    ["null", null],
    ["a string", "/jwks"],
    ["a number", 7],
    ["a list", ["/jwks"]],
  ] as const)("%s", ([, endpoints]) => {
    const error = thrownBy(() => endpoint({ endpoints: endpoints as JwksEndpointOptions["endpoints"] }));
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "endpoints" });
  });
});
