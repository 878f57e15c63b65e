import { generateKeyPairSync } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { ServerOptions } from "./endpoint-server.ts";

export interface RunningServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** One server in a separate thread. */
export async function startServer(options: Omit<ServerOptions, "folder">): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-bench-"));
  const workerData: ServerOptions = { ...options, folder };
  const worker = new Worker(new URL("./endpoint-server.js", import.meta.url), { workerData });
  const [port] = (await once(worker, "message")) as [number];
  const stop = async (): Promise<void> => {
    await worker.terminate();
    await rm(folder, { recursive: true, force: true });
  };
  return { port, stop };
}

export function newPrivateKeys(count: number): JsonWebKey[] {
  const one = (): JsonWebKey => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
  return Array.from({ length: count }, one);
}
