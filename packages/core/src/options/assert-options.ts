import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { nearestName } from "./nearest-name.ts";
import { isPlainObject } from "./plain-object.ts";

/** Every option of `Options` by name. The compiler refuses a list with a missing or an extra name. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Refuses an options argument that is not an object, and a plain object with an option that is not in `names`. A
 * misspelled `deadlineMS` must not silently mean the default. An unknown option passes if its value is `undefined`. An
 * instance of a class passes too, since it can have members that are not options.
 *
 * Messages start with the option's name. If `argument` is not `options`, it comes first, as in `policy.deadlineMS`.
 *
 * @throws ConfigurationError that names the unknown option and the closest known one.
 * @example
 * ```ts
 * import { assertOptions, type OptionNames } from "@signpost/core/adapter";
 *
 * interface OpenOptions {
 *   readonly key: string;
 *   readonly region?: string;
 * }
 * const NAMES: OptionNames<OpenOptions> = { key: true, region: true };
 *
 * export function open(options: OpenOptions): void {
 *   assertOptions("options", options, NAMES);
 * }
 * ```
 */
export function assertOptions<Options extends object>(
  argument: string,
  value: unknown,
  names: OptionNames<Options>,
): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new ConfigurationError(argument, `expected an object, got ${given(value)}`);
  }
  if (!isPlainObject(value)) return;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(names, name) && value[name] !== undefined) throw unknownOption(argument, name, names);
  }
}

function unknownOption(argument: string, name: string, names: object): ConfigurationError {
  const known = Object.keys(names);
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `the options are ${known.join(", ")}` : `did you mean ${nearest}?`;
  const printed = /^[\w.$-]{1,64}$/.test(name) ? name : "an option";
  return new ConfigurationError(argument === "options" ? printed : `${argument}.${printed}`, `unknown option; ${hint}`);
}
