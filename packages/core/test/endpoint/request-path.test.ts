import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { requestPath } from "@signpost/core";

describe("the path of a request target", () => {
  test.each<[string, string | undefined, string | undefined]>([
    ["origin form", "/jwks", "/jwks"],
    ["origin form with a query", "/jwks?kid=a?b", "/jwks"],
    ["the root", "/", "/"],
    ["absolute form", "http://op.example/jwks", "/jwks"],
    ["absolute form with a port, a query and another case", "HTTP://OP.example:8080/jwks?a=/b", "/jwks"],
    ["absolute form of an IPv6 host", "https://[::1]:3000/jwks", "/jwks"],
    ["absolute form without a path", "http://op.example", "/"],
    ["absolute form with a query alone", "http://op.example?a=b", "/"],
    ["a path that only looks like a host", "//op.example/jwks", "//op.example/jwks"],
    ["a path that names a URL", "/http://op.example/jwks", "/http://op.example/jwks"],
    ["another case", "/JWKS", "/JWKS"],
    ["a percent escape", "/%6Awks", "/%6Awks"],
    ["dot segments", "/a/../jwks", "/a/../jwks"],
    ["asterisk form", "*", undefined],
    ["authority form", "op.example:443", undefined],
    ["absolute form without a host", "http:///jwks", undefined],
    ["a fragment in the place of a path", "http://op.example#/jwks", undefined],
    ["another scheme", "ftp://op.example/jwks", undefined],
    ["no target at all", "", undefined],
    ["no request", undefined, undefined],
  ])("%s: %j is %j", (_name, target, path) => {
    expect(requestPath(target)).toBe(path);
  });

  test("is the path of Node's `req.url`, in both forms, over a socket", async () => {
    const paths: (string | undefined)[] = [];
    const server = createServer((req, res) => {
      paths.push(requestPath(req.url));
      res.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const targets = ["/jwks?a=b", "http://op.example/jwks"];
    socket.end(targets.map((target) => `GET ${target} HTTP/1.1\r\nHost: op.example\r\n\r\n`).join(""));
    await once(socket.resume(), "close");
    server.close();
    expect(paths).toEqual(["/jwks", "/jwks"]);
  });
});
