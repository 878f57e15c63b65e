// Makes a certificate request and a certificate on whichever runtime starts it. The gate parses them outside.
import assert from "node:assert/strict";
import { check, done, failureOf, load, runtime, settings, tell } from "./lib.mjs";

const { createKeySet, jwkThumbprint, serializeJwks } = await load("core");
const { openLocalSigner } = await load("local");
const { createCsr, inspectChain, readCertificates, selfSigned } = await load("x509");
/** @type {any[]} */
const signers = [];
for (const privateKey of settings.backend.keys) signers.push(await openLocalSigner({ privateKey }));
const [signer] = signers;
const names = {
  subject: "CN=op.example,O=Example,C=DE",
  subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }, { ip: "2001:db8::1" }],
};

await check("a certificate, and what it says", async () => {
  const { pem, der } = await selfSigned(signer, names);
  tell({ request: (await createCsr(signer, names)).pem, certificate: pem });
  const certificates = readCertificates(pem);
  const { chain, problems, isTrusted } = inspectChain(certificates, { trustAnchors: certificates });
  assert.deepEqual([chain.length, problems, isTrusted], [1, [], true]);
  assert.deepEqual(Buffer.from(chain[0].der), Buffer.from(der));
  assert.equal(chain[0].subject, names.subject);
  assert.equal(chain[0].thumbprint, jwkThumbprint(signer.publicKey));
});

await check("a certificate is published with its key", async () => {
  const { pem, der } = await selfSigned(signer, names);
  const { body } = serializeJwks(createKeySet([{ signer, certificates: { chain: pem } }]));
  const [jwk] = JSON.parse(Buffer.from(body).toString()).keys;
  assert.deepEqual(jwk.x5c, [Buffer.from(der).toString("base64")]);
});

/** Authorities whose signatures the cryptography of the runtime does not verify: a limit that docs/runtimes.md names. */
/** @type {Readonly<Record<string, readonly string[]>>} */
const UNKNOWN = {
  node: [],
  bun: ["RSASSA-PSS", "Ed448", "secp256k1"],
  deno: ["RSASSA-PSS", "Ed448", "secp256k1", "P-521"],
};
for (const [kind, { authority, leaf }] of Object.entries(settings.backend.chains)) {
  const certificates = { chain: leaf, trustAnchors: authority };
  if (UNKNOWN[runtime]?.includes(kind) === true) {
    await check(`a certificate of an authority with ${kind} is refused`, () =>
      assert.throws(() => createKeySet([{ signer, certificates }]), { code: "invalid_certificate" }),
    );
    continue;
  }
  await check(`a certificate of an authority with ${kind}`, () => {
    createKeySet([{ signer, certificates }]);
    const { chain, problems } = inspectChain(readCertificates(`${leaf}${authority}`));
    assert.deepEqual([chain.length, problems], [2, []]);
  });
}

await check("wrong input has an error code", async () => {
  const { code, argument } = await failureOf(createCsr(signer, { subject: "CN=op.example,C=de" }));
  assert.deepEqual([code, argument], ["invalid_configuration", "subject (C)"]);
  assert.throws(() => readCertificates(Buffer.from("3003020100", "hex")), { code: "invalid_configuration" });
});

for (const each of signers) await each.close();
done();
