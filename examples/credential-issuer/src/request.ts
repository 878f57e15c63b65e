import { openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { createCsr } from "@signpost/x509";

// Prints a certificate request for the key of this issuer, as `signpost csr` does. Verifiers look for the issuer in the names.
const issuer = new URL(process.env["ISSUER"] || "http://localhost:3000");
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
const { pem } = await createCsr(signer, {
  subject: [{ O: "Example" }, { CN: issuer.hostname }],
  subjectAltNames: [{ uri: issuer.origin }, { dns: issuer.hostname }],
});
process.stdout.write(pem);
await signer.close();
