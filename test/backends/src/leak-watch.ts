import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { createLeakFinder } from "./leak-finder.ts";
import type { MarkedSecret } from "./marked-secrets.ts";
import { shownTexts, type ShownText } from "./shown-texts.ts";

// Collects whatever a program shows while it fails, and searches it for marked secrets.

/** The channels of `node:diagnostics_channel` on which Signpost publishes. */
export const CHANNELS: readonly string[] = ["signpost:sign", "signpost:keyset"];

/** What a program showed. */
export interface LeakWatch extends Disposable {
  /** Adds a value that someone may log, such as an error. Returns it. */
  saw<Value>(value: Value, where: string): Value;
  /** Adds a text. */
  sawText(text: string, where: string): void;
  /** Adds what a call rejects with, or its result. Returns the error, or undefined. */
  sawCall(call: () => unknown, where: string): Promise<unknown>;
  /** The secrets that appeared since the last call, each with the form and the first place in a value: `the PIN (base64) in signing: …`. */
  leaks(): readonly string[];
  /** Adds what a call rejects with. Returns the error, or undefined. */
  sawFailure(call: () => unknown, where: string): Promise<unknown>;
  /** How many texts were searched. */
  readonly count: number;
  /** The `code`s of the errors that were seen, with those of their causes. */
  readonly codes: ReadonlySet<string>;
}

/** Watches the process: its warnings, its output, its console and its channels. And what a test adds. */
export function watchLeaks(secrets: readonly MarkedSecret[]): LeakWatch {
  const find = createLeakFinder(secrets);
  const leaks = new Map<string, string>();
  const codes = new Set<string>();
  let count = 0;
  const add = ({ where, text }: ShownText, value: string = where): void => {
    count += 1;
    for (const { secret, form } of find(text)) {
      const key = `${secret} in ${value}`;
      if (!leaks.has(key)) leaks.set(key, `${secret} (${form}) in ${where}`);
    }
  };
  const saw = <Value>(value: Value, where: string): Value => {
    for (const text of shownTexts(value, where)) add(text, where);
    for (const code of codesOf(value)) codes.add(code);
    return value;
  };
  const endings = [
    ...CHANNELS.map((name) => onChannel(name, (event) => saw(event, `an event of ${name}`))),
    onWarning((warning) => saw(warning, "a warning of the process")),
    ...[process.stdout, process.stderr].map((stream) =>
      replaceMethod(stream, "write", (chunk) => add({ where: "the output of the process", text: String(chunk) })),
    ),
    ...(["log", "info", "warn", "error", "debug", "trace"] as const).map((name) =>
      replaceMethod(console, name, (...values) => saw(values, `console.${name}`)),
    ),
  ];
  return {
    saw,
    sawText: (text, where) => add({ where, text }),
    sawCall: async (call, where) => {
      try {
        saw(await call(), `the result of ${where}`);
        return undefined;
      } catch (error) {
        return saw(error, where);
      }
    },
    sawFailure: async (call, where) => {
      try {
        await call();
        return undefined;
      } catch (error) {
        return saw(error, where);
      }
    },
    leaks: () => {
      const found = [...leaks.values()];
      leaks.clear();
      return found;
    },
    get count() {
      return count;
    },
    codes,
    [Symbol.dispose]: () => {
      for (const end of endings) end();
    },
  };
}

function onChannel(name: string, listener: (event: unknown) => void): () => void {
  subscribe(name, listener);
  return () => void unsubscribe(name, listener);
}

function onWarning(listener: (warning: Error) => void): () => void {
  process.on("warning", listener);
  return () => void process.off("warning", listener);
}

/** Calls `before` with the arguments of each call. */
function replaceMethod<Name extends PropertyKey>(
  object: { [N in Name]: unknown },
  name: Name,
  before: (...values: readonly unknown[]) => void,
): () => void {
  const original = object[name];
  if (typeof original !== "function") return () => undefined;
  object[name] = (...values: readonly unknown[]): unknown => {
    before(...values);
    return Reflect.apply(original, object, values) as unknown;
  };
  return () => {
    object[name] = original;
  };
}

function codesOf(value: unknown): readonly string[] {
  const found: string[] = [];
  for (let link = value, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth += 1) {
    const code: unknown = Reflect.get(link, "code");
    if (typeof code === "string") found.push(code);
  }
  return found;
}
