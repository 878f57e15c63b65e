import { beforeEach, expect, test, vi } from "vitest";
import type * as Package from "../src/keys/kubernetes-package.ts";
import { runKubernetes } from "../src/kubernetes/run.ts";
import { recordingContext } from "./support/recording-context.ts";

// What `signpost kubernetes` gives the program of @signpost/kubernetes, and what it makes of its end.

interface Given {
  readonly config: string;
  readonly check?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}
const fake = vi.hoisted(() => ({ code: 0, given: [] as Given[], folders: [] as string[] }));
vi.mock("../src/keys/kubernetes-package.ts", async (original) => ({
  ...(await original<typeof Package>()),
  loadKubernetes: async (cwd: string) => {
    fake.folders.push(cwd);
    return {
      runKubernetesSigner: async (given: Given) => {
        fake.given.push(given);
        given.log("a\u001B[31mb");
        return fake.code;
      },
    };
  },
}));
beforeEach(() => {
  fake.given.length = 0;
  fake.folders.length = 0;
});

test.each([
  [0, 0],
  [1, 3],
  [2, 2],
  [3, 3],
  [70, 3],
])("its code %i is the exit code %i", async (code, exitCode) => {
  fake.code = code;
  expect(await runKubernetes(recordingContext("/"), { config: "a.json" })).toBe(exitCode);
});

test.each([undefined, true])("it gets the file, the signal and whether to check: %s", async (check) => {
  const allowed: number[] = [];
  const recording = recordingContext("/work");
  const context = { ...recording, allowClosing: (ms: number) => void allowed.push(ms) };
  await runKubernetes(context, { config: "a.json", check });
  const [given] = fake.given;
  expect([given?.config, given?.check, given?.signal]).toEqual(["a.json", check, recording.signal]);
  // Ten seconds for its calls, and some for its keys.
  expect([fake.folders, allowed]).toEqual([["/work"], [15_000]]);
});

test("a line of its log cannot control a terminal", async () => {
  const context = recordingContext("/");
  await runKubernetes(context, { config: "a.json" });
  expect(context.printed()).toBe("a\\u001b[31mb\n");
});
