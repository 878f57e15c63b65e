import { describe, expect, test } from "vitest";
import { readConnectionOptions } from "../src/client.ts";

const call = async (): Promise<never> => Promise.reject(new Error("not reached"));
const api = { getKey: call, sign: call, listKeyVersions: call };
const dispatcher = { request: call };
const argumentOf = (options: object): unknown => {
  try {
    readConnectionOptions(options);
    return "none";
  } catch (error) {
    return Reflect.get(Object(error), "argument");
  }
};

test("without options, the version of the API alone is known", () => {
  expect(readConnectionOptions({})).toEqual({
    credential: undefined,
    scope: undefined,
    apiVersion: "2025-07-01",
    tls: {},
    dispatcher: undefined,
    api: undefined,
  });
  const tls = { caFile: "/ca.pem", serverName: "vault.internal" };
  const given = { credential: call, scope: "https://vault.azure.net/.default", apiVersion: "7.4", tls };
  expect(readConnectionOptions(given)).toEqual({ ...given, dispatcher: undefined, api: undefined });
  expect(readConnectionOptions({ api }).api).toBe(api);
  expect(readConnectionOptions({ dispatcher }).dispatcher).toBe(dispatcher);
});

describe("the version of the API", () => {
  test.each(["7.4", "7.10", "2025-07-01", "7.6-preview", "7.6-preview.1", "2025-06-01-preview.12"])(
    "may be %s",
    (apiVersion) => {
      expect(readConnectionOptions({ apiVersion }).apiVersion).toBe(apiVersion);
    },
  );
  test.each([
    "7",
    "8.1",
    "7.100",
    "x7.4",
    "7.4x",
    "7.4 ",
    "2025-7-01",
    "25-07-01",
    "x2025-07-01",
    "2025-07-01x",
    "7.4-preview.",
    "7.4-preview.123",
    "7.4-previews",
    "",
  ])("may not be %j", (apiVersion) => {
    expect(argumentOf({ apiVersion })).toBe("apiVersion");
  });
});

test("a scope has 1 to 1,024 visible characters", () => {
  for (const scope of ["!", "~", "s".repeat(1024)]) expect(readConnectionOptions({ scope }).scope).toBe(scope);
  for (const scope of ["", "s".repeat(1025), "a b", "a\n", "\u007f"]) expect(argumentOf({ scope })).toBe("scope");
});

describe("a transport of the caller", () => {
  test.each(["getKey", "sign", "listKeyVersions"])("needs the function %s", (name) => {
    expect(argumentOf({ api: { ...api, [name]: undefined } })).toBe("api");
    expect(argumentOf({ api: { ...api, [name]: "text" } })).toBe("api");
  });
  test("is not null", () => expect(argumentOf({ api: null })).toBe("api"));

  test.each([
    ["credential", { credential: call }],
    ["scope", { scope: "s" }],
    ["apiVersion", { apiVersion: "7.4" }],
    ["tls", { tls: {} }],
    ["dispatcher", { dispatcher }],
  ])("is not allowed together with %s", (argument, options) => {
    expect(argumentOf({ api, ...options })).toBe(argument);
  });
});

test("a dispatcher needs the function request, and brings its own TLS", () => {
  for (const each of [null, {}, { request: "text" }]) expect(argumentOf({ dispatcher: each })).toBe("dispatcher");
  expect(argumentOf({ dispatcher, tls: {} })).toBe("tls");
});
