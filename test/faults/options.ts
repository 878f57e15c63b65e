import { parseArgs } from "node:util";
import { isKind, type Kind } from "./kinds.ts";

export interface Options {
  readonly backend: string;
  readonly seed: number;
  readonly tokens: number;
  /** Only these kinds, in this order. */
  readonly only: readonly Kind[] | undefined;
  /** Where the result is written. */
  readonly json: string | undefined;
}

/** Throws with a line for the user. */
export function readOptions(args: readonly string[], backends: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string", default: "1" },
      tokens: { type: "string", default: "1000" },
      only: { type: "string" },
      json: { type: "string" },
    },
  });
  const [backend = "", ...others] = positionals;
  if (!backends.includes(backend) || others.length > 0) {
    throw new Error(`expected one backend of ${backends.join(", ")}, got ${JSON.stringify(positionals.join(" "))}`);
  }
  const only = values.only?.split(",").map((name) => {
    if (!isKind(name)) throw new Error(`--only: there is no kind of fault ${JSON.stringify(name)}`);
    return name;
  });
  return {
    backend,
    seed: wholeNumber("--seed", values.seed, 0, 2 ** 32 - 1),
    tokens: wholeNumber("--tokens", values.tokens, 1, 10_000_000),
    only,
    json: values.json,
  };
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new Error(`${name}: expected a whole number from ${least} to ${most}, got ${JSON.stringify(text)}`);
}
