import { readFile } from "node:fs/promises";
import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { chainOf } from "./chains.ts";
import { startIssuer } from "./server.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const url = process.env["ISSUER"] || `http://localhost:${port}`;
const chain = process.env["CHAIN"];

// By default a key that exists only in this process. KEY is the URI of a key in an HSM.
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
const keys = createKeySet([{ signer }]);
const chains = chain ? chainOf(keys.active, await readFile(chain, "utf8")) : new Map();
const issuer = await startIssuer({ url, port: Number(port), keys, chains });
console.log(`listening as ${url}`);

process.once("SIGTERM", () => {
  void issuer.close().then(() => signer.close());
});
