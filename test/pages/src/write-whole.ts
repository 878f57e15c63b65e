import { rename, rm, writeFile } from "node:fs/promises";

/** Writes a file so that one who stops the program finds the old content or the new, and no half of it. */
export async function writeWhole(path: string, content: string): Promise<void> {
  const partial = `${path}.partial`;
  try {
    await writeFile(partial, content);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
