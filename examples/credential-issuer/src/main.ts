import { readFile } from "node:fs/promises";
import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { startIssuer } from "./server.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const url = process.env["ISSUER"] || `http://localhost:${port}`;
const [chain, trustAnchors] = await Promise.all([fileOf(process.env["CHAIN"]), fileOf(process.env["ROOT"])]);

// By default a key that exists only in this process. KEY is the URI of a key in an HSM.
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
// The chain is checked here: the issuer does not start with the chain of another key, or one that leads elsewhere.
const keys = createKeySet([{ signer, certificates: chain === undefined ? undefined : { chain, trustAnchors } }]);
const issuer = await startIssuer({ url, port: Number(port), keys });
console.log(`listening as ${url}`);

process.once("SIGTERM", () => {
  void issuer.close().then(() => signer.close());
});

async function fileOf(path: string | undefined): Promise<string | undefined> {
  return path ? readFile(path, "utf8") : undefined;
}
