// Opens a signer, signs, and ends in the way that its arguments say. Options come as JSON: no PIN of ours is a secret.
import { openPkcs11Signer } from "@signpost/pkcs11";

const [options, ending] = [JSON.parse(process.argv[2] ?? "{}"), process.argv[3]];
const signer = await openPkcs11Signer(options);
const digest = new Uint8Array(32).fill(7);
await signer.sign(digest);
process.stdout.write("signed\n");

const inFlight = Array.from({ length: 8 }, () => signer.sign(digest).catch(() => {}));
switch (ending) {
  case "exit":
    setTimeout(() => process.exit(0), 50);
    break;
  case "natural":
    await Promise.all(inFlight);
    break;
  case "close":
    await signer.close();
    break;
  default:
    throw new Error(`no such ending: ${ending}`);
}
