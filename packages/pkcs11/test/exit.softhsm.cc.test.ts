import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { outputOf, startProgram } from "./support/programs.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { until } from "./support/signing.ts";

/** Native calls of the programs take this long. Milliseconds. */
const NATIVE_CALL_MS = 600;
/**
 * The time that a busy machine needs to end a process at all, on top of the longest native call and two seconds.
 * Milliseconds.
 */
const SLACK_MS = 1_500;

const at = useShimmedToken();

describe("the end of a process", () => {
  test.each([
    ["process.exit() with signatures in flight", "exit", "thread"],
    ["no work left and the signer still open", "natural", "thread"],
    ["close()", "close", "thread"],
    ["process.exit() with signatures in flight", "exit", "process"],
    ["no work left and the signer still open", "natural", "process"],
    ["close()", "close", "process"],
  ])("%s closes every session and finalizes the module (%s, isolation: %s)", async (_name, ending, isolation) => {
    const child = startProgram("sign-and-end.mjs", JSON.stringify({ ...at.base, isolation }), ending);
    const output = await outputOf(child);
    expect({ output, code: child.exitCode, signal: child.signalCode }).toEqual({
      output: "signed\n",
      code: 0,
      signal: null,
    });
    await until(() => at.shim.calls("C_Finalize") === 1);
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
    expect(at.shim.counter("openSessions")).toBe(0);
  });

  test("does not come while a signature waits behind the key of a signer that was closed", async () => {
    await at.hsm.generateKey({ label: "k2", id: "02" });
    const child = startProgram("close-and-sign.mjs", JSON.stringify(at.base));
    expect(await outputOf(child)).toBe("signed\n");
    expect(child.exitCode).toBe(0);
  });

  test("with slow signatures in flight takes at most the longest native call and two seconds", async () => {
    const child = startProgram("sign-and-end.mjs", JSON.stringify(at.base), "exit");
    await once(child.stdout ?? child, "data");
    at.shim.delay("C_Sign", NATIVE_CALL_MS);
    const before = performance.now();
    await once(child, "close");
    expect(performance.now() - before).toBeLessThan(NATIVE_CALL_MS + 2_000 + SLACK_MS);
    expect(child.exitCode).toBe(0);
  });

  test("with a hung signature takes at most two seconds under isolation: process", async () => {
    at.shim.hang("C_Sign", 0);
    const child = startProgram("sign-and-end.mjs", JSON.stringify({ ...at.base, isolation: "process" }), "exit");
    await once(child.stdout ?? child, "data");
    at.shim.hang("C_Sign", 100);
    const before = performance.now();
    await once(child, "close");
    expect(performance.now() - before).toBeLessThan(2_000 + SLACK_MS);
    expect(child.exitCode).toBe(0);
  });
});
