import { describe, expect, test } from "vitest";
import { readReplicas } from "../../src/check/probe/replicas.ts";

// Which places of replicas a person may name.

const OTHER = ",10.0.0.8:80";

describe("a replica", () => {
  test.each<[name: string, host: string, port: number]>([
    ["localhost:8443", "localhost", 8443],
    ["OP-1.example:1", "OP-1.example", 1],
    ["10.0.0.7:0", "10.0.0.7", 0],
    ["10.0.0.7:65535", "10.0.0.7", 65_535],
    ["[2001:db8::1]:443", "2001:db8::1", 443],
    ["[::ffff:10.0.0.7]:443", "::ffff:10.0.0.7", 443],
  ])("%s is an address for the host of the key set", (name, host, port) => {
    expect(readReplicas(name + OTHER)[0]).toEqual({ name, url: undefined, address: { host, port } });
  });

  test.each(["https://a.example", "http://a.example:8080/jwks?a", "HTTPS://a.example/"])("%s is a URL", (name) => {
    expect(readReplicas(name + OTHER)[0]).toEqual({ name, url: new URL(name), address: undefined });
  });

  test.each([
    "10.0.0.7:65536",
    "10.0.0.7:100000",
    "10.0.0.7",
    "10.0.0.7:",
    ":80",
    "",
    "!10.0.0.7:80",
    "10.0.0.7:80!",
    "a b:80",
    "[10.0.0.7]x:80",
    "2001:db8::1",
    "[g::1]:80",
    "xhttps://a.example",
    "ftp://a.example",
    "https://[",
  ])("%j is neither", (name) => {
    expect(() => readReplicas(name + OTHER)).toThrow(
      expect.objectContaining({
        argument: "replicas",
        message: "replicas: expected URLs, or addresses such as 10.0.0.7:8443",
      }),
    );
  });

  test.each(["https://user@a.example", "https://:pw@a.example"])("%s has a credential", (name) => {
    expect(() => readReplicas(name + OTHER)).toThrow(
      expect.objectContaining({ argument: "replicas", message: "replicas: expected URLs without credentials" }),
    );
  });
});

test("one replica alone cannot be compared", () => {
  expect(() => readReplicas("10.0.0.7:80")).toThrow(
    expect.objectContaining({ argument: "replicas", message: "replicas: expected two or more, separated by commas" }),
  );
});
