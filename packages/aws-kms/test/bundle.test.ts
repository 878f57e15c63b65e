import { execFile } from "node:child_process";
import { createPublicKey, randomBytes, createHash, verify } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build as esbuild } from "esbuild";
import { build as rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeAwsKms, type FakeAwsKms, type FakeKmsKey } from "@signpost/test-backends/fake-aws-kms";
import { loadingFailure } from "../src/sdk.ts";

const PROGRAM = fileURLToPath(new URL("support/bundled-program.ts", import.meta.url));
const SDK = "@aws-sdk/client-kms";
const run = promisify(execFile);

/** Where nothing is installed: what a bundle needs it must hold. */
let empty: string;
/** Where everything is. One for each run: the same file runs over HTTPS at the same time. */
let installed: string;
let fake: FakeAwsKms;
let key: FakeKmsKey;

beforeAll(async () => {
  empty = await mkdtemp(join(tmpdir(), "signpost-aws-bundle-"));
  const cache = fileURLToPath(new URL("../node_modules/.cache", import.meta.url));
  await mkdir(cache, { recursive: true });
  installed = await mkdtemp(join(cache, "bundle-test-"));
  fake = await startFakeAwsKms();
  key = fake.addKey();
});
afterAll(async () => {
  await fake.stop();
  await Promise.all([empty, installed].map((folder) => rm(folder, { recursive: true })));
});

interface Bundle {
  readonly bundler: "esbuild" | "rolldown";
  readonly format: "esm" | "cjs";
  /** Which form of a package is put into the bundle. Default: the bundler's own choice. */
  readonly mainFields?: readonly string[];
  /** Left out of the bundle. */
  readonly external?: readonly string[];
}

interface Result {
  readonly signature?: string;
  readonly error?: string;
}

/** The file to run. It stands where the SDK is installed if the bundle may need it. */
async function bundle({ bundler, format, mainFields, external = [] }: Bundle, isInstalled: boolean): Promise<string> {
  const folder = await mkdtemp(join(isInstalled ? installed : empty, `${bundler}-${format}-`));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: format === "esm" ? "module" : "commonjs" }));
  const fields = mainFields === undefined ? {} : { mainFields: [...mainFields] };
  const outfile = join(folder, "bundled-program.js");
  if (bundler === "esbuild") {
    const options = { bundle: true, platform: "node", logLevel: "silent", ...fields } as const;
    await esbuild({ ...options, entryPoints: [PROGRAM], outfile, format, external: [...external] });
  } else {
    const options = { platform: "node", logLevel: "silent", resolve: fields } as const;
    await rolldown({ ...options, input: PROGRAM, output: { dir: folder, format }, external: [...external] });
  }
  return outfile;
}

async function signIn(program: string, digest: Uint8Array, transport?: "https"): Promise<Result> {
  const { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY } = fake.credentials;
  const env = { PATH: process.env["PATH"], AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY };
  const args = [program, key.arn, fake.endpoint, Buffer.from(digest).toString("hex"), transport ?? ""];
  const { stdout } = await run(process.execPath, args, { env });
  return JSON.parse(stdout) as Result;
}

const MODULES = ["module", "main"];

describe("a bundle signs", () => {
  test.each<[string, Bundle]>([
    ["ES modules of esbuild", { bundler: "esbuild", format: "esm", mainFields: MODULES }],
    ["CommonJS of esbuild", { bundler: "esbuild", format: "cjs", mainFields: MODULES }],
    ["CommonJS of esbuild, by its own choice", { bundler: "esbuild", format: "cjs" }],
    ["ES modules of rolldown", { bundler: "rolldown", format: "esm", mainFields: MODULES }],
    ["ES modules of rolldown, by its own choice", { bundler: "rolldown", format: "esm" }],
    ["CommonJS of rolldown", { bundler: "rolldown", format: "cjs", mainFields: MODULES }],
    ["ES modules of esbuild, without the SDK", { bundler: "esbuild", format: "esm", external: [SDK] }],
    ["CommonJS of rolldown, without the SDK", { bundler: "rolldown", format: "cjs", external: [SDK] }],
  ])("as %s", async (_what, options) => {
    const message = randomBytes(40);
    const program = await bundle(options, options.external !== undefined);
    expectSignature(message, await signIn(program, createHash("sha256").update(message).digest()));
  });

  test.each<[string, Bundle]>([
    ["ES modules of esbuild", { bundler: "esbuild", format: "esm", external: [SDK] }],
    ["CommonJS of rolldown", { bundler: "rolldown", format: "cjs", external: [SDK] }],
  ])(
    "over HTTPS where the SDK is not installed, with credentials in the environment, as %s",
    async (_what, options) => {
      const message = randomBytes(40);
      const program = await bundle(options, false);
      expectSignature(message, await signIn(program, createHash("sha256").update(message).digest(), "https"));
    },
  );
});

function expectSignature(message: Uint8Array, { signature = "", error }: Result): void {
  expect(error).toBeUndefined();
  const publicKey = createPublicKey({ key: { ...key.publicKey?.export({ format: "jwk" }) }, format: "jwk" });
  const verifier = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", message, verifier, Buffer.from(signature, "hex"))).toBe(true);
}

describe("a bundle that cannot work says why", () => {
  test.each<[string, Bundle, string]>([
    ["ES modules of esbuild, by its own choice", { bundler: "esbuild", format: "esm" }, "Dynamic require of"],
    ["CommonJS of rolldown, by its own choice", { bundler: "rolldown", format: "cjs" }, "is not a function"],
  ])("as %s", async (_what, options, words) => {
    const { error } = await signIn(await bundle(options, false), randomBytes(32));
    expect(error).toContain(`client: expected ${SDK} to load, but it failed with "`);
    expect(error).toContain(words);
    expect(error).toContain('bundle its ES modules (main fields "module,main"), or make it external');
    expect(error).not.toContain("installed");
  });

  test("where the SDK was left out and is not installed", async () => {
    const program = await bundle({ bundler: "esbuild", format: "esm", external: [SDK] }, false);
    const { error } = await signIn(program, randomBytes(32));
    expect(error).toBe(`ConfigurationError: client: expected the peer dependency ${SDK} to be installed`);
  });

  test.each([
    ["Cannot find module '@aws-sdk/client-kms'\nRequire stack:\n- /app/index.js", "to be installed"],
    [
      "Cannot find package '@smithy/core' imported from /app/index.js",
      "but it failed with \"Cannot find package '@smithy",
    ],
    ["__dirname is not defined in ES module scope", "or make it external"],
  ])("for %j", (message, expected) => {
    expect(loadingFailure(new Error(message))).toContain(expected);
  });
});
