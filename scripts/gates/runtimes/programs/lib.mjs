// What the programs share. The gate copies this folder into a project in which the packed packages are installed.
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** What the gate tells a program. @type {any} */
export const settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));

/** `node`, `deno` or `bun`. */
export const runtime = "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";

/** Joined here, because the type checker cannot resolve the packed packages. @param {string} name @returns {Promise<any>} */
export function load(name) {
  return import(["@signpost", name].join("/"));
}

/** The same for a package of others. @param {string} name @returns {Promise<any>} */
export function loadHost(name) {
  return import([name].join());
}

/** A line of JSON for the gate. @param {object} message */
export function tell(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Longer than any check takes on a busy machine. Milliseconds. */
const CHECK_MS = 60_000;

/**
 * Runs one check, and prints a line of JSON for the gate.
 *
 * @param {string} name
 * @param {() => Promise<unknown> | void} run
 */
export async function check(name, run) {
  const over = new AbortController();
  const late = sleep(CHECK_MS, undefined, { signal: over.signal }).then(
    () => Promise.reject(new Error(`not over after ${CHECK_MS} ms`)),
    () => {},
  );
  try {
    await Promise.race([Promise.resolve().then(run), late]);
    tell({ name, ok: true });
  } catch (error) {
    const text = error instanceof Error ? `${error.stack}` : String(error);
    tell({ name, ok: false, text });
  } finally {
    over.abort();
  }
}

/** The last line. From here on the program must end by itself. */
export function done() {
  tell({ done: true });
}

/** The error of a call that must fail. @param {Promise<unknown>} call @returns {Promise<any>} */
export async function failureOf(call) {
  const result = await call.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if ("error" in result) return result.error;
  throw new Error(`succeeded with ${JSON.stringify(result.value)}`);
}

/** @param {readonly string[]} tokens */
export function handOver(tokens) {
  writeFileSync(settings.tokensFile, tokens.join("\n"));
}

/** Tokens that one rotation is made of. */
const CONCURRENCY = 16;

/**
 * Signs with `before`, and from the middle on with `after`, while calls are in flight.
 *
 * @param {(index: number) => Promise<string>} sign
 * @param {() => void} rotate
 * @param {number} count
 */
export async function signAcross(sign, rotate, count) {
  /** @type {string[]} */
  const tokens = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < count; index = next++) {
      if (index === count / 2) rotate();
      tokens[index] = await sign(index);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return tokens;
}

/** A key set of which the first of two signers signs, until `rotate`. @param {any} core @param {readonly any[]} signers */
export function rotating({ createKeySet }, [before, after]) {
  const sets = [
    createKeySet([{ signer: before }, { publicKey: after.publicKey }]),
    createKeySet([{ signer: after }, { publicKey: before.publicKey }]),
  ];
  let current = 0;
  return {
    keys: () => sets[current],
    rotate: () => {
      current = 1;
    },
  };
}

/** Claims that every verifier accepts. @param {string | number} sub */
export function claims(sub) {
  const iat = Math.floor(Date.now() / 1000);
  return { iss: "https://op.example", aud: "rp", sub: String(sub), iat, exp: iat + 300 };
}
