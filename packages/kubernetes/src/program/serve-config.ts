import { loadConfig, type LoadedConfig } from "../config/load-config.ts";
import { createPublication } from "../signer/publication.ts";
import { type KubernetesSignerServer, serveKubernetesSigner } from "../service/serve.ts";
import type { KubernetesSigner } from "../signer-types.ts";
import { answerAdmin, readAdminPlace } from "./admin.ts";
import { openAudit } from "./audit.ts";
import { callReporter } from "./calls.ts";
import { failureOf } from "./failure.ts";
import { requireUnchanged } from "./fixed.ts";
import { gauges } from "./gauges.ts";
import { type HttpPort, openHttpPort } from "./http-port.ts";
import type { Log } from "./log.ts";
import { createCounters } from "./metrics.ts";
import { readPublicPlace } from "./public-port.ts";
import type { Reloads } from "./reloads.ts";
import { createKeys, createUse, type Use } from "./use.ts";

/** A call takes at most five seconds by default. */
const CLOSE_MS = 10_000;

/** What a configuration is served with. */
export interface Serving {
  /** Where it is loaded again from. */
  readonly path: string;
  readonly log: Log;
  readonly reloads: Reloads;
  /** Ends it. */
  readonly ending: AbortSignal;
}

/** Serves a configuration until the signal aborts. */
export async function serveConfig(first: LoadedConfig, { path, log, reloads, ending }: Serving): Promise<void> {
  const { config } = first;
  const keys = createKeys(log, ending);
  const counters = createCounters();
  const publication = createPublication();
  const audit = first.audit === undefined ? undefined : await openAudit(first.audit);
  const ports: HttpPort[] = [];
  let use: Use | undefined;
  let server: KubernetesSignerServer | undefined;

  const load = async (loaded: LoadedConfig): Promise<void> => {
    await keys.load(loaded, () => {
      use = createUse(loaded, keys, publication, log);
    });
    counters.load(true);
    log("info", "loaded", "the configuration is in use", { kid: keys.schedule.keySet().active.keyId });
  };
  const reload = async (): Promise<void> => {
    // Apart from the keys: with a full disk, a revoked key must still go.
    await audit?.reopen().catch((error: unknown) => {
      const { code, message } = failureOf(error);
      log("error", "audit_failed", `the audit file before stays in use: ${message}`, { code });
    });
    try {
      const loaded = await loadConfig(path);
      requireUnchanged(config, loaded.config, currentSigner().maxTokenLifetimeSeconds);
      await load(loaded);
    } catch (error) {
      counters.load(false);
      const { code, message } = failureOf(error);
      log("error", "load_failed", `the configuration before stays in use: ${message}`, { code });
    }
  };
  const currentSigner = (): KubernetesSigner => {
    if (use === undefined) throw new TypeError("no keys yet");
    return use.signer;
  };
  const notReady = (): string | undefined =>
    ending.aborted ? "stopping" : server === undefined ? "no keys yet" : undefined;
  const admin = {
    notReady,
    metrics: () => [
      ...counters.samples(),
      ...gauges(keys, { isLoaded: use !== undefined, isReady: notReady() === undefined }),
    ],
  };

  try {
    if (config.admin !== undefined) ports.push(await openHttpPort(readAdminPlace(config.admin), answerAdmin(admin)));
    await load(first);
    if (config.publicJwks !== undefined) {
      const place = readPublicPlace(config.publicJwks);
      ports.push(await openHttpPort(place, (...exchange) => answerPublic(use, ...exchange)));
    }
    server = await serveKubernetesSigner({
      signer: currentSigner,
      socket: config.socket,
      onCall: callReporter(counters, audit, log),
    });
    const origins = Object.fromEntries(ports.map(({ place, origin }) => [place, origin]));
    log("info", "ready", "kube-apiserver can connect", { socket: server.address, ...origins, pid: process.pid });
    reloads.start(reload);
    await aborted(ending);
    log("info", "stopping", "accepts no more connections, and finishes its calls");
    await server.close(CLOSE_MS);
    log("info", "stopped", "finished its calls");
  } finally {
    await reloads.end();
    await Promise.all(ports.map((port) => port.close()));
    await keys.close();
    await audit?.close();
  }
}

const answerPublic = (
  use: Use | undefined,
  ...[request, response]: Parameters<NonNullable<Use["endpoint"]>["listener"]>
): void => {
  const notFound = (): void => void response.writeHead(404, { "Content-Length": "0" }).end();
  if (use?.endpoint === undefined) notFound();
  else use.endpoint.middleware(request, response, notFound);
};

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
