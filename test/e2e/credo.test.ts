import { X509Certificate } from "node:crypto";
import * as newest from "@credo-ts/core";
import * as oldest from "credo-ts-core-0.6.1";
import { compactVerify, decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { startAgent } from "../../examples/credo/src/agent.ts";
import { signpostBackend } from "../../examples/credo/src/key-management.ts";
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

let keys: RotatingKeys;
let issued: IssuedChains;

beforeAll(async () => {
  keys = await createRotatingKeys("issuer.example");
  ({ issued } = keys);
});
beforeEach(() => keys.start());
afterAll(() => keys.close());

test("the recipe is at most ten lines", () => {
  expect(countLines("credo/src/key-management.ts")).toBeLessThanOrEqual(10);
});

describe.each([
  ["0.6.3", newest],
  ["0.6.1", oldest as unknown as typeof newest],
])("@credo-ts/core %s", (_, credo) => {
  let agent: newest.Agent;

  beforeEach(async () => {
    agent = await startAgent(signpostBackend(keys.source), credo);
    return () => agent.shutdown();
  });

  const activeKid = (): string => keys.source().active.keyId;
  const jws = async (keyId = activeKid(), alg: "ES256" | "ES384" = "ES256"): Promise<string> =>
    agent.dependencyManager.resolve(credo.JwsService).createJwsCompact(agent.context, {
      payload: new TextEncoder().encode(JSON.stringify({ name: "Ada" })),
      keyId,
      protectedHeaderOptions: { alg, kid: keyId },
    });
  const credential = async (keyId = activeKid()): Promise<string> => {
    const chain = issued.chains.get(keyId) ?? [];
    const x5c = chain.map((text) => credo.X509Certificate.fromEncodedCertificate(text));
    if (x5c[0] !== undefined) x5c[0].keyId = keyId;
    const { compact } = await agent.sdJwtVc.sign({
      payload: { vct: "https://issuer.example/person", given_name: "Ada" },
      disclosureFrame: { _sd: ["given_name"] },
      issuer: { method: "x5c", x5c, issuer: "https://issuer.example" },
    });
    return compact;
  };

  test("none of 1,000 signatures around a rotation is wrong, each under the kid in its header", async () => {
    const signedBy = { [OLD]: 0, [NEXT]: 0 };
    for (const token of await aroundRotation(keys, () => jws())) {
      const { protectedHeader } = await compactVerify(token, keyOf(keys), { algorithms: ["ES256"] });
      signedBy[protectedHeader.kid === OLD ? OLD : NEXT] += 1;
    }
    expect(signedBy).toEqual({ [OLD]: 525, [NEXT]: 475 });
  });

  test.each([OLD, NEXT])(
    "a credential of the key %s verifies with the certificate in it, here and in the host",
    async (kid) => {
      if (kid === NEXT) keys.rotate();
      const compact = await credential();
      const jwt = compact.slice(0, compact.indexOf("~"));
      const { x5c = [], typ } = decodeProtectedHeader(jwt);
      await compactVerify(jwt, new X509Certificate(Buffer.from(x5c[0] ?? "", "base64")).publicKey);
      expect([typ, x5c]).toEqual(["dc+sd-jwt", issued.chains.get(kid)]);
      const result = await agent.sdJwtVc.verify({ compactSdJwtVc: compact, trustedCertificates: [issued.anchor] });
      expect(result).toMatchObject({ isValid: true });
    },
  );

  test("a credential that was started just before the rotation is signed by its key", async () => {
    const made = credential();
    keys.rotate();
    expect(
      await agent.sdJwtVc.verify({ compactSdJwtVc: await made, trustedCertificates: [issued.anchor] }),
    ).toMatchObject({
      isValid: true,
    });
  });

  test("a withdrawn key is not found, and signs nothing", async () => {
    keys.withdraw();
    await expect(jws(OLD)).rejects.toBeInstanceOf(credo.Kms.KeyManagementKeyNotFoundError);
    await expect(signpostBackend(keys.source).sign(agent.context, signing(OLD))).rejects.toMatchObject({
      argument: "kid",
    });
    expect(decodeProtectedHeader(await jws())).toMatchObject({ kid: NEXT });
  });

  test("a key that is withdrawn while it is asked for signs nothing", async () => {
    const backend = signpostBackend(keys.source);
    expect(await backend.getPublicKey(agent.context, OLD)).toMatchObject({ kid: OLD });
    keys.withdraw();
    const error = await backend.sign(agent.context, signing(OLD)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SignerError);
    expect(error).toMatchObject({ code: "unavailable", transient: true });
  });

  test("the public key of each published key is there, before it signs and after", async () => {
    const known = async (keyId: string): Promise<object> => agent.kms.getPublicKey({ keyId });
    const published = keys.jwks().keys.map(({ kty, crv, x, y, kid }) => ({ kty, crv, x, y, kid }));
    expect([await known(OLD), await known(NEXT)]).toEqual(published);
    keys.rotate();
    expect([await known(OLD), await known(NEXT)]).toEqual(published);
    keys.withdraw();
    await expect(known(OLD)).rejects.toBeInstanceOf(credo.Kms.KeyManagementKeyNotFoundError);
  });

  test("an announced key signs nothing, and says why", async () => {
    await expect(jws(NEXT)).rejects.toMatchObject({ code: "invalid_configuration", argument: "kid" });
  });

  test("another algorithm is an error of the host", async () => {
    await expect(jws(OLD, "ES384")).rejects.toThrow("ES384");
    await expect(agent.kms.sign({ ...signing(OLD), algorithm: "ES384" })).rejects.toBeInstanceOf(
      credo.Kms.KeyManagementError,
    );
  });

  test("a failure of the signer keeps its code, and has no claim in its message", async () => {
    keys.fail(new SignerError("throttled", "too many calls"));
    for (const made of [jws(), credential()]) {
      const error = await made.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "throttled", transient: true });
      expect(String(error)).not.toContain("Ada");
    }
  });

  test("what it cannot do is left to other backends", async () => {
    expect(agent.kms.supportedBackendsForOperation({ operation: "sign", algorithm: "ES256" })).toEqual(["signpost"]);
    expect(agent.kms.supportedBackendsForOperation({ operation: "randomBytes" })).toEqual(["node"]);
    expect(
      agent.kms.supportedBackendsForOperation({ operation: "createKey", type: { kty: "EC", crv: "P-256" } }),
    ).toEqual([]);
    await expect(agent.kms.createKey({ type: { kty: "EC", crv: "P-256" } })).rejects.toBeInstanceOf(
      credo.Kms.KeyManagementError,
    );
  });

  function signing(keyId: string) {
    return { keyId, algorithm: "ES256" as const, data: new Uint8Array([1]) };
  }
});
