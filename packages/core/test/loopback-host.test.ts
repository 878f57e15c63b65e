import { describe, expect, test } from "vitest";
import { isLoopbackHost } from "@signpost/core/adapter";

describe("a host of a URL", () => {
  test.each<[host: string, loopback: boolean]>([
    ["localhost", true],
    ["LOCALHOST", true],
    ["127.0.0.1", true],
    ["127.255.0.9", true],
    ["127.1", true],
    ["0x7f000001", true],
    ["[::1]", true],
    ["[0:0:0:0:0:0:0:1]", true],
    ["localhost.", false],
    ["127.0.0.1.example", false],
    ["localhost.example", false],
    ["128.0.0.1", false],
    ["0.0.0.0", false],
    ["[::]", false],
    ["[::ffff:127.0.0.1]", false],
  ])("%s is loopback: %s", (host, loopback) => {
    expect(isLoopbackHost(new URL(`http://${host}/`).hostname)).toBe(loopback);
  });
});
