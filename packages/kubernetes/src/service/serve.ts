import { ServerCredentials } from "@grpc/grpc-js";
import { setTimeout as pause } from "node:timers/promises";
import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, type OptionNames, readCallback, readWholeNumber } from "@signpost/core/adapter";
import { createCallLimit } from "./call-limit.ts";
import { createService } from "./service.ts";
import type { CallReport } from "./events.ts";
import type { KubernetesSigner } from "../signer-types.ts";
import { createConnections } from "../socket/connections.ts";
import { listenAtPath } from "../socket/at-path.ts";
import { listenFromSystemd } from "../socket/from-systemd.ts";
import type { Listening } from "../socket/listening.ts";
import { readSocketOptions, type SocketOptions } from "../socket/socket-options.ts";

/** Options of `serveKubernetesSigner`. */
export interface ServeKubernetesSignerOptions {
  /** The signer, or a function that returns the current one. */
  readonly signer: KubernetesSigner | (() => KubernetesSigner);
  /** Where kube-apiserver connects to: its `--service-account-signing-endpoint`. */
  readonly socket: SocketOptions;
  /**
   * Called when a call has ended, and before its answer is sent: for an audit log and metrics. A token leaves only after this
   * resolves. If its key was revoked by then, it is signed again with the next key, and this is called again. Default: not called.
   */
  readonly onCall?: ((report: CallReport) => Promise<void> | void) | undefined;
  /** Calls in progress at a time, over all connections. More are answered with RESOURCE_EXHAUSTED. Default 2000; 1 to 100,000. */
  readonly maxCalls?: number | undefined;
}

/** A server that is open. */
export interface KubernetesSignerServer {
  /** The path of the socket. `fd:3` for one of systemd whose path is not known. */
  readonly address: string;
  /** Accepts no more connections, finishes the calls that have begun, within this time, and removes its socket. */
  close(withinMs?: number): Promise<void>;
}

const SERVE_OPTIONS: OptionNames<ServeKubernetesSignerOptions> = {
  signer: true,
  socket: true,
  onCall: true,
  maxCalls: true,
};
const DEFAULT_CALLS = 2000;
const MAX_CALLS = 100_000;
const DEFAULT_CLOSE_MS = 10_000;
const MAX_TIMER_MS = 2_147_483_647;
/** How long a client has to read its answer, and to close its connection. */
const LAST_WORDS_MS = 500;
/** kube-apiserver has one connection, and a second one for a moment while it reconnects. */
const MAX_CONNECTIONS = 64;

/**
 * Serves a signer to kube-apiserver over gRPC on a Unix socket: the services `v1.ExternalJWTSigner` and
 * `v1alpha1.ExternalJWTSigner` of KEP-740.
 *
 * @throws ConfigurationError for an invalid option, and for a socket that cannot be made or that others could use.
 * @example
 * ```ts
 * import { createKubernetesSigner, serveKubernetesSigner } from "@signpost/kubernetes";
 * import { openLocalSigner } from "@signpost/local";
 *
 * const signer = createKubernetesSigner({
 *   issuer: "https://kubernetes.default.svc",
 *   keys: [{ signer: await openLocalSigner() }],
 *   maxTokenLifetimeSeconds: 86_400,
 * });
 * const server = await serveKubernetesSigner({ signer, socket: { path: "/run/signpost/signer.sock" } });
 * process.once("SIGTERM", () => void server.close());
 * ```
 */
export async function serveKubernetesSigner(options: ServeKubernetesSignerOptions): Promise<KubernetesSignerServer> {
  assertOptions("options", options, SERVE_OPTIONS);
  const { signer, maxCalls = DEFAULT_CALLS } = options;
  const current = readSigner(signer);
  const report = readCallback("onCall", options.onCall) ?? ((): void => undefined);
  const socket = readSocketOptions(options.socket);
  const limit = createCallLimit(readWholeNumber("maxCalls", maxCalls, 1, MAX_CALLS));
  const service = createService({ signer: current, report, limit });
  const injector = service.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = createConnections((connection) => injector.injectConnection(connection));
  const listening: Listening =
    "systemd" in socket
      ? await listenFromSystemd(socket, connections.accept)
      : await listenAtPath(socket, connections.accept);
  listening.server.maxConnections = MAX_CONNECTIONS;

  const close = async (withinMs: number): Promise<void> => {
    // First, so that the next process can have the name.
    await listening.release();
    const closed = new Promise<void>((resolve) => listening.server.close(() => resolve()));
    const ended = new Promise<void>((resolve) => service.tryShutdown(() => resolve()));
    const timer = new AbortController();
    const bound = pause(withinMs, undefined, { signal: timer.signal }).catch(() => undefined);
    // A connection without calls need not end by itself: its client may be silent.
    const quiet = limit.idle().then(() => Promise.race([ended, pause(LAST_WORDS_MS)]));
    await Promise.race([quiet, bound]);
    timer.abort();
    service.forceShutdown();
    connections.destroy();
    await closed;
  };
  let closing: Promise<void> | undefined;
  return Object.freeze({
    address: listening.address,
    close: (withinMs: number = DEFAULT_CLOSE_MS) => {
      const bound = readWholeNumber("withinMs", withinMs, 0, MAX_TIMER_MS);
      closing ??= close(bound);
      return closing;
    },
  });
}

function readSigner(signer: ServeKubernetesSignerOptions["signer"]): () => KubernetesSigner {
  if (typeof signer === "function") return signer;
  if (typeof signer === "object" && typeof signer?.sign === "function") return () => signer;
  throw new ConfigurationError("signer", `expected a signer of createKubernetesSigner, got ${given(signer)}`);
}
