import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertLoopbackOnly, cacheFolder, freePort, startProcess } from "./process.ts";

export interface Etcd extends AsyncDisposable {
  /** `http://127.0.0.1:port` */
  readonly endpoint: string;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Starts etcd with one empty member, on free loopback ports and in a private folder. It never waits for the disk. */
export async function startEtcd(): Promise<Etcd> {
  const directory = await mkdtemp(join(tmpdir(), "signpost-etcd-"));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${await freePort()}`;
  const child = startProcess({
    command: join(cacheFolder(), "etcd", "etcd"),
    args: [
      `--data-dir=${join(directory, "data")}`,
      `--listen-client-urls=${endpoint}`,
      `--advertise-client-urls=${endpoint}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
    ],
  });
  const stop = async (): Promise<void> => {
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  const isHealthy = (): Promise<boolean> =>
    fetch(`${endpoint}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  try {
    await child.waitUntil("is healthy", isHealthy);
    await assertLoopbackOnly(child.pid, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { endpoint, stop, [Symbol.asyncDispose]: stop };
}
