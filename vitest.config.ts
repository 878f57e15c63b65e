import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./test/longest-first.ts";

// Sources resolve through our own export condition, so that tests need no build. The condition "module" of Vite's
// defaults is left out: it names sources for bundlers, and Node cannot load those of the AWS SDK.
const conditions = ["@signpost/source", "node", "development|production"];

// The two tiers of scripts/lib/test-files.mjs. Tests of the fast one mostly wait for a limit to pass: three files at once keep
// two cores busy. A soak keeps one busy alone.
const folders = ["packages/*/test/**", "test/e2e/**", "test/fuzz/**", "examples/*/test/**"];
const soaks = folders.map((folder) => `${folder}/*.soak.*test.ts`);
const tests = folders.map((folder) => `${folder}/*.test.ts`);
// Files whose backends are not available.
const left = JSON.parse(process.env["SIGNPOST_EXCLUDE"] ?? "[]") as readonly string[];
const exclude = [...configDefaults.exclude, ...left];
const tier =
  process.env["SIGNPOST_TIER"] === "soak"
    ? { include: soaks, exclude, maxWorkers: 2 }
    : { include: tests, exclude: [...exclude, ...soaks], maxWorkers: 3 };

// What passes through the SDK of AWS must also pass without it. The whole lists of secrets run over HTTPS in either case.
const overHttps = {
  include: tier.include.filter((pattern) => pattern.startsWith("packages/")).map(inAwsKms),
  exclude: [...tier.exclude, "packages/aws-kms/test/https/**", "packages/aws-kms/test/secrets.soak.test.ts"],
};

function inAwsKms(pattern: string): string {
  return pattern.replace("packages/*/", "packages/aws-kms/");
}

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@signpost/source"] } },
  test: {
    globalSetup: ["test/build.ts"],
    setupFiles: ["test/generated-keys.ts"],
    pool: "forks",
    maxWorkers: tier.maxWorkers,
    // Of a file whose tests say that they may.
    maxConcurrency: 16,
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "signpost", include: tier.include, exclude: tier.exclude } },
      {
        extends: true,
        test: { name: "aws-kms over https", ...overHttps, setupFiles: ["packages/aws-kms/test/https/over-https.ts"] },
      },
    ],
  },
});
