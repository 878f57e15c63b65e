import { verify } from "node:crypto";
import * as newest from "@openid-federation/core";
import * as oldest from "openid-federation-core-0.2.0";
import { compactVerify, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createInputSigner, type InputSigner, SignerError } from "@signpost/core";
import { federationKeys, statementHeader, statementSigner } from "../../examples/federation/src/statements.ts";
import { countLines } from "./support/recipe.ts";
import { aroundRotation, createRotatingKeys, keyOf, NEXT, OLD, type RotatingKeys } from "./support/rotating-keys.ts";

const ENTITY = "https://entity.example";

let keys: RotatingKeys;
let own: InputSigner;

beforeAll(async () => {
  keys = await createRotatingKeys();
});
beforeEach(() => {
  keys.start();
  own = createInputSigner(keys.source);
});
afterAll(() => keys.close());

test("the recipe is at most ten lines", () => {
  expect(countLines("federation/src/statements.ts")).toBeLessThanOrEqual(10);
});

describe.each([
  ["0.2.1", newest],
  ["0.2.0", oldest as unknown as typeof newest],
])(
  "@openid-federation/core %s",
  (_, { createEntityConfiguration, createEntityStatement, fetchEntityConfiguration }) => {
    const claims = () => {
      const iat = Math.floor(Date.now() / 1000);
      return { iss: ENTITY, sub: ENTITY, iat, exp: iat + 3600, jwks: federationKeys(keys.source), contacts: ["Ada"] };
    };
    const configuration = (header: object = statementHeader(own)): Promise<string> =>
      createEntityConfiguration({ header: header as never, claims: claims(), signJwtCallback: statementSigner(own) });
    const statement = (header: object = statementHeader(own)): Promise<string> =>
      createEntityStatement({
        header: header as never,
        claims: { ...claims(), sub: "https://leaf.example", jwks: { keys: [] } },
        jwk: { kty: "EC", kid: own.key().keyId },
        signJwtCallback: statementSigner(own),
      });

    describe.each([
      ["an entity configuration", configuration],
      ["a subordinate statement", statement],
    ])("%s", (__, make) => {
      test("is right 1,000 times around a rotation, each time under the kid in its header", async () => {
        const signedBy = { [OLD]: 0, [NEXT]: 0 };
        for (const token of await aroundRotation(keys, () => make())) {
          const { protectedHeader } = await compactVerify(token, keyOf(keys), { algorithms: ["ES256"] });
          signedBy[protectedHeader.kid === OLD ? OLD : NEXT] += 1;
        }
        expect(signedBy).toEqual({ [OLD]: 525, [NEXT]: 475 });
      });

      test("is not signed under a header that names a withdrawn key", async () => {
        const made = make();
        keys.withdraw();
        const error = await made.catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(SignerError);
        expect(error).toMatchObject({ code: "unavailable", transient: true });
        expect(decodeProtectedHeader(await make())).toMatchObject({ kid: NEXT });
      });

      test("fails with the code of the signer, and no claim in the message", async () => {
        keys.fail(new SignerError("throttled", "too many calls"));
        const error = await make().catch((reason: unknown) => reason);
        expect(error).toMatchObject({ code: "throttled", transient: true });
        expect(String(error)).not.toContain("Ada");
      });

      test.each([
        ["no alg, as the library writes it by default", { alg: undefined }, "header.alg"],
        ["another alg", { alg: "ES384" }, "header.alg"],
      ])("is not signed with %s", async (___, members, argument) => {
        await expect(make({ ...statementHeader(own), ...members })).rejects.toMatchObject({ argument });
      });
    });

    test("an announced key signs nothing", async () => {
      await expect(configuration({ ...statementHeader(own), kid: NEXT })).rejects.toMatchObject({ argument: "kid" });
    });

    test("the header of the library, without ours, has no alg", async () => {
      let signed = "";
      await createEntityStatement({
        claims: claims(),
        jwk: { kty: "EC", kid: OLD },
        signJwtCallback: async ({ toBeSigned }) => {
          signed = new TextDecoder().decode(toBeSigned);
          return new Uint8Array(64);
        },
      });
      expect(decodeProtectedHeader(`${signed}.`)).toEqual({ kid: OLD, typ: "entity-statement+jwt" });
    });

    test.each(["before", "after"])(
      "the library reads a configuration from %s the rotation, with both keys",
      async (when) => {
        if (when === "after") keys.rotate();
        const jwt = await configuration();
        const read = await fetchEntityConfiguration({
          entityId: ENTITY,
          fetchCallback: async () =>
            new Response(jwt, { headers: { "Content-Type": "application/entity-statement+jwt" } }),
          verifyJwtCallback: async ({ data, signature, jwk }) =>
            verify("sha256", data, { key: jwk, format: "jwk", dsaEncoding: "ieee-p1363" } as never, signature),
        });
        expect(read.jwks.keys.map(({ kid }) => kid)).toEqual(when === "after" ? [NEXT, OLD] : [OLD, NEXT]);
      },
    );

    test.each(["iat", "exp"])(
      "an %s that is a Date, which the library would write as text, is refused",
      async (name) => {
        const made = createEntityConfiguration({
          header: statementHeader(own),
          claims: { ...claims(), [name]: new Date() },
          signJwtCallback: statementSigner(own),
        });
        await expect(made).rejects.toMatchObject({ argument: `claims.${name}` });
      },
    );
  },
);
