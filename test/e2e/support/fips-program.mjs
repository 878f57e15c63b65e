// Runs the compiled packages in a Node of FIPS mode. Prints one line of JSON: what worked, and what was refused.
import { createHash, generateKeyPairSync, getFips } from "node:crypto";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { openAzureKeyVaultSigner } from "@signpost/azure-key-vault";
import { createKeySet, signWith } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createMemoryReplayStore, createStaticKeySet, verifyClientAssertion } from "@signpost/verify";
import { createCsr, inspectChain, readCertificates, selfSigned } from "@signpost/x509";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { outcomeOf, tokensOf } from "./fips-tokens.mjs";

const {
  AZURE_VAULT: vault,
  AZURE_CA: caFile,
  AZURE_TOKEN: token,
  AZURE_SCOPE: scope,
  KMS_ENDPOINT: endpoint,
} = process.env;
const now = Math.floor(Date.now() / 1000);

async function assertionBy(alg) {
  const { publicKey, privateKey } = await generateKeyPair(alg);
  const jwk = { ...(await exportJWK(publicKey)), kid: "c", alg };
  const assertion = await new SignJWT({ jti: alg })
    .setProtectedHeader({ alg, kid: "c" })
    .setIssuer("client")
    .setSubject("client")
    .setAudience("https://op.example")
    .setExpirationTime("1m")
    .sign(privateKey);
  const verified = await verifyClientAssertion(assertion, {
    issuer: "https://op.example",
    keysOf: () => createStaticKeySet({ keys: [jwk] }),
    replayStore: createMemoryReplayStore(),
  });
  return verified.clientId;
}

async function certificates() {
  const signer = await openLocalSigner();
  const { pem: csr } = await createCsr(signer, { subject: "CN=op.example" });
  const { pem } = await selfSigned(signer, { subject: "CN=op.example", notAfter: new Date((now + 3600) * 1000) });
  const { problems } = inspectChain(readCertificates(pem));
  await signer.close();
  return { csr: csr.startsWith("-----BEGIN CERTIFICATE REQUEST"), problems };
}

/** A digest without its input: the one signature that Signpost computes in JavaScript. */
async function digestOnly() {
  const signer = await openLocalSigner({ policy: false });
  const signature = await signer.sign(createHash("sha256").update("a").digest());
  const { active } = createKeySet([{ signer }]);
  await signWith(active, new TextEncoder().encode("a"));
  return signature.length;
}

const report = {
  fips: getFips(),
  md5: await outcomeOf(() => createHash("md5").digest("hex")),
  secp256k1: await outcomeOf(() => generateKeyPairSync("ec", { namedCurve: "secp256k1" }).type),
  local: await outcomeOf(async () => tokensOf(await openLocalSigner())),
  awsSdk: await outcomeOf(async () =>
    tokensOf(await openAwsKmsSigner({ key: "alias/op", region: "eu-west-1", endpoint })),
  ),
  azureOverTls: await outcomeOf(async () =>
    tokensOf(await openAzureKeyVaultSigner({ vault, key: "op", credential: () => token, tls: { caFile }, scope })),
  ),
  assertions: {
    ES256: await outcomeOf(() => assertionBy("ES256")),
    RS256: await outcomeOf(() => assertionBy("RS256")),
    PS256: await outcomeOf(() => assertionBy("PS256")),
  },
  certificates: await outcomeOf(certificates),
  digestOnly: await outcomeOf(digestOnly),
};
process.stdout.write(JSON.stringify(report));
