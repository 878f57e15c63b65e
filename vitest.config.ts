import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

// Sources resolve through our own export condition, so that tests need no build. The condition "module" of Vite's
// defaults is left out: it names sources for bundlers, and Node cannot load those of the AWS SDK.
const conditions = ["@signpost/source", "node", "development|production"];

// The two tiers of scripts/lib/test-files.mjs. Tests of the fast one mostly wait for a limit to pass: three files at once keep
// two cores busy. A soak keeps one busy alone.
const folders = ["packages/*/test/**", "test/e2e/**", "examples/*/test/**"];
const soaks = folders.map((folder) => `${folder}/*.soak.*test.ts`);
const tests = folders.map((folder) => `${folder}/*.test.ts`);
const tier =
  process.env["SIGNPOST_TIER"] === "soak"
    ? { include: soaks, maxWorkers: 2 }
    : { include: tests, exclude: [...configDefaults.exclude, ...soaks], maxWorkers: 3 };

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@signpost/source"] } },
  test: {
    ...tier,
    globalSetup: ["test/build.ts"],
    setupFiles: ["test/generated-keys.ts"],
    pool: "forks",
    // Of a file whose tests say that they may.
    maxConcurrency: 16,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
