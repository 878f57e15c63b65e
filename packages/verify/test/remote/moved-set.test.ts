import { SignerError } from "@signpost/core";
import { discoverKeySet, KeySetError } from "@signpost/verify";
import type { FetchLike } from "@signpost/verify";
import { expect, it } from "vitest";
import { testKey } from "../support/keys.ts";

// An OP has moved its set: what goes wrong at the old place makes the RP read the discovery document again.

const ISSUER = "https://op.example";
const key = testKey("k");
const SET = { keys: [key.jwk] };
const HEADER = { alg: "ES256", kid: "k" };

const json = (value: unknown, headers: Record<string, string> = {}): Response =>
  Response.json(value, { headers: { "cache-control": "max-age=3600", ...headers } });
const failing = (error: Error) => async (): Promise<never> => {
  throw error;
};
/** The document names the old place first, and then the new one. */
function op(old: FetchLike) {
  const asked: string[] = [];
  const fetch: FetchLike = async (url, init) => {
    const path = new URL(url).pathname;
    asked.push(path);
    if (path === "/old") return old(url, init);
    if (path === "/new") return json(SET);
    const documents = asked.filter((each) => each === path).length;
    return json({ issuer: ISSUER, jwks_uri: `${ISSUER}/${documents === 1 ? "old" : "new"}` });
  };
  return { asked, keySet: discoverKeySet(ISSUER, { fetch, maxBodyBytes: 1000 }) };
}

it.each<[code: string, old: FetchLike]>([
  ["unknown_kid", async () => json({ keys: [testKey("other").jwk] })],
  ["no_suitable_key", async () => json({ keys: [testKey("k", "RS256").jwk] })],
  ["fetch_failed", failing(new TypeError("fetch failed"))],
  ["timeout", failing(new SignerError("timeout", "no answer"))],
  ["http_status", async () => new Response("", { status: 404 })],
  ["redirect_refused", async () => new Response("", { status: 302, headers: { location: "/new" } })],
  ["address_refused", failing(new KeySetError("address_refused", "the address of the host is not public"))],
  ["unexpected_content_type", async () => new Response("{}", { headers: { "content-type": "text/html" } })],
  ["body_too_large", async () => json({ ...SET, note: "x".repeat(1000) })],
  ["invalid_jwks", async () => json([])],
  ["no_usable_key", async () => json({ keys: [] })],
])("%s at the old place", async (code, old) => {
  const { asked, keySet } = op(old);
  await expect(keySet(HEADER)).resolves.toBeDefined();
  expect(asked.at(-1)).toBe("/new");
  // Without a new place, the error of the old one is told.
  const stays = discoverKeySet(ISSUER, {
    maxBodyBytes: 1000,
    fetch: async (url, init) =>
      new URL(url).pathname === "/old" ? old(url, init) : json({ issuer: ISSUER, jwks_uri: `${ISSUER}/old` }),
  });
  await expect(stays(HEADER)).rejects.toMatchObject({ name: "KeySetError", code });
});

it.each([
  ["ambiguous_key", { keys: [key.jwk, testKey("k").jwk] }],
  ["key_left_out", { keys: [{ ...key.jwk, use: "enc" }, testKey("other").jwk] }],
])("%s is not about the place", async (code, set) => {
  const { asked, keySet } = op(async () => json(set));
  await expect(keySet(HEADER)).rejects.toMatchObject({ code });
  expect(asked).not.toContain("/new");
});

it("a set has counted nothing at first, and each fetch by its outcome", async () => {
  const { keySet } = op(async () => json(SET));
  expect(keySet.stats()).toMatchObject({ jwksUri: undefined, keySet: undefined });
  const NONE = {
    requests: 0,
    updated: 0,
    notModified: 0,
    superseded: 0,
    older: 0,
    failed: 0,
    forced: 0,
    throttled: 0,
  };
  expect(keySet.stats().discovery).toEqual(NONE);
  await keySet.preload();
  expect(keySet.stats()).toMatchObject({ jwksUri: `${ISSUER}/old`, keySet: { ...NONE, requests: 1, updated: 1 } });
  expect(keySet.stats().discovery).toEqual({ ...NONE, requests: 1, updated: 1 });
  await expect(keySet({ alg: "ES256", kid: "unknown" })).rejects.toMatchObject({ code: "unknown_kid" });
  await expect(keySet({ alg: "ES256", kid: "unknown" })).rejects.toMatchObject({ code: "unknown_kid" });
  expect(keySet.stats().discovery).toMatchObject({ requests: 2, updated: 2, forced: 1 });
});
