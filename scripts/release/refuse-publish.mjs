// Runs before `npm publish` in a package's folder, which would publish a manifest and links without addresses.
import { say } from "../lib/say.mjs";

say("Do not publish from this folder: publish the tarballs that `npm run release` packs, which contain the addresses.");
process.exit(1);
