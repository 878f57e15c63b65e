import { createKeySet, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { pkcs11 } from "@signpost/pkcs11";
import { startEntity } from "./entity.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const url = process.env["ENTITY"] || `http://localhost:${port}`;
const listed = (names: string | undefined): string[] => (names ? names.split(",") : []);

// By default a key that exists only in this process. KEY is the URI of a key in an HSM.
const signer = await openSigner(process.env["KEY"] || "local:", [local(), pkcs11()]);
const entity = await startEntity({
  url,
  port: Number(port),
  keys: createKeySet([{ signer }]),
  superiors: listed(process.env["SUPERIORS"]),
  subordinates: listed(process.env["SUBORDINATES"]),
});
console.log(`listening as ${url}`);

process.once("SIGTERM", () => {
  void entity.close().then(() => signer.close());
});
