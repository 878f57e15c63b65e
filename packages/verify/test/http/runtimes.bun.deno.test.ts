import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

// What the address guard is worth on runtimes other than Node: they bring HTTP clients of their own.

const PROGRAM = fileURLToPath(new URL("../support/on-a-runtime.mjs", import.meta.url));

async function outcomesOn(command: string, ...args: string[]): Promise<unknown> {
  const { stdout } = await promisify(execFile)(command, [...args, PROGRAM]);
  return JSON.parse(stdout);
}

function programOf(variable: string): string {
  const program = process.env[variable];
  if (program === undefined) throw new Error(`${variable}: expected a path`);
  return program;
}

const both = (outcome: string) => Array.from({ length: 2 }, () => ({ outcome, connections: 0 }));
const guarded = ["publicAddressesOnly", "discovered", "dispatcher", "clients"];
const allGuarded = (outcome: string) => Object.fromEntries(guarded.map((name) => [name, both(outcome)]));
const verified = [expect.objectContaining({ outcome: "verified" }), expect.objectContaining({ outcome: "verified" })];

describe("the address guard", () => {
  it("works on this Node", async () => {
    expect(await outcomesOn(process.execPath)).toEqual({ unguarded: verified, ...allGuarded("address_refused") });
  });

  it("works on Deno", async () => {
    expect(await outcomesOn(programOf("SIGNPOST_DENO"), "run", "--allow-all")).toEqual({
      unguarded: verified,
      ...allGuarded("address_refused"),
    });
  });

  it("works in sets on Bun, and a dispatcher for a fetch of the caller is refused, because Bun's ignores it", async () => {
    expect(await outcomesOn(programOf("SIGNPOST_BUN"))).toEqual({
      unguarded: verified,
      ...allGuarded("address_refused"),
      dispatcher: both("guard_unavailable"),
    });
  });
});
