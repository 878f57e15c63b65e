// Opens a signer, signs, and then does what each line of its input says. Nothing else ends it.
import { createInterface } from "node:readline";
import { openPkcs11Signer } from "@signpost/pkcs11";

const signer = await openPkcs11Signer(JSON.parse(process.argv[2] ?? "{}"));
const digest = new Uint8Array(32).fill(7);
await signer.sign(digest);

const commands = {
  sign: () => void signer.sign(digest).catch(() => {}),
  close: () => void signer.close(),
  exit: () => process.exit(0),
};
createInterface({ input: process.stdin }).on("line", (line) => commands[line]());
process.stdout.write("signed\n");
