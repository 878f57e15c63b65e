import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, type Finding } from "./finding.ts";

/** Read or write for the group or for all others. */
const OTHERS = 0o066;

/** A software key: who else can read the file. */
export const LOCAL: BackendChecks = {
  examine: async ({ uri, context }) => {
    const path = uri.slice(uri.indexOf(":") + 1);
    if (path === "") return [note("key", "a new software key, which ends with this process")];
    const { mode } = await stat(resolve(context.cwd, path));
    const software = note("key", "a software key. Keep the keys of a real OP in a KMS or an HSM");
    return [software, fileFinding(mode)];
  },
};

function fileFinding(mode: number): Finding {
  const text = `the file has mode ${(mode & 0o777).toString(8).padStart(3, "0")}`;
  if ((mode & OTHERS) === 0) return ok("permissions", text);
  return problem(
    "permissions",
    `${text}, so other users can use the key`,
    "chmod 600, and consider to replace the key",
  );
}
