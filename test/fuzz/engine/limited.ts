import { Script } from "node:vm";
import { BrokenProperty } from "./target.ts";

/**
 * A parser needs microseconds for a short input and milliseconds for the longest one. One that is quadratic needs minutes for the
 * longest, so that even a machine with much other work tells the two apart.
 */
const LIMIT_MS = 20_000;

const CALL = Symbol.for("signpost.fuzz.call");
const script = new Script(`globalThis[Symbol.for("signpost.fuzz.call")]()`);

/** Calls a function, and ends it if it never returns. A promise that it returns is not waited for. */
export function limited<Value>(work: () => Value, limitMs: number = LIMIT_MS): Value {
  Reflect.set(globalThis, CALL, work);
  try {
    return script.runInThisContext({ timeout: limitMs }) as Value;
  } catch (error) {
    if (Reflect.get(Object(error), "code") !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    throw new BrokenProperty("the parser does not end");
  }
}
