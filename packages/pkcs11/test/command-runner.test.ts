import { expect, test, vi } from "vitest";
import type { Binding } from "../src/cryptoki/binding.ts";
import { CKR_CRYPTOKI_NOT_INITIALIZED } from "../src/cryptoki/constants.ts";
import { createGate, type Gate, generation, startGeneration } from "../src/wire/gate.ts";
import { createCommandRunner, type CommandRunner } from "../src/worker/command-runner.ts";

// In which of the module's lives a command failed. The failure decides whether the module is initialized once more.

const loaded = vi.hoisted(() => ({ binding: {} as object }));
vi.mock("../src/cryptoki/binding.ts", async (original) => ({
  ...(await original<typeof import("../src/cryptoki/binding.ts")>()),
  loadModule: () => loaded.binding,
}));

const refuse = (): never => {
  throw Object.assign(new Error("CKR"), { code: CKR_CRYPTOKI_NOT_INITIALIZED });
};

/** A thread on a module whose other code has finalized it. `inside`: what else happens in the meantime. */
function threadOn(gate: Gate, inside: () => void): CommandRunner {
  const binding: Partial<Binding> = {
    C_GetInfo: () => {
      inside();
      return refuse();
    },
  };
  loaded.binding = binding;
  const run = createCommandRunner();
  run("load", { module: "/module.so" });
  run("useGate", { gate });
  return run;
}

const failure = (run: CommandRunner): unknown => {
  try {
    return run("tokens", null);
  } catch (error) {
    return error;
  }
};

test("a failure names the life in which it was", () => {
  const gate = createGate();
  startGeneration(gate);
  expect(failure(threadOn(gate, () => {}))).toMatchObject({ code: CKR_CRYPTOKI_NOT_INITIALIZED, generation: 1 });
});

test("a failure names the life in which its call began, even if the next one has begun since", () => {
  // A thread does not wait forever for calls that are inside a module that other code finalized.
  const gate = createGate();
  expect(failure(threadOn(gate, () => startGeneration(gate)))).toMatchObject({ generation: 0 });
  expect(generation(gate)).toBe(1);
});
