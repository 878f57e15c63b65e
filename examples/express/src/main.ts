import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { start } from "./server.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const issuer = process.env["ISSUER"] || `http://localhost:${port}`;
// A key that exists only in this process. Use key URIs of your KMS or HSM here, with their adapters.
const signer = await openSigner("local:", [local()]);
const server = await start({ issuer, port: Number(port), keys: createKeySet([{ signer }]) });
console.log(`listening on ${server.port}`);

process.once("SIGTERM", () => {
  void server.close().then(() => signer.close());
});
