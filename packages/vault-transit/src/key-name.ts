import { ConfigurationError } from "@signpost/core";
import { given, readWholeNumber } from "@signpost/core/adapter";

// A name is sent in a path, so it must contain no character that a path would need encoded, and no segment "." or "..".
const SEGMENT = /^\w(?:[\w.-]*\w)?$/;
/** The server's own rule for the name of a key. */
const KEY = SEGMENT;
const MAX_LENGTH = 256;

/** The highest version of a key. The server counts from 1. */
export const MAX_VERSION = 2_147_483_647;

/** Where a key is. */
export interface KeyName {
  /** Path of the Transit engine, without slashes at its ends: `transit`, `team/transit`. */
  readonly mount: string;
  readonly key: string;
}

/** Reads the name of a key. It is sent unchanged. */
export function parseKey(argument: string, key: unknown): string {
  if (typeof key === "string" && key.length <= MAX_LENGTH && KEY.test(key)) return key;
  throw new ConfigurationError(
    argument,
    `expected the name of a Transit key (letters, digits, "_", and inside also "-" and "."), got ${given(key)}`,
  );
}

/** Reads the path of a mount: one or more segments. */
export function parseMount(argument: string, mount: unknown): string {
  if (isPath(mount)) return mount;
  throw new ConfigurationError(
    argument,
    `expected the path of a mount, such as transit or team/transit, without a slash at its ends, got ${given(mount)}`,
  );
}

/** Reads a namespace. A slash at its end, as the server prints it, is left out. */
export function parseNamespace(argument: string, namespace: unknown): string {
  const path = typeof namespace === "string" ? namespace.replace(/\/$/, "") : namespace;
  if (isPath(path)) return path;
  throw new ConfigurationError(argument, `expected a namespace, such as team or org/team, got ${given(namespace)}`);
}

function isPath(path: unknown): path is string {
  return (
    typeof path === "string" && path.length <= MAX_LENGTH && path.split("/").every((segment) => SEGMENT.test(segment))
  );
}

/** Reads a version: a whole number from 1. */
export function parseVersion(argument: string, version: unknown): number {
  return readWholeNumber(argument, version, 1, MAX_VERSION);
}
