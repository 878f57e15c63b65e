import { describe, expect, test } from "vitest";
import type { ProbeRequest } from "../../src/check/exchange.ts";
import { changed, check, EC_KEY, ED_KEY, JWKS_URI, op } from "./support/op.ts";
import type { Op, Reply } from "./support/op.ts";

// Each name in a list that a rule goes by.

async function verdictsOf(server: Op, rule: string): Promise<readonly string[]> {
  const { rows } = await check(server);
  const row = rows.find((one) => one.rule === rule);
  return (row?.findings ?? []).map(({ severity, seen }) => `${severity}: ${seen}`);
}

const isHead = ({ method, headers }: ProbeRequest): boolean =>
  method === "HEAD" && headers["if-none-match"] === undefined;
const sending =
  (more: Reply["headers"]) =>
  (reply: Reply): Reply => ({ ...reply, headers: { ...reply.headers, ...more } });

describe("HEAD has each of these headers of GET", () => {
  test.each(["content-type", "etag", "cache-control", "last-modified", "content-encoding", "vary"])(
    "%s",
    async (name) => {
      const value = {
        "last-modified": "Sun, 01 Nov 2026 12:00:00 GMT",
        "content-encoding": "identity",
        vary: "Origin",
      };
      const more = Object.fromEntries(Object.entries(value).filter(([one]) => one === name));
      const base = op({ headers: more });
      expect(await verdictsOf(base, "head")).toEqual([]);
      const without = changed(base, isHead, sending({ [name]: undefined }));
      expect(await verdictsOf(without, "head")).toEqual([
        expect.stringMatching(new RegExp(`^should: ${name}: not sent for HEAD, .+ for GET$`)),
      ]);
      const other = changed(base, isHead, sending({ [name]: "other" }));
      expect(await verdictsOf(other, "head")).toEqual([
        expect.stringMatching(new RegExp(`^should: ${name}: other for HEAD, .+ for GET$`)),
      ]);
    },
  );

  test("and others may differ", async () => {
    const other = changed(op(), isHead, sending({ server: "other", date: "Sun, 01 Nov 2026 12:00:01 GMT" }));
    expect(await verdictsOf(other, "head")).toEqual([]);
  });
});

test.each([
  ["max-age=60", "should"],
  ["max-age=60, public", "should"],
  ["max-age=60, must-revalidate", "must"],
  ["max-age=60, proxy-revalidate", "must"],
  ["max-age=60, s-maxage=60", "must"],
  ["no-cache", "must"],
])("an answer beyond the lifetime %s breaks the rule as %s", async (value, severity) => {
  const server = op({ headers: { "cache-control": value, age: "61" } });
  const [first] = await verdictsOf(server, "age");
  expect(first).toMatch(new RegExp(`^${severity}: Age 1 min 1 s, but it may be used for (?:1 min|0 s)$`));
});

test.each<[operations: readonly string[], said: readonly string[]]>([
  [["verify", "encrypt", "wrapKey", "deriveKey"], []],
  [["sign"], ["should: key sig-1: key_ops has sign"]],
  [["decrypt"], ["should: key sig-1: key_ops has decrypt"]],
  [["verify", "unwrapKey"], ["should: key sig-1: key_ops has unwrapKey"]],
  [["sign", "decrypt", "unwrapKey"], ["should: key sig-1: key_ops has sign, decrypt, unwrapKey"]],
])("the operations %j of a public key", async (operations, said) => {
  const keys = [{ ...EC_KEY, use: undefined, key_ops: operations }, ED_KEY];
  expect(await verdictsOf(op({ keys }), "key-ops")).toEqual(said);
});

test.each([
  ["application/jwk-set+json", []],
  ["Application/JWK-Set+JSON", []],
  ["application/jwk-set+json;charset=utf-8", ["note: application/jwk-set+json;charset=utf-8"]],
  ["application/json", ["note: application/json"]],
])("the media type %s", async (type, said) => {
  const server = changed(op(), ({ url }) => url === JWKS_URI, sending({ "content-type": type }));
  expect(await verdictsOf(server, "media-type")).toEqual(said);
});
