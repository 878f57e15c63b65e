import { createStaticKeySet } from "@signpost/verify";
import fc from "fast-check";
import { compactVerify, jwtVerify } from "jose";
import { expect, it } from "vitest";
import { CLIENT, ID_CLAIMS, idTokens, ISSUER, key, NOW } from "../support/jwt.ts";
import { testKey } from "../support/keys.ts";
import { es256, rawJws } from "../support/raw-jws.ts";

// jose's jwtVerify as the oracle: what the verifier accepts, jose accepts too, with the same claims. Where our rules are stricter,
// the properties say by which.

const other = testKey("k");
const keys = createStaticKeySet({ keys: [key.jwk] });
const verifier = idTokens({ keys, clockToleranceSeconds: 0, otherAudiences: "any", authorizedParties: ["x"] });

type Outcome = { readonly claims: unknown } | "refused";

async function ours(token: string): Promise<Outcome> {
  return verifier.verify(token).then(
    ({ claims }) => ({ claims }),
    (error: { name: string }) => {
      // Never an error that is not about the token.
      expect(["TokenError", "KeySetError"]).toContain(error.name);
      return "refused";
    },
  );
}

async function byJose(token: string): Promise<Outcome> {
  const currentDate = new Date(NOW * 1000);
  return jwtVerify(token, keys, { issuer: ISSUER, audience: CLIENT, algorithms: ["ES256"], currentDate }).then(
    ({ payload }) => ({ claims: payload }),
    () => "refused",
  );
}

const text = fc.constantFrom(ISSUER, CLIENT, "s", "x", "", "https://op.example/");
const time = fc.oneof(
  fc.integer({ min: NOW - 3, max: NOW + 3 }),
  fc.double({ min: NOW - 3, max: NOW + 3, noNaN: true }),
  fc.constantFrom(0, -1, 1e300),
);
const anything = fc.oneof(
  text,
  time,
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 3 }),
  fc.constant({ a: 1 }),
);
const claims = fc.record(
  {
    iss: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(ISSUER) }, anything),
    aud: fc.oneof({ weight: 6, arbitrary: fc.constantFrom<unknown>(CLIENT, [CLIENT], ["x", CLIENT]) }, anything),
    sub: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>("s") }, anything),
    exp: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(NOW + 300) }, time, anything),
    iat: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(NOW) }, time, anything),
    nbf: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(NOW) }, time, anything),
    azp: fc.oneof(fc.constantFrom<unknown>(CLIENT, "x"), anything),
    name: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

it("accepts no claims that jose refuses, and reads them alike", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(claims, async (payload) => {
      const token = rawJws({ alg: "ES256", kid: "k" }, payload, es256(key.privateKey));
      const [mine, theirs] = await Promise.all([ours(token), byJose(token)]);
      if (mine === "refused") return;
      accepted += 1;
      expect(mine).toEqual(theirs);
    }),
    { numRuns: 400, seed: 17, examples: [[ID_CLAIMS], [{ ...ID_CLAIMS, aud: [CLIENT] }]] },
  );
  // A verifier that refuses everything would prove nothing.
  expect(accepted).toBeGreaterThan(10);
});

it("refuses no valid ID token that jose accepts", async () => {
  const valid = fc.record({
    iss: fc.constant(ISSUER),
    aud: fc.constantFrom<unknown>(CLIENT, [CLIENT]),
    sub: fc.string({ minLength: 1 }),
    exp: fc.integer({ min: NOW + 1, max: NOW + 100_000 }),
    iat: fc.integer({ min: NOW - 100_000, max: NOW }),
    extra: fc.jsonValue(),
  });
  await fc.assert(
    fc.asyncProperty(valid, async (payload) => {
      const token = rawJws({ alg: "ES256", kid: "k" }, payload, es256(key.privateKey));
      const theirs = await byJose(token);
      expect(theirs).not.toBe("refused");
      expect(await ours(token)).toEqual(theirs);
    }),
    { numRuns: 100 },
  );
});

it("takes a mutated token as jose takes it", async () => {
  const token = rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, es256(key.privateKey));
  const alphabet = fc.constantFrom(..."ABCabc019-_.+/= \n\u00e9");
  const mutation = fc.oneof(
    fc.record({ at: fc.nat(token.length - 1), put: alphabet, cut: fc.constant(1) }),
    fc.record({ at: fc.nat(token.length), put: alphabet, cut: fc.constant(0) }),
    fc.record({ at: fc.nat(token.length - 1), put: fc.constant(""), cut: fc.integer({ min: 1, max: 80 }) }),
  );
  await fc.assert(
    fc.asyncProperty(mutation, async ({ at, put, cut }) => {
      const mutated = token.slice(0, at) + put + token.slice(at + cut);
      const mine = await ours(mutated);
      if (mutated === token) expect(mine).toEqual({ claims: ID_CLAIMS });
      // jose also takes other spellings of the same bytes; a token of ours has one spelling.
      else expect(mine).toBe("refused");
      if (mine !== "refused") expect(await byJose(mutated)).toEqual(mine);
    }),
    { numRuns: 600 },
  );
});

it("takes a signature as jose takes it: of the key, of another key, or of any bytes", async () => {
  const bytes = fc.oneof(fc.constantFrom("key", "other"), fc.uint8Array({ minLength: 60, maxLength: 72 }));
  await fc.assert(
    fc.asyncProperty(bytes, async (by) => {
      const sign = typeof by === "string" ? es256((by === "key" ? key : other).privateKey) : () => by;
      const token = rawJws({ alg: "ES256", kid: "k" }, ID_CLAIMS, sign);
      const theirs = await compactVerify(token, keys).then(
        () => "verified",
        () => "refused",
      );
      expect((await ours(token)) === "refused" ? "refused" : "verified").toBe(theirs);
      expect(theirs).toBe(by === "key" ? "verified" : "refused");
    }),
    { numRuns: 200 },
  );
});
