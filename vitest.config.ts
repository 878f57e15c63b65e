import { defineConfig } from "vitest/config";

// Sources resolve through our own export condition, so that tests need no build. The condition "module" of Vite's
// defaults is left out: it names sources for bundlers, and Node cannot load those of the AWS SDK.
const conditions = ["@signpost/source", "node", "development|production"];

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@signpost/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/e2e/**/*.test.ts", "examples/*/test/**/*.test.ts"],
    globalSetup: ["test/build.ts"],
    setupFiles: ["test/generated-keys.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
