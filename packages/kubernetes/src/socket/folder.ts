import { chmod, chown, lstat, mkdir, rmdir } from "node:fs/promises";
import type { Stats } from "node:fs";
import { dirname } from "node:path";
import { ConfigurationError } from "@signpost/core";

/**
 * Makes the folder of a socket, or checks the one that is there. Whoever can connect can mint tokens of every ServiceAccount, and
 * whoever can write into the folder can put another socket there.
 */
export async function requirePrivateFolder(path: string, group: number | undefined): Promise<void> {
  const folder = dirname(path);
  if (await make(folder, group)) return;
  const problem = folderFault(await lstat(folder), process.geteuid?.(), group);
  if (problem !== undefined) throw new ConfigurationError("socket.path", `the folder ${folder} ${problem}`);
}

async function make(folder: string, group: number | undefined): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    throw new ConfigurationError(
      "socket.path",
      `the folder ${folder} cannot be made (${code}); make it with mode 0700`,
      {
        cause: error,
      },
    );
  }
  if (group === undefined) return true;
  await open(folder, group);
  return true;
}

/** Lets a group pass a folder that was made just now. */
async function open(folder: string, group: number): Promise<void> {
  try {
    await chown(folder, process.geteuid?.() ?? -1, group);
    await chmod(folder, 0o710);
  } catch (cause) {
    // The next start must not find a folder that is half made.
    await rmdir(folder);
    const { code } = cause as NodeJS.ErrnoException;
    const problem = `the folder ${folder} cannot be given to the group ${group} (${code}); make it with mode 0710 and that group`;
    throw new ConfigurationError("socket.group", problem, { cause });
  }
}

/** Why a folder is not private to a user, or to the user and a group that may pass it. */
export function folderFault(
  stats: Pick<Stats, "gid" | "isDirectory" | "mode" | "uid">,
  user: number | undefined,
  group: number | undefined,
): string | undefined {
  if (!stats.isDirectory()) return "is a link or no folder; name the folder itself";
  if (stats.uid !== user && stats.uid !== 0) return `belongs to user ${stats.uid}; expected ${user} or root`;
  const open = stats.mode & (group !== undefined && stats.gid === group ? 0o027 : 0o077);
  if (open === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  return group === undefined
    ? `has the mode ${mode}; expected 0700`
    : `has the mode ${mode} and the group ${stats.gid}; expected 0710 or 0750 and the group ${group}`;
}
