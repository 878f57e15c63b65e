// signpost kid URI --json | node kube-key.mjs FILE
// Writes the public key into FILE as PEM, for --service-account-key-file, and prints the kid that kube-apiserver gives to it.
import { createHash, createPublicKey } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [, , file = "signer.pub"] = process.argv;
const { publicKey } = JSON.parse(readFileSync(0, "utf8"));
const key = createPublicKey({ key: publicKey, format: "jwk" });
writeFileSync(file, key.export({ type: "spki", format: "pem" }));
const hash = createHash("sha256").update(key.export({ type: "spki", format: "der" }));
console.log(hash.digest("base64url"));
