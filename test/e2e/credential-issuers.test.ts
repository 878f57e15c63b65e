import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import * as oauthNewest from "@openid4vc/oauth2";
import * as oauthOldest from "openid4vc-oauth2-0.2.0";
import * as vciNewest from "@openid4vc/openid4vci";
import * as vciOldest from "openid4vci-0.4.2";
import { SDJwtVcInstance as NewestInstance } from "@sd-jwt/sd-jwt-vc";
import { SDJwtVcInstance as OldestInstance } from "sd-jwt-vc-0.4.0";
import { compactVerify, decodeProtectedHeader, importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createInputSigner, type InputSigner, SignerError } from "@signpost/core";
import { remember } from "../../examples/credential-issuer/src/one-time.ts";
import { openid4vcSigner } from "../../examples/credential-issuer/src/openid4vc.ts";
import { sdJwtHeader, sdJwtSigner } from "../../examples/credential-issuer/src/sd-jwt.ts";
import { verifyWalletProof } from "../../examples/credential-issuer/src/wallet-proof.ts";
import { countLines } from "./support/recipe.ts";
import {
  aroundRotation,
  createRotatingKeys,
  type IssuedChains,
  keyOf,
  NEXT,
  OLD,
  type RotatingKeys,
} from "./support/rotating-keys.ts";

const ISSUER = "https://issuer.example";

let keys: RotatingKeys;
let own: InputSigner;
let issued: IssuedChains;

beforeAll(async () => {
  keys = await createRotatingKeys("issuer.example");
  ({ issued } = keys);
});
beforeEach(() => {
  keys.start();
  own = createInputSigner(keys.source);
});
afterAll(() => keys.close());

test.each(["sd-jwt.ts", "openid4vc.ts"])("the recipe %s is at most ten lines", (name) => {
  expect(countLines(`credential-issuer/src/${name}`)).toBeLessThanOrEqual(10);
});

test("codes and nonces are forgotten, the oldest first", () => {
  const texts = new Set<string>();
  for (let count = 0; count < 10_002; count += 1) remember(texts, String(count));
  expect([texts.size, texts.has("1"), texts.has("2")]).toEqual([10_000, false, true]);
});

test("a proof of a wallet with an extension that must be understood is refused", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicJwk = { kty: "EC", ...publicKey.export({ format: "jwk" }) };
  const verified = async (members: object): Promise<unknown> => {
    const header = { alg: "ES256", jwk: publicJwk, ...members };
    const input = [header, {}].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" });
    const compact = `${input}.${signature.toString("base64url")}`;
    return verifyWalletProof({ method: "jwk", alg: "ES256", publicJwk }, { header, payload: {}, compact });
  };
  expect(await verified({})).toMatchObject({ verified: true });
  expect(await verified({ crit: ["exp"], exp: 1 })).toEqual({ verified: false });
});

type Make = () => Promise<string>;

/** The kid in the header of a token, or that of the certificate in it. */
function kidOf(token: string): string | undefined {
  const { kid, x5c } = decodeProtectedHeader(token);
  return kid ?? [OLD, NEXT].find((key) => issued.chains.get(key)?.[0] === x5c?.[0]);
}

function isSignedBy(certificate: X509Certificate | undefined, issuer: X509Certificate | undefined): boolean {
  return issuer !== undefined && certificate?.verify(issuer.publicKey) === true;
}

/** What a verifier finds under a kid in the key set of the issuer. */
async function publishedKey(kid: string | undefined): ReturnType<typeof importJWK> {
  return importJWK(keys.jwks().keys.find((jwk) => jwk.kid === kid) ?? {}, "ES256");
}

/** What a hook must do for each token of a library, which has "Ada" in its claims. `isRight` looks at more than the signature. */
function describeSigning(makeWith: () => Make, isRight: (token: string) => boolean = () => true): void {
  test("none of 1,000 tokens around a rotation is wrong, each under the kid in its header", async () => {
    const tokens = await aroundRotation(keys, makeWith());
    const signedBy = { [OLD]: 0, [NEXT]: 0 };
    for (const token of tokens) {
      const kid = kidOf(token);
      await compactVerify(token, await publishedKey(kid), { algorithms: ["ES256"] });
      expect(isRight(token)).toBe(true);
      signedBy[kid === OLD ? OLD : NEXT] += 1;
    }
    expect(signedBy).toEqual({ [OLD]: 525, [NEXT]: 475 });
  });

  test("after an emergency, nothing is signed under a header that names the withdrawn key", async () => {
    const made = makeWith()();
    keys.withdraw();
    const error = await made.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: "unavailable", transient: true });
    expect(kidOf(await makeWith()())).toBe(NEXT);
  });

  test("a failure of the signer keeps its code, and has no claim in its message", async () => {
    keys.fail(new SignerError("access_denied", "no permission"));
    const error = await makeWith()().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "access_denied", transient: false });
    expect(String(error)).not.toContain("Ada");
  });
}

describe.each([
  ["0.19.0", NewestInstance],
  ["0.4.0", OldestInstance as unknown as typeof NewestInstance],
])("@sd-jwt/sd-jwt-vc %s", (_, Instance) => {
  const crypto = {
    hasher: (data: string | ArrayBuffer) =>
      new Uint8Array(
        createHash("sha256")
          .update(typeof data === "string" ? data : new Uint8Array(data))
          .digest(),
      ),
    hashAlg: "sha-256" as const,
    saltGenerator: (length: number) => randomBytes(length).toString("base64url"),
  };
  const payload = (): object => ({
    iss: ISSUER,
    iat: Math.floor(Date.now() / 1000),
    vct: `${ISSUER}/person`,
    given_name: "Ada",
  });
  const issue = async (header: object): Promise<string> => {
    const instance = new Instance({ ...crypto, ...sdJwtSigner(own) });
    return instance.issue(payload() as never, { _sd: ["given_name"] } as never, { header });
  };
  const jwtOf = (credential: string): string => credential.slice(0, credential.indexOf("~"));

  describeSigning(
    () => async () => jwtOf(await issue(sdJwtHeader(own))),
    (token) => {
      const { kid, x5c } = decodeProtectedHeader(token);
      return kid === undefined && isDeepStrictEqual(x5c, issued.chains.get(String(kidOf(token))));
    },
  );

  test.each([OLD, NEXT])("the chain in x5c leads from a credential of the key %s to the trust anchor", async (kid) => {
    if (kid === NEXT) keys.rotate();
    const token = jwtOf(await issue(sdJwtHeader(own)));
    const { x5c = [] } = decodeProtectedHeader(token);
    const chain = [...x5c.map((text) => Buffer.from(text, "base64")), issued.anchor];
    const [leaf, ...issuers] = chain.map((certificate) => new X509Certificate(certificate));
    expect(leaf?.publicKey.equals(createPublicKey({ key: { ...own.key().publicKey }, format: "jwk" }))).toBe(true);
    await compactVerify(token, await publishedKey(kid));
    expect(issuers).toHaveLength(2);
    expect([leaf, ...issuers].map((certificate, index) => isSignedBy(certificate, issuers[index]))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("a key without certificates is named by its kid", async () => {
    const bare = await createRotatingKeys();
    onTestFinished(() => bare.close());
    own = createInputSigner(bare.source);
    const { protectedHeader } = await compactVerify(jwtOf(await issue(sdJwtHeader(own))), keyOf(bare));
    expect(protectedHeader).toEqual({ alg: "ES256", typ: "dc+sd-jwt", kid: OLD });
  });

  test("the library reads back what it issued", async () => {
    const credential = await issue(sdJwtHeader(own));
    const verifier = async (data: string, signature: string): Promise<boolean> => {
      await compactVerify(`${data}.${signature}`, await publishedKey(OLD));
      return true;
    };
    const { header, payload: claims } = await new Instance({ ...crypto, verifier }).verify(credential);
    expect(header).toEqual({ alg: "ES256", typ: "dc+sd-jwt", x5c: issued.chains.get(OLD) });
    expect(claims).toMatchObject({ iss: ISSUER, given_name: "Ada" });
  });

  test.each([
    ["the kid of an announced key", () => ({ kid: NEXT }), "kid"],
    ["the kid of no key", () => ({ kid: "other" }), "kid"],
    ["no kid and no certificate", () => ({}), "header.kid"],
    ["only the certificate of an announced key", () => ({ x5c: issued.chains.get(NEXT) }), "header.x5c"],
    ["the certificate of another key", () => ({ kid: OLD, x5c: issued.chains.get(NEXT) }), "header.x5c"],
  ])("a header with %s is refused", async (__, header, argument) => {
    await expect(issue(header())).rejects.toMatchObject({ code: "invalid_configuration", argument });
  });

  test("another algorithm is refused", async () => {
    const instance = new Instance({ ...crypto, ...sdJwtSigner(own), signAlg: "ES384" });
    const options = { header: sdJwtHeader(own) };
    await expect(instance.issue(payload() as never, undefined, options)).rejects.toMatchObject({
      argument: "header.alg",
    });
  });
});

const callbacks = () => ({
  signJwt: openid4vcSigner(own),
  hash: (data: Uint8Array, alg: string) => createHash(alg.replace("-", "")).update(data).digest(),
  generateRandom: (bytes: number) => randomBytes(bytes),
  verifyJwt: () => ({ verified: false }) as const,
  clientAuthentication: () => {},
});

describe.each([
  ["0.4.6", oauthNewest],
  ["0.2.0", oauthOldest as unknown as typeof oauthNewest],
])("@openid4vc/oauth2 %s", (_, { Oauth2AuthorizationServer }) => {
  const accessToken = async (signer: object): Promise<string> => {
    const server = new Oauth2AuthorizationServer({ callbacks: callbacks() });
    const { access_token } = await server.createAccessTokenResponse({
      authorizationServer: ISSUER,
      audience: ISSUER,
      subject: "Ada",
      clientId: "wallet",
      expiresInSeconds: 300,
      tokenType: "Bearer",
      signer,
    } as never);
    return access_token;
  };

  describeSigning(() => () => accessToken({ method: "custom", alg: "ES256", kid: own.key().keyId }));

  test("an access token has the header and claims of RFC 9068", async () => {
    const token = await accessToken({ method: "custom", alg: "ES256" });
    const { payload, protectedHeader } = await jwtVerify(token, keyOf(keys), { issuer: ISSUER, audience: ISSUER });
    expect(protectedHeader).toEqual({ alg: "ES256", kid: OLD, typ: "at+jwt" });
    expect(payload).toMatchObject({ sub: "Ada", client_id: "wallet", jti: expect.any(String) });
  });

  test.each([
    ["a certificate", () => ({ method: "x5c", x5c: issued.chains.get(OLD), kid: OLD }), "x5c"],
    ["a public key", () => ({ method: "jwk", publicJwk: own.key().publicKey, kid: OLD }), "jwk"],
  ])("%s of the key is in the header with its kid", async (__, signer, member) => {
    const { protectedHeader } = await compactVerify(await accessToken({ alg: "ES256", ...signer() }), keyOf(keys));
    expect(protectedHeader).toMatchObject({ kid: OLD, [member]: expect.anything() });
  });

  test("a DID URL is the kid, if the key has this name", async () => {
    const { publicKey, signer } = own.key();
    const didUrl = "did:web:issuer.example#1";
    own = createInputSigner([{ keyId: didUrl, signer }]);
    const token = await accessToken({ method: "did", didUrl, alg: "ES256" });
    const { protectedHeader } = await compactVerify(token, await importJWK({ ...publicKey }, "ES256"));
    expect(protectedHeader).toMatchObject({ kid: didUrl });
  });

  test.each([
    ["a DID of which no key has the name", () => ({ method: "did", didUrl: `did:web:issuer.example#${OLD}` })],
    ["another algorithm", () => ({ method: "custom", kid: OLD, alg: "ES384" })],
    ["a key that never signed", () => ({ method: "custom", kid: NEXT })],
    ["the certificate of another key", () => ({ method: "x5c", x5c: issued.chains.get(NEXT), kid: OLD })],
    ["another public key", () => ({ method: "jwk", publicJwk: keys.source().keys[1]?.publicKey, kid: OLD })],
  ])("%s is refused", async (__, signer) => {
    await expect(accessToken({ alg: "ES256", ...signer() })).rejects.toMatchObject({ code: "invalid_configuration" });
  });
});

describe.each([
  ["0.4.6", vciNewest],
  ["0.4.2", vciOldest as unknown as typeof vciNewest],
])("@openid4vc/openid4vci %s", (_, { Openid4vciIssuer }) => {
  const metadata = async (): Promise<string> => {
    const { keyId: kid } = own.key();
    return new Openid4vciIssuer({ callbacks: callbacks() }).createSignedCredentialIssuerMetadataJwt({
      signer: { method: "x5c", alg: "ES256", kid, x5c: [...(issued.chains.get(kid) ?? [])] },
      issuedAt: new Date(),
      credentialIssuerMetadata: {
        credential_issuer: ISSUER,
        credential_endpoint: `${ISSUER}/credential`,
        credential_configurations_supported: {},
        display: [{ name: "Ada" }],
      },
    });
  };

  describeSigning(() => metadata);

  test("signed metadata verifies with its certificate", async () => {
    const { x5c: [leaf = ""] = [] } = decodeProtectedHeader(await metadata());
    const { publicKey } = new X509Certificate(Buffer.from(leaf, "base64"));
    const { payload } = await jwtVerify(await metadata(), publicKey, { subject: ISSUER });
    expect(payload).toMatchObject({ credential_endpoint: `${ISSUER}/credential` });
  });
});
