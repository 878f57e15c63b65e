import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

// Sources resolve through our own export condition, so that tests need no build. The condition "module" of Vite's
// defaults is left out: it names sources for bundlers, and Node cannot load those of the AWS SDK.
const conditions = ["@signpost/source", "node", "development|production"];

// The two tiers of scripts/lib/test-files.mjs.
const SOAKS = "**/*.soak.*test.ts";
const folders = ["packages/*/test/**", "test/e2e/**", "examples/*/test/**"];
const tier =
  process.env["SIGNPOST_TIER"] === "soak"
    ? { include: folders.map((folder) => `${folder}/*.soak.*test.ts`) }
    : { include: folders.map((folder) => `${folder}/*.test.ts`), exclude: [...configDefaults.exclude, SOAKS] };

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@signpost/source"] } },
  test: {
    ...tier,
    globalSetup: ["test/build.ts"],
    setupFiles: ["test/generated-keys.ts"],
    pool: "forks",
    // Many tests wait for a limit to pass: three files at once keep two cores busy, and sixteen tests of a file that may.
    maxWorkers: 3,
    maxConcurrency: 16,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
