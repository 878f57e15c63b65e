import { createFileConnector, createOwnAgent, type OpeningPlan, type OwnAgent } from "@signpost/core/adapter";
import type { VaultTransitDispatcherLike } from "./api.ts";
import type { VaultTransitTlsOptions } from "./client.ts";
import { isConnectionLoss } from "./error-table.ts";
import { MAX_BODY_BYTES } from "./exchange.ts";
import { hasTlsFiles, readTlsFiles, requireUsable } from "./tls-files.ts";
import { loadUndici } from "./undici.ts";

/** For calls whose number this package does not limit: those of a bare signer, or with a shared limiter. */
const MAX_SOCKETS = 256;
const MIN_SOCKETS = 16;
/** For logins and renewals, so that these do not wait behind signatures. */
const SPARE_SOCKETS = 2;

/** A dispatcher that is closed with its signer. */
export type OwnDispatcher = VaultTransitDispatcherLike & Pick<OwnAgent, "failed" | "close">;

/**
 * Makes an undici agent with connections that stay open. undici is loaded with the first one, because it takes longer to
 * load than the rest of this package and core together.
 *
 * @throws ConfigurationError for a file that cannot be read or used, or if undici does not load; SignerError `timeout`,
 * `aborted` for one that cannot be read in time.
 */
export async function createOwnDispatcher(tls: VaultTransitTlsOptions, plan: OpeningPlan): Promise<OwnDispatcher> {
  const { Agent, buildConnector } = await loadUndici();
  // If no connection can be made, this leaves time for another attempt before the deadline.
  const timeout = Math.ceil(plan.bounds.attemptTimeoutMs / 2);
  const options = { timeout, ...(tls.serverName !== undefined && { servername: tls.serverName }) };
  const connect = hasTlsFiles(tls)
    ? await createFileConnector({
        read: () => readTlsFiles(tls),
        build: (material) => {
          requireUsable(material);
          return buildConnector({ ...options, ...material });
        },
        opening: plan.bounds,
        timeout,
      })
    : buildConnector(options);
  const connections = socketsFor(plan);
  const agent = createOwnAgent({
    open: (times) => new Agent({ ...times, connections, connect }),
    isConnectionLoss,
  });
  return { ...agent, request: (request) => agent.request(request, MAX_BODY_BYTES) };
}

function socketsFor({ policy }: OpeningPlan): number {
  if (policy === false || policy.limiter !== undefined) return MAX_SOCKETS;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0) + SPARE_SOCKETS;
}
