// Makes many signatures with garbage collection forced, and reports memory and handles on the way.
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { readdirSync } from "node:fs";
import { openPkcs11Signer } from "@signpost/pkcs11";

const options = JSON.parse(process.argv[2] ?? "{}");
const [total, inFlight, wanted] = process.argv.slice(3).map(Number);
const signer = await openPkcs11Signer(options);
const key = createPublicKey({ key: signer.publicKey, format: "jwk" });
const samples = [];
let made = 0;
let bad = 0;

function sample() {
  globalThis.gc?.();
  samples.push({
    rss: process.memoryUsage.rss(),
    files: readdirSync("/proc/self/fd").length,
    resources: process.getActiveResourcesInfo().length,
  });
}

async function caller() {
  while (made < total) {
    const number = (made += 1);
    const message = randomBytes(32);
    const signature = await signer.sign(createHash("sha256").update(message).digest());
    if (number % 50 === 0 && !verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature)) bad += 1;
    if (number % (total / wanted) === 0) sample();
  }
}

await Promise.all(Array.from({ length: inFlight }, caller));
await signer.close();
process.stdout.write(JSON.stringify({ made, bad, samples }));
