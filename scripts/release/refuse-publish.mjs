// Runs before `npm publish` in the folder of a package, which would publish a manifest and links without addresses.
import { say } from "../lib/say.mjs";

say("Not from here: publish the tarballs that `npm run release` packs. They have the addresses that a registry shows.");
process.exit(1);
