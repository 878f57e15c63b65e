import { readFile } from "node:fs/promises";
import { JwsService, Kms, X509Certificate } from "@credo-ts/core";
import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { startAgent } from "./agent.ts";
import { signpostBackend } from "./key-management.ts";

// By default a key that exists only in this process. KEY is the URI of a key in an HSM.
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
const keys = createKeySet([{ signer }]);
const agent = await startAgent(signpostBackend(keys));
const { keyId, publicKey } = keys.active;

// A variable that is an empty string counts as not set.
const path = process.env["CERTIFICATE"] || undefined;
if (path === undefined) {
  const payload = new TextEncoder().encode(JSON.stringify({ given_name: "Ada" }));
  const protectedHeaderOptions = { alg: "ES256", kid: keyId } as const;
  const jws = agent.dependencyManager.resolve(JwsService);
  console.log(await jws.createJwsCompact(agent.context, { payload, keyId, protectedHeaderOptions }));
} else {
  const certificate = X509Certificate.fromEncodedCertificate(await readFile(path, "utf8"));
  if (!certificate.publicJwk.equals(Kms.PublicJwk.fromPublicJwk({ ...publicKey }))) {
    throw new Error(`CERTIFICATE is not that of the key ${keyId}`);
  }
  // Which key signs: Credo only knows the public key of the certificate.
  certificate.keyId = keyId;
  const { compact } = await agent.sdJwtVc.sign({
    payload: { vct: "https://issuer.example/person", given_name: "Ada" },
    disclosureFrame: { _sd: ["given_name"] },
    issuer: { method: "x5c", x5c: [certificate] },
  });
  console.log(compact);
}

await agent.shutdown();
await signer.close();
