import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { isPlainObject } from "../options/plain-object.ts";

type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };
export type JsonObject = Record<string, JsonValue>;

const MAX_DEPTH = 64;

/**
 * Copies `value` as plain JSON data. Throws a `ConfigurationError` for a member that JSON would silently drop or change
 * (`undefined`, `NaN`, a `Date`, a `toJSON` method). The message contains the member's path, never its value.
 */
export function toJsonObject(argument: string, value: unknown): JsonObject {
  if (!isPlainObject(value)) {
    throw new ConfigurationError(argument, `expected a plain object, got ${given(value)}`);
  }
  return copyObject(argument, value, 1);
}

function copy(path: string, value: unknown, depth: number): JsonValue {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return value;
    throw new ConfigurationError(path, `expected a finite number, got ${given(value)}`);
  }
  if (depth > MAX_DEPTH) throw new ConfigurationError(path, `expected at most ${MAX_DEPTH} levels, and no cycle`);
  // Array.from turns the holes of a sparse array into undefined.
  if (Array.isArray(value))
    return Array.from(value, (item: unknown, index) => copy(`${path}[${index}]`, item, depth + 1));
  if (isPlainObject(value)) return copyObject(path, value, depth + 1);
  throw new ConfigurationError(path, `expected a JSON value, got ${nameOf(value)}`);
}

function copyObject(path: string, value: Record<string, unknown>, depth: number): JsonObject {
  const members: JsonObject = {};
  for (const name of Object.keys(value)) {
    const member = copy(`${path}.${name}`, value[name], depth);
    if (name === "__proto__") Object.defineProperty(members, name, { value: member, enumerable: true });
    else members[name] = member;
  }
  return members;
}

function nameOf(value: unknown): string {
  return typeof value === "object" ? "an instance of a class" : typeof value;
}
