import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, type OptionNames, readText } from "@signpost/core/adapter";
import { isAbsolute, normalize } from "node:path";

/** A Unix socket at a path. */
export interface SocketAtPath {
  /**
   * An absolute path, at most 107 bytes (103 on macOS). The folder must be yours or root's and closed to others (mode 0700; with
   * the mode `"0660"`, its group may pass it: 0710 or 0750). It is made if it is missing.
   */
  readonly path: string;
  /** The permissions of the socket, as octal text: `"0600"`, or `"0660"` for a group. Default `"0600"`. */
  readonly mode?: string | undefined;
  /** The group that may connect, by name or by number. Only with the mode `"0660"`. Default: the group of the process. */
  readonly group?: string | number | undefined;
}

/** A socket that systemd passes to the process (`LISTEN_FDS`). It stays open while the signer restarts. */
export interface SocketFromSystemd {
  /** Always `true`. */
  readonly systemd: true;
  /** The `FileDescriptorName` of the socket, if the unit passes more than one. Default: the only one. */
  readonly name?: string | undefined;
}

/** Where kube-apiserver connects to. */
export type SocketOptions = SocketAtPath | SocketFromSystemd;

const PATH_NAMES: OptionNames<SocketAtPath> = { path: true, mode: true, group: true };
const SYSTEMD_NAMES: OptionNames<SocketFromSystemd> = { systemd: true, name: true };
const ALL_NAMES: OptionNames<SocketAtPath & SocketFromSystemd> = { ...PATH_NAMES, ...SYSTEMD_NAMES };

/** `SocketAtPath`, read. */
export interface ReadSocketAtPath {
  readonly path: string;
  readonly mode: number;
  readonly group: string | number | undefined;
}

/** The size of `sun_path` in `sockaddr_un`, without its last NUL. */
const MAX_PATH_BYTES = process.platform === "darwin" ? 103 : 107;

export function readSocketOptions(options: unknown): ReadSocketAtPath | SocketFromSystemd {
  assertOptions("socket", options, ALL_NAMES);
  const socket = options as Partial<SocketAtPath & SocketFromSystemd>;
  if (socket.systemd === undefined) {
    assertOptions("socket", options, PATH_NAMES);
    return readAtPath(socket);
  }
  assertOptions("socket", options, SYSTEMD_NAMES);
  if (socket.systemd !== true)
    throw new ConfigurationError("socket.systemd", `expected true, got ${given(socket.systemd)}`);
  return { systemd: true, ...(socket.name === undefined ? {} : { name: readText("socket.name", socket.name) }) };
}

function readAtPath({ path, mode = "0600", group }: Partial<SocketAtPath>): ReadSocketAtPath {
  if (typeof path !== "string") {
    throw new ConfigurationError("socket", `expected a path, or systemd: true, got ${given(path)} as the path`);
  }
  requirePath(path);
  if (mode !== "0600" && mode !== "0660") {
    throw new ConfigurationError("socket.mode", `expected "0600" or "0660", got ${given(mode)}`);
  }
  if (group !== undefined && mode !== "0660") {
    throw new ConfigurationError("socket.group", 'expected the mode "0660" with a group');
  }
  return { path, mode: Number.parseInt(mode, 8), group: group === undefined ? undefined : readGroup(group) };
}

function requirePath(path: string): void {
  if (path.startsWith("@")) {
    const why = "every user of the machine can connect to an abstract socket";
    throw new ConfigurationError("socket.path", `expected a path in a folder, got an abstract name; ${why}`);
  }
  if (!isAbsolute(path) || path.includes("\0") || normalize(path) !== path || path.endsWith("/")) {
    throw new ConfigurationError("socket.path", "expected an absolute path, such as /run/signpost/signer.sock");
  }
  // The name that it has while it is made is in the same folder.
  const bytes = Math.max(Buffer.byteLength(path), Buffer.byteLength(temporaryPath(path, "00000000")));
  if (bytes <= MAX_PATH_BYTES) return;
  throw new ConfigurationError("socket.path", `expected at most ${MAX_PATH_BYTES} bytes, got ${bytes}`);
}

/** Where the socket is made, before it gets its name. */
export function temporaryPath(path: string, unique: string): string {
  return `${path.slice(0, path.lastIndexOf("/"))}/.${unique}`;
}

function readGroup(group: unknown): string | number {
  if (typeof group === "string" && /^[A-Za-z_][\w.-]{0,63}\$?$/.test(group)) return group;
  if (typeof group === "number" && Number.isInteger(group) && group >= 0 && group < 4_294_967_295) return group;
  throw new ConfigurationError("socket.group", `expected the name or the number of a group, got ${given(group)}`);
}
