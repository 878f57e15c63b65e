import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OwnKeys } from "@signpost/core";
import { start as express } from "../../../examples/express/src/server.ts";
import { start as fastify } from "../../../examples/fastify/src/server.ts";
import { start as hono } from "../../../examples/hono/src/server.ts";
import { start as koa } from "../../../examples/koa/src/server.ts";
import { start as nestjs } from "../../../examples/nestjs/src/server.ts";
import { start as nodeHttp } from "../../../examples/node-http/src/server.ts";

interface Settings {
  readonly issuer: string;
  readonly port: number;
  readonly keys: OwnKeys;
}

interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

export type Start = (settings: Settings) => Promise<RunningServer>;

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const OLDEST_HOSTS = join(ROOT, "test/oldest-hosts");

/** Every framework's example, with the newest release and with the oldest one in which it works unchanged. */
export const FRAMEWORKS: readonly (readonly [name: string, start: Start])[] = [
  ["node:http", nodeHttp],
  ["Express", express],
  ["Fastify", fastify],
  ["Hono", hono],
  ["Koa", koa],
  ["NestJS on Express", (settings) => nestjs({ ...settings, platform: "express" })],
  ["NestJS on Fastify", (settings) => nestjs({ ...settings, platform: "fastify" })],
  ...(await oldest("express", "express")),
  ...(await oldest("fastify", "fastify")),
  ...(await oldest("hono", "@hono/node-server")),
  ...(await oldest("koa", "koa")),
  ...(await oldest("nestjs", "@nestjs/core", { platform: "express" })),
  ...(await oldest("nestjs", "@nestjs/core", { platform: "fastify" })),
];

async function oldest(example: string, host: string, more: object = {}): Promise<[string, Start][]> {
  const { start } = await importWithOldestHosts<{ start: Start }>(example);
  const name = `${host} ${await versionOf(host)} (${Object.values({ example, ...more }).join(", ")})`;
  return [[name, (settings) => start({ ...settings, ...more })]];
}

/** A compiled example resolves its imports from where it is, so it is loaded from the folder of the oldest releases. */
export async function importWithOldestHosts<Module>(example: string): Promise<Module> {
  const folder = join(OLDEST_HOSTS, ".tmp", `${example}-${process.pid}`);
  const compiled = join(ROOT, "examples", example, "dist");
  await mkdir(folder, { recursive: true });
  try {
    for (const name of (await readdir(compiled)).filter((name) => name.endsWith(".js"))) {
      const code = await readFile(join(compiled, name), "utf8");
      // Its source map leads nowhere from there.
      await writeFile(join(folder, name), code.replace(/^\/\/# sourceMappingURL=.*$/m, ""));
    }
    return (await import(join(folder, "server.js"))) as Module;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** One of the oldest releases itself. */
export async function importOldestHost<Module>(specifier: string): Promise<Module> {
  const path = createRequire(join(OLDEST_HOSTS, "package.json")).resolve(specifier);
  return (await import(path)) as Module;
}

async function versionOf(host: string): Promise<string> {
  // Its manifest is not always exported.
  const [folder] = createRequire(join(OLDEST_HOSTS, "package.json")).resolve(host).split(`/node_modules/${host}/`);
  const manifest = await readFile(join(folder ?? "", "node_modules", host, "package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
