import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort, startProcess } from "./process.ts";

// Builds and starts an application in the folder where Next.js is installed. Its packages are copies and no links, because
// Turbopack follows no link that leads out of that folder.

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

export interface NextApp {
  /** Adds or replaces a file, before the build. */
  write(path: string, text: string): Promise<void>;
  /** `next build`. */
  build(env?: NodeJS.ProcessEnv): Promise<void>;
  /** `next start`, or `node FILE` for a custom server. Both take the port from `PORT`. */
  start(options?: { readonly file?: string; readonly env?: NodeJS.ProcessEnv }): Promise<RunningNextApp>;
  remove(): Promise<void>;
}

export interface RunningNextApp {
  readonly port: number;
  output(): string;
  stop(): Promise<void>;
}

/** Copies the compiled code of an example. The backend "nextjs" must be provided. */
export async function createNextApp(example: string): Promise<NextApp> {
  const installed = process.env["SIGNPOST_NEXTJS"] ?? "";
  const apps = join(installed, "apps");
  await mkdir(apps, { recursive: true });
  const folder = await mkdtemp(join(apps, "app-"));
  const isCode = (path: string): boolean => !/\.(?:map|d\.ts|tsbuildinfo|next)$/.test(path);
  await cp(join(ROOT, "examples", example, "dist"), folder, { recursive: true, filter: isCode });
  for (const name of ["core", "local"]) {
    for (const part of ["dist", "package.json"]) {
      const target = join(folder, "node_modules/@signpost", name, part);
      await cp(join(ROOT, "packages", name, part), target, { recursive: true });
    }
  }
  const curves = await realpath(join(ROOT, "packages/local/node_modules/@noble/curves"));
  await cp(dirname(curves), join(folder, "node_modules/@noble"), { recursive: true, dereference: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));

  const next = join(installed, "node_modules/next/dist/bin/next");
  const environment = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "production" };
  return {
    write: async (path, text) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    build: async (more = {}) => {
      const env = { ...process.env, ...environment, ...more };
      await promisify(execFile)(process.execPath, [next, "build"], {
        cwd: folder,
        env,
        timeout: 120_000,
      });
    },
    start: async ({ file, env = {} } = {}) => {
      const port = await freePort();
      const args = file === undefined ? [next, "start"] : [join(folder, file)];
      const running = startProcess({
        command: process.execPath,
        args,
        cwd: folder,
        env: { ...environment, ...env, PORT: String(port) },
      });
      const answers = async (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${port}/`).then(
          async (response) => (await response.arrayBuffer()).byteLength >= 0,
          () => false,
        );
      await running.waitUntil("next start", answers);
      return { port, output: () => running.output(), stop: () => running.stop() };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
