import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, lstat, rename, rm } from "node:fs/promises";
import type { Stats } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { ConfigurationError } from "@signpost/core";
import { requirePrivateFolder } from "./folder.ts";
import { groupId } from "./group-id.ts";
import type { Listening } from "./listening.ts";
import { type ReadSocketAtPath, temporaryPath } from "./socket-options.ts";

const BACKLOG = 511;

/**
 * Listens on a Unix socket. It is made under another name in the same folder, gets its owner and its permissions there, and is
 * renamed: it is never open to more than it should be, and it replaces a stale one in one step.
 */
export async function listenAtPath(
  { path, mode, group }: ReadSocketAtPath,
  onConnection: (socket: Socket) => void,
): Promise<Listening> {
  const gid = group === undefined ? ownGroup(mode) : await groupId(group);
  await requirePrivateFolder(path, gid);
  await requireFree(path);
  const temporary = temporaryPath(path, randomBytes(4).toString("hex"));
  const server = createServer(onConnection);
  await listen(server, temporary);
  try {
    if (gid !== undefined) await chown(temporary, process.geteuid?.() ?? -1, gid);
    await chmod(temporary, mode);
    const made = await lstat(temporary);
    await rename(temporary, path);
    return { server, address: path, release: () => removeIfOurs(path, made) };
  } catch (cause) {
    server.close();
    throw new ConfigurationError("socket.path", `the socket cannot be made (${codeOf(cause)})`, { cause });
  }
}

/** A socket for a group is for that of the process, if no other one is named. */
function ownGroup(mode: number): number | undefined {
  return mode === 0o660 ? process.getegid?.() : undefined;
}

async function listen(server: Server, path: string): Promise<void> {
  server.listen({ path, backlog: BACKLOG });
  await once(server, "listening").catch((cause: unknown) => {
    throw new ConfigurationError("socket.path", `the socket cannot be made (${codeOf(cause)})`, { cause });
  });
}

/** Refuses to replace anything but a socket on which nothing listens. */
async function requireFree(path: string): Promise<void> {
  const stats = await lstat(path).catch((cause: unknown) => {
    const code = codeOf(cause);
    if (code === "ENOENT") return undefined;
    const problem = `what is at ${path} cannot be read (${code}); this process must be able to pass the folder`;
    throw new ConfigurationError("socket.path", problem, { cause });
  });
  if (stats === undefined) return;
  if (!stats.isSocket()) throw new ConfigurationError("socket.path", `${path} is there and is no socket; remove it`);
  const code = await connectionCode(path);
  if (code === "ECONNREFUSED" || code === "ENOENT") return;
  const why =
    code === undefined ? "another process listens there" : `whether a process listens there is unknown (${code})`;
  throw new ConfigurationError("socket.path", `${path}: ${why}; stop it first`);
}

/** Why a connection fails, or undefined if it does not. */
function connectionCode(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => resolve(undefined));
    socket.once("error", (error) => resolve(codeOf(error)));
    socket.once("close", () => socket.destroy());
    socket.once("connect", () => socket.destroy());
  });
}

/** A newer process may have put its own socket there. */
async function removeIfOurs(path: string, { dev, ino }: Stats): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.dev === dev && stats.ino === ino) await rm(path, { force: true });
}

function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), "code"));
}
