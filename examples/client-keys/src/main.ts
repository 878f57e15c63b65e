import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { startRp } from "./rp.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3001";
const op = process.env["OP"] || "http://localhost:3000";
const clientId = process.env["CLIENT_ID"] || "rp";
const url = process.env["URL"] || `http://localhost:${port}`;

// By default a key that exists only in this process. KEY is the URI of a key in an HSM.
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
const rp = await startRp({ op, clientId, url, port: Number(port), keys: createKeySet([{ signer }]) });

process.once("SIGTERM", () => {
  void rp.close().then(() => signer.close());
});
