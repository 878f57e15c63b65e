import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { build as esbuild } from "esbuild";
import { build as rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { P256PublicJwk } from "@signpost/core";
import { startFakeGcpKms, type FakeGcpKms, type FakeKeyVersion } from "@signpost/test-backends/fake-gcp-kms";
import { loadingFailure } from "../src/sdk.ts";
import { newMessage, verifies } from "./support/signatures.ts";

const PROGRAM = fileURLToPath(new URL("support/bundled-program.ts", import.meta.url));
const run = promisify(execFile);

/** Where nothing is installed: what a bundle needs it must hold. */
let directory: string;
/** Where everything is. */
const installed = fileURLToPath(new URL("../node_modules/.cache/bundle-test", import.meta.url));
let fake: FakeGcpKms;
let version: FakeKeyVersion;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "signpost-gcp-bundle-"));
  await mkdir(installed, { recursive: true });
  fake = await startFakeGcpKms();
  version = fake.addVersion();
});
afterAll(async () => {
  await fake.stop();
  await Promise.all([directory, installed].map((each) => rm(each, { recursive: true })));
});

interface Result {
  readonly signature?: string;
  readonly publicKey?: P256PublicJwk;
  readonly error?: string;
  /** The same, of a second try. */
  readonly again?: string;
}

interface Bundle {
  readonly bundler: "esbuild" | "rolldown";
  readonly format: "esm" | "cjs";
  /** Left out of the bundle. */
  readonly external?: readonly string[];
  /** Written at the top of the bundle. */
  readonly banner?: string;
  /** Without chunks for what is loaded later. Default false. */
  readonly single?: boolean;
  /** With the names of functions and classes, or without. */
  readonly minified?: "with names" | "without names";
}

/** The file to run. */
async function bundle({
  bundler,
  format,
  external = [],
  banner = "",
  single = false,
  minified,
}: Bundle): Promise<string> {
  const root = external.length > 0 ? installed : directory;
  const folder = await mkdtemp(join(root, `${bundler}-${format}-`));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: format === "esm" ? "module" : "commonjs" }));
  if (bundler === "esbuild") {
    const names = { minify: minified !== undefined, keepNames: minified === "with names" };
    const options = { bundle: true, platform: "node", outfile: join(folder, "bundled-program.js"), ...names } as const;
    await esbuild({ ...options, entryPoints: [PROGRAM], format, external: [...external], banner: { js: banner } });
  } else {
    const output = { dir: folder, format, banner, codeSplitting: !single };
    await rolldown({ input: PROGRAM, platform: "node", external: [...external], output, logLevel: "silent" });
  }
  return join(folder, "bundled-program.js");
}

async function signIn(program: string, transport: "grpc" | "rest", digest: Uint8Array): Promise<Result> {
  const endpoint = `http://127.0.0.1:${transport === "grpc" ? fake.grpcPort : fake.restPort}`;
  const args = [program, version.name, endpoint, transport, Buffer.from(digest).toString("hex")];
  const { stdout } = await run(process.execPath, args);
  return JSON.parse(stdout) as Result;
}

// What CommonJS has and ES modules do not.
const BANNER = `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const __filename = import.meta.filename;
const __dirname = import.meta.dirname;`;

describe("a bundle signs", () => {
  test.each<[string, Bundle]>([
    ["CommonJS of esbuild", { bundler: "esbuild", format: "cjs" }],
    ["CommonJS of rolldown", { bundler: "rolldown", format: "cjs" }],
    ["ES modules of esbuild, without the SDK", { bundler: "esbuild", format: "esm", external: ["@google-cloud/kms"] }],
    [
      "ES modules of rolldown, without the SDK",
      { bundler: "rolldown", format: "esm", external: ["@google-cloud/kms"] },
    ],
    ["CommonJS of esbuild, minified with names", { bundler: "esbuild", format: "cjs", minified: "with names" }],
    ["ES modules of esbuild, with a banner", { bundler: "esbuild", format: "esm", banner: BANNER }],
  ])("as %s, over both transports", async (_what, options) => {
    const program = await bundle(options);
    for (const transport of ["grpc", "rest"] as const) {
      const message = newMessage();
      const { signature = "", publicKey, error } = await signIn(program, transport, message.digest);
      expect(error).toBeUndefined();
      expect(publicKey).toMatchObject(version.publicKey.export({ format: "jwk" }));
      const jwk = version.publicKey.export({ format: "jwk" }) as P256PublicJwk;
      expect(verifies(jwk, message, Buffer.from(signature, "hex"))).toBe(true);
    }
  });
});

describe("a bundle that cannot work says why", () => {
  test.each<[string, Bundle, string]>([
    ["ES modules of esbuild", { bundler: "esbuild", format: "esm" }, "Dynamic require of"],
    ["ES modules of rolldown", { bundler: "rolldown", format: "esm" }, "__dirname is not defined"],
    ["one ES module of rolldown", { bundler: "rolldown", format: "esm", single: true }, "__dirname is not defined"],
  ])("as %s, each time", async (_what, options, words) => {
    const { error, again } = await signIn(await bundle(options), "grpc", newMessage().digest);
    expect(error).toContain(`client: expected @google-cloud/kms to load, but it failed with "${words}`);
    for (const each of [error, again]) {
      expect(each).toContain("cannot run inside this bundle of ES modules; make it external, or bundle as CommonJS");
      expect(each).not.toContain("installed");
    }
  });

  test("when it is minified without names: over gRPC it works", async () => {
    const program = await bundle({ bundler: "esbuild", format: "cjs", minified: "without names" });
    expect(await signIn(program, "grpc", newMessage().digest)).toMatchObject({ signature: expect.any(String) });
    const { error } = await signIn(program, "rest", newMessage().digest);
    expect(error).toContain('transport: expected "grpc" in this bundle: it was minified without class names');
  });

  test.each([
    [
      "Cannot find package '@google-cloud/kms' imported from /app/index.js",
      "expected a client, or @google-cloud/kms to be installed",
    ],
    [
      "Cannot find module '@google-cloud/kms'\nRequire stack:\n- /app/index.js",
      "expected a client, or @google-cloud/kms to be installed",
    ],
    [
      "Cannot find package 'google-gax' imported from /app/node_modules/@google-cloud/kms/index.js",
      "expected @google-cloud/kms to load, but it failed with \"Cannot find package 'google-gax' imported from /app/node_modules/@google-cloud/kms/index.js\"",
    ],
  ])("for %s", (message, expected) => {
    expect(loadingFailure(new Error(message))).toBe(expected);
  });
});
