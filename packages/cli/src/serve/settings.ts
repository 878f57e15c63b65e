import { CliError } from "../program/cli-error.ts";
import { EXIT } from "../program/exit-codes.ts";
import type { ServeFlags } from "./command.ts";
import { openFileLimit } from "./http/file-limit.ts";

/** Where a server listens. */
export interface Place {
  readonly host: string;
  readonly port: number;
  /** The names of its flags, for messages. */
  readonly flags: { readonly host: string; readonly port: string };
}

/** The flags of `signpost serve`, checked. */
export interface ServeSettings {
  readonly key: Place;
  readonly admin: Place;
  readonly maxConnections: number;
  readonly shutdownDelayMs: number;
  readonly shutdownTimeoutMs: number;
  readonly cors: boolean;
  readonly weakIfNoneMatch: "match" | "ignore";
}

/** Open files that the program needs besides the connections of the key set: its own, those of the adapters, the second port. */
const RESERVED_FILES = 400;
const MAX_CONNECTIONS = 16_000;
/** Where the limit of open files is unknown. */
const CAUTIOUS_CONNECTIONS = 1000;
const SECOND_MS = 1000;

export function readSettings(flags: ServeFlags): ServeSettings {
  const { host = "127.0.0.1", port = 8080, adminHost = "127.0.0.1", adminPort = 8081 } = flags;
  return {
    key: {
      host: address("--host", host),
      port: whole("--port", port, 0, 65_535),
      flags: { host: "--host", port: "--port" },
    },
    admin: {
      host: address("--admin-host", adminHost),
      port: whole("--admin-port", adminPort, 0, 65_535),
      flags: { host: "--admin-host", port: "--admin-port" },
    },
    maxConnections: connectionsOf(flags.maxConnections),
    shutdownDelayMs: seconds("--shutdown-delay", flags.shutdownDelay ?? 0),
    shutdownTimeoutMs: seconds("--shutdown-timeout", flags.shutdownTimeout ?? 10),
    cors: flags.cors === true,
    weakIfNoneMatch: flags.matchWeakEtags === true ? "match" : "ignore",
  };
}

/** Node takes an empty one for all addresses, but what gave it may be a variable that is not set. */
function address(flag: string, value: string): string {
  if (value.trim() !== "") return value;
  throw new CliError(EXIT.usage, "flags", `${flag}: expected an address, got an empty text`, {
    hint: `Leave out ${flag} for this machine only, or name 0.0.0.0 for all its addresses`,
  });
}

function connectionsOf(wanted: number | undefined): number {
  if (wanted !== undefined) return whole("--max-connections", wanted, 1, 1_000_000);
  const files = openFileLimit();
  if (files === undefined) return CAUTIOUS_CONNECTIONS;
  return Math.min(Math.max(files - RESERVED_FILES, Math.ceil(files / 4)), MAX_CONNECTIONS);
}

function seconds(flag: string, value: number): number {
  if (value >= 0 && value <= 3600) return Math.round(value * SECOND_MS);
  throw outOfBounds(flag, "a number of seconds, 0 to 3600", value);
}

function whole(flag: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw outOfBounds(flag, `a whole number, ${min} to ${max}`, value);
}

function outOfBounds(flag: string, expected: string, value: number): CliError {
  return new CliError(EXIT.usage, "flags", `${flag}: expected ${expected}, got ${value}`);
}
