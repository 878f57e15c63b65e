import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { expect, test } from "vitest";
import { observe } from "../../src/check/watch/observe.ts";
import { observed, WATCH_START } from "../../src/check/watch/state.ts";
import { check, EC_KEY, exchangeOf, ISSUER, JWKS_URI, op } from "./support/op.ts";

// Whatever JSON a server sends, there is a report, and soon.

/** Arrays in arrays, deeper than a stack. As text, because JSON.stringify cannot write them. */
const DEEP = "[".repeat(20_000) + "]".repeat(20_000);

/** JSON texts of values that must not end the check. */
const VALUES = [
  ["a deep array", DEEP],
  ["an object that cannot be text", '{"toString":1,"valueOf":1}'],
  ["the name of a member of every object", '"constructor"'],
  ["the name of the prototype", '"__proto__"'],
  ["a number", "1e308"],
  ["an empty text", '""'],
] as const;
const MEMBERS = ["kty", "crv", "x", "y", "n", "e", "d", "kid", "use", "alg", "key_ops", "x5c", "x5t", "x5u"];

test.each(VALUES)("%s in any member of a key is judged", async (_name, value) => {
  const keys = MEMBERS.map((member) => ({ ...EC_KEY, kid: member, [member]: "VALUE" }));
  const text = JSON.stringify({ keys }).replaceAll('"VALUE"', value);
  const { rows } = await check(op({ text }), { isStrict: true });
  expect(rows.find(({ rule }) => rule === "jwks-json")).toMatchObject({ verdict: "ok" });
  const seen = observe(exchangeOf(op({ text }), { method: "GET", url: JWKS_URI, headers: {} }), 1000);
  expect(observed(observed(WATCH_START, seen, true).state, seen, true).events).toEqual([]);
});

test.each(VALUES)("%s in discovery is judged", async (_name, value) => {
  const good = { issuer: ISSUER, jwks_uri: JWKS_URI, id_token_signing_alg_values_supported: ["ES256"] };
  for (const [member, given] of Object.entries({
    ...good,
    id_token_signing_alg_values_supported: ["ES256", "VALUE"],
  })) {
    const metadata = { ...good, [member]: Array.isArray(given) ? given : "VALUE" };
    const body = JSON.stringify(metadata).replaceAll('"VALUE"', value);
    const headers = { "content-type": "application/json" };
    const { rows } = await check((request) =>
      request.url.endsWith("/openid-configuration") ? { status: 200, headers, body } : op()(request),
    );
    expect(rows.length).toBeGreaterThan(20);
  }
});

test("a private value is found under any name of a key type", async () => {
  for (const kty of ["ec", "constructor", undefined, 7]) {
    const { rows } = await check(op({ keys: [EC_KEY, { ...EC_KEY, kid: "b", kty, d: "AA" }] }));
    expect(rows.find(({ rule }) => rule === "key-private")).toMatchObject({ verdict: "must" });
  }
});

test.each([
  ["RSA-PSS", generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey],
  ["a curve without a name in JOSE", generateKeyPairSync("ec", { namedCurve: "brainpoolP256r1" }).publicKey],
])("a certificate of %s is one of another key", async (_name, publicKey) => {
  const { raw } = new X509Certificate(certificateOf(publicKey, ["op.example"]));
  const { rows } = await check(op({ keys: [{ ...EC_KEY, x5c: [raw.toString("base64")] }] }));
  expect(rows.find(({ rule }) => rule === "key-certificate")).toMatchObject({
    verdict: "must",
    findings: [{ seen: "key sig-1: the key of the first x5c value is another one" }],
  });
});

test("thousands of entries are each looked at once, and the report stays short", async () => {
  const keys = Array.from({ length: 2000 }, (_, index) => {
    const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    return { ...publicKey.export({ format: "jwk" }), kid: `k${index}`, alg: "RS256" };
  });
  const report = await check(op({ keys }));
  expect(JSON.stringify(report).length).toBeLessThan(100_000);
  const { findings = [] } = report.rows.find(({ rule }) => rule === "alg") ?? {};
  expect(findings).toHaveLength(20);
  expect(findings.at(-1)).toMatchObject({ severity: "must", seen: "1981 more findings like these" });
});
