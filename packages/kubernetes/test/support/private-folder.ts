import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder for one test, with mode 0700. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
  /** The path of a file in it. */
  at(name: string): string;
  /** Writes a file, text as it is and anything else as JSON. Returns its path. */
  write(name: string, content: unknown): Promise<string>;
}

export async function privateFolder(): Promise<PrivateFolder> {
  const path = await mkdtemp(join(tmpdir(), "signpost-kube-"));
  const at = (name: string): string => join(path, name);
  return {
    path,
    at,
    write: async (name, content) => {
      await writeFile(at(name), typeof content === "string" ? content : JSON.stringify(content));
      return at(name);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
