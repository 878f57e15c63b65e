import { join } from "node:path";
import { cacheFolder } from "../lib/repository.mjs";
import { installFromNpm } from "./npm.mjs";

const NEXT = "16.4.6";
const REACT = "19.3.1";

/** Next.js with its compiler is larger than all dependencies of this repository together, so it is not one of them. */
export async function provideNextjs() {
  const folder = join(cacheFolder(), `nextjs-${NEXT}`);
  await installFromNpm(folder, [`next@${NEXT}`, `react@${REACT}`, `react-dom@${REACT}`]);
  return { SIGNPOST_NEXTJS: folder };
}
