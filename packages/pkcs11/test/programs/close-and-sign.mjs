// Closes a signer, whose key the threads then forget, and signs with another one. No guard keeps the process alive.
import { openPkcs11Signer } from "@signpost/pkcs11";

const options = JSON.parse(process.argv[2] ?? "{}");
const other = await openPkcs11Signer({ ...options, object: "k2", policy: false });
const digest = new Uint8Array(32).fill(7);

// Each round a signer opens, so many signatures are made that all sessions know its key, and it is closed.
for (let round = 0; round < 20; round += 1) {
  const signer = await openPkcs11Signer({ ...options, policy: false });
  await Promise.all(Array.from({ length: 40 }, () => signer.sign(digest)));
  await signer.close();
  await other.sign(digest);
}
process.stdout.write("signed\n");
await other.close();
