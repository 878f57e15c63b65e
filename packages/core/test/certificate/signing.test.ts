import { X509Certificate } from "node:crypto";
import { compactVerify, decodeProtectedHeader, importX509, type JWSHeaderParameters } from "jose";
import { describe, expect, test } from "vitest";
import {
  createInputSigner,
  createKeySet,
  createRotationSchedule,
  type KeySet,
  type KeySetEntry,
  signJws,
  type SignJwsOptions,
  signJwt,
  signRequestObject,
} from "@signpost/core";
import { bundleOf, type Issued, leaf, newP256, pemOf, soundChain } from "../support/certificates.ts";
import { failure } from "../support/failure.ts";
import { type Behaviour, scriptedSignerOf } from "../support/scripted-signer.ts";

const { middle, root } = soundChain();

function certifiedEntry(keyId: string, ...behaviours: Behaviour[]): { entry: KeySetEntry; certificate: Issued } {
  const certificate = leaf(middle);
  const { signer } = scriptedSignerOf(certificate.plan.key, ...behaviours);
  return { entry: { keyId, signer, certificates: { chain: bundleOf(certificate, middle, root) } }, certificate };
}

const { entry, certificate } = certifiedEntry("k");
const KEYS = createKeySet([entry]);

/** Verifies as a verifier that trusts the root and gets nothing but the token. */
async function verifyByChain(token: string): Promise<JWSHeaderParameters> {
  const header = decodeProtectedHeader(token);
  const chain = (header.x5c ?? []).map((text) => new X509Certificate(Buffer.from(text, "base64")));
  const path = [...chain, new X509Certificate(root.pem)];
  for (const [index, one] of path.slice(0, -1).entries()) {
    const issuer = path[index + 1];
    expect(issuer !== undefined && one.checkIssued(issuer) && one.verify(issuer.publicKey)).toBe(true);
  }
  const key = await importX509(pemOf(chain[0]?.raw ?? Buffer.of(), "CERTIFICATE"), "ES256");
  await compactVerify(token, key);
  return header;
}

describe("the option certificates", () => {
  test("puts the chain into the header, without the trust anchor", async () => {
    const header = await verifyByChain(await signJws(KEYS, "text", { certificates: "x5c" }));
    expect(header).toEqual({ alg: "ES256", kid: "k", x5c: [certificate.base64, middle.base64] });
  });

  test("puts the thumbprint into the header", async () => {
    const token = await signJws(KEYS, "text", { certificates: "x5t#S256", typ: "vc+sd-jwt" });
    const digest = Buffer.from(new X509Certificate(certificate.pem).fingerprint256.replaceAll(":", ""), "hex");
    expect(decodeProtectedHeader(token)).toEqual({
      alg: "ES256",
      kid: "k",
      typ: "vc+sd-jwt",
      "x5t#S256": digest.toString("base64url"),
    });
  });

  test("is off by default", async () => {
    expect(decodeProtectedHeader(await signJws(KEYS, "text"))).toEqual({ alg: "ES256", kid: "k" });
  });

  test("holds for JWTs and request objects", async () => {
    const jwt = await signJwt(KEYS, { sub: "a" }, { certificates: "x5c", typ: "dc+sd-jwt" });
    expect(await verifyByChain(jwt)).toMatchObject({ typ: "dc+sd-jwt", x5c: [certificate.base64, middle.base64] });
    const request = await signRequestObject(
      KEYS,
      { scope: "openid" },
      { clientId: "rp", issuer: "https://op.example", certificates: "x5c" },
    );
    expect(await verifyByChain(request)).toMatchObject({ typ: "oauth-authz-req+jwt" });
  });

  test("may be all that names the key", async () => {
    const x5c = [certificate.base64, middle.base64];
    const jws = await signJws(KEYS, "text", { certificates: "x5c", kid: false, typ: "dc+sd-jwt" });
    expect(await verifyByChain(jws)).toEqual({ alg: "ES256", typ: "dc+sd-jwt", x5c });
    const jwt = await signJwt(KEYS, { sub: "a" }, { certificates: "x5c", kid: false });
    expect(await verifyByChain(jwt)).toEqual({ alg: "ES256", x5c });
  });

  test("does not depend on what is published", async () => {
    const { signer } = scriptedSignerOf(certificate.plan.key);
    const keys = createKeySet([{ signer, certificates: { chain: bundleOf(certificate, middle), publish: [] } }]);
    await verifyByChain(await signJws(keys, "text", { certificates: "x5c" }));
  });

  test("refuses a key without certificates", async () => {
    const keys = createKeySet([{ keyId: "bare", signer: scriptedSignerOf(newP256()).signer }]);
    const error = await failure(signJws(keys, "text", { certificates: "x5c" }));
    expect(error).toMatchObject({ code: "no_certificates", argument: "certificates" });
    expect(String(error)).toContain('the active key "bare" has none');
  });

  test.each<[string, unknown, string]>([
    ["another member", { certificates: "x5t" }, 'certificates: expected "x5c" or "x5t#S256"'],
    ["true", { certificates: true }, "got true"],
    ["a token that names no key", { kid: false }, 'kid: expected certificates: "x5c" with false'],
    ["a thumbprint as the only name", { kid: false, certificates: "x5t#S256" }, 'kid: expected certificates: "x5c"'],
    ["another kid", { kid: "other", certificates: "x5c" }, "kid: expected false or undefined"],
    ["the member in the header too", { certificates: "x5c", header: { x5c: [] } }, "header.x5c: not allowed together"],
  ])("refuses %s", async (_, options, message) => {
    expect(String(await failure(signJws(KEYS, "text", options as SignJwsOptions)))).toContain(message);
  });

  test("shows the chain of the key that signs, also if the keys change while it signs", async () => {
    const fresh = certifiedEntry("fresh");
    const next = certifiedEntry("next");
    let keys: KeySet;
    const old = certifiedEntry("old", ({ sign }) => {
      // The old key is withdrawn: the token is signed again with the new one.
      keys = createKeySet([fresh.entry]);
      return sign();
    });
    keys = createKeySet([old.entry]);
    expect(await verifyByChain(await signJws(() => keys, "text", { certificates: "x5c" }))).toMatchObject({
      kid: "fresh",
      x5c: [fresh.certificate.base64, middle.base64],
    });
    const retiring = certifiedEntry("retiring", ({ sign }) => {
      keys = createKeySet([next.entry, retiring.entry]);
      return sign();
    });
    keys = createKeySet([retiring.entry]);
    expect(await verifyByChain(await signJws(() => keys, "text", { certificates: "x5c" }))).toMatchObject({
      kid: "retiring",
      x5c: [retiring.certificate.base64, middle.base64],
    });
  });

  test("with x5c allows an exp after the key leaves the key set, since verifiers have the key", async () => {
    const dates = { announcedFrom: new Date(Date.now() - 1000), activeFrom: new Date(Date.now() - 1000) };
    const schedule = createRotationSchedule([{ ...entry, ...dates }], { maxTokenLifetimeSeconds: 60 });
    const claims = { exp: Math.floor(Date.now() / 1000) + 365 * 86_400 };
    await verifyByChain(await signJwt(schedule, claims, { certificates: "x5c" }));
    for (const certificates of [undefined, "x5t#S256"] as const) {
      expect(await failure(signJwt(schedule, claims, { certificates }))).toMatchObject({ argument: "claims.exp" });
    }
  });

  test("is read once, like the others", async () => {
    const fresh = certifiedEntry("fresh");
    const options: { certificates: SignJwsOptions["certificates"] } = { certificates: "x5c" };
    let keys: KeySet;
    const old = certifiedEntry("old", ({ sign }) => {
      options.certificates = undefined;
      keys = createKeySet([fresh.entry]);
      return sign();
    });
    keys = createKeySet([old.entry]);
    expect(await verifyByChain(await signJws(() => keys, "text", options))).toMatchObject({ kid: "fresh" });
  });
});

test("another library gets the chain of the key that signs, also after a rotation", async () => {
  const next = certifiedEntry("next");
  let keys = KEYS;
  const own = createInputSigner(() => keys);
  const headerOf = ({ keyId, certificates }: ReturnType<typeof own.key>) =>
    Buffer.from(JSON.stringify({ alg: "ES256", kid: keyId, x5c: certificates?.x5c })).toString("base64url");
  const input = `${headerOf(own.key())}.e30`;
  keys = createKeySet([next.entry, entry]);
  const sign = async (text: string) => `${text}.${Buffer.from(await own.sign(text)).toString("base64url")}`;
  expect(await verifyByChain(await sign(input))).toMatchObject({ kid: "k", x5c: [certificate.base64, middle.base64] });
  const later = await verifyByChain(await sign(`${headerOf(own.key())}.e30`));
  expect(later).toMatchObject({ kid: "next", x5c: [next.certificate.base64, middle.base64] });
});
