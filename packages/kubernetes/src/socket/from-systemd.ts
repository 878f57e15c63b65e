import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { ConfigurationError } from "@signpost/core";
import type { Listening } from "./listening.ts";
import type { SocketFromSystemd } from "./socket-options.ts";

/** `SD_LISTEN_FDS_START` of sd_listen_fds(3). */
const FIRST = 3;

type Environment = Readonly<Record<string, string | undefined>>;

/** Listens on a socket that systemd, or another parent, passes. It stays theirs: it is never removed. */
export async function listenFromSystemd(
  { name }: SocketFromSystemd,
  onConnection: (socket: Socket) => void,
  env: Environment = process.env,
): Promise<Listening> {
  const fd = passedDescriptor(name, env, process.pid);
  const server = createServer(onConnection);
  server.listen({ fd });
  await once(server, "listening").catch((cause: unknown) => {
    const code = String(Reflect.get(Object(cause), "code"));
    throw new ConfigurationError("socket.systemd", `descriptor ${fd} is no listening socket (${code})`, { cause });
  });
  const address = server.address();
  if (typeof address === "object" && address !== null) {
    server.close();
    throw new ConfigurationError(
      "socket.systemd",
      "expected a Unix socket, got an internet socket; use ListenStream=/PATH",
    );
  }
  return { server, address: address ?? `fd:${fd}`, release: () => Promise.resolve() };
}

/** The descriptor in the variables of sd_listen_fds(3). */
export function passedDescriptor(name: string | undefined, env: Environment, pid: number): number {
  const { LISTEN_PID: owner, LISTEN_FDS: fds = "", LISTEN_FDNAMES: fdNames = "" } = env;
  const count = /^[1-9]\d{0,3}$/.test(fds) ? Number(fds) : 0;
  if (owner !== String(pid) || count === 0) {
    const problem = owner === undefined || count === 0 ? "passed no socket" : "passed its socket to another process";
    throw new ConfigurationError("socket.systemd", `systemd ${problem}; start this process from a unit with a .socket`);
  }
  const names = fdNames.split(":");
  const index = name === undefined && count === 1 ? 0 : names.indexOf(name ?? "");
  if (index !== -1 && index < count) return FIRST + index;
  const expected =
    name === undefined ? "a name, because systemd passed more than one" : "the FileDescriptorName of a socket";
  throw new ConfigurationError("socket.name", `expected ${expected}`);
}
