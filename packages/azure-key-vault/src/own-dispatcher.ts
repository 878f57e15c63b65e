import { createFileConnector, createOwnAgent, type OpeningPlan, type OwnAgent } from "@signpost/core/adapter";
import type { AzureKeyVaultDispatcherLike } from "./api.ts";
import type { AzureKeyVaultTlsOptions } from "./client.ts";
import { isConnectionLoss } from "./error-table.ts";
import { maxBytesOf } from "./exchange.ts";
import { readCaFile } from "./tls-files.ts";
import { loadUndici } from "./undici.ts";

/** For calls that a limiter of the caller limits. */
const MAX_SOCKETS = 256;
/** For calls that nothing limits. Each connection begins with a handshake, and 64 carry ten times what a vault allows. */
const BARE_SOCKETS = 64;
const MIN_SOCKETS = 16;

/** A dispatcher that is closed with its signer. */
export type OwnDispatcher = AzureKeyVaultDispatcherLike & Pick<OwnAgent, "failed" | "close">;

/**
 * Makes an undici agent with connections that stay open. undici is loaded with the first one, because it takes longer to
 * load than the rest of this package and core together.
 *
 * @throws ConfigurationError for a file that cannot be read or used, or if undici does not load; SignerError `timeout`,
 * `aborted` for one that cannot be read in time.
 */
export async function createOwnDispatcher(tls: AzureKeyVaultTlsOptions, plan: OpeningPlan): Promise<OwnDispatcher> {
  const { Agent, buildConnector } = await loadUndici();
  const { caFile, serverName } = tls;
  // If no connection can be made, this leaves time for another attempt before the deadline.
  const timeout = Math.ceil(plan.bounds.attemptTimeoutMs / 2);
  const options = { timeout, ...(serverName !== undefined && { servername: serverName }) };
  const connect =
    caFile === undefined
      ? buildConnector(options)
      : await createFileConnector({
          read: () => readCaFile(caFile),
          build: (ca) => buildConnector({ ...options, ca }),
          opening: plan.bounds,
          timeout,
        });
  const connections = socketsFor(plan);
  const agent = createOwnAgent({
    open: (times) => new Agent({ ...times, connections, connect }),
    isConnectionLoss,
  });
  return { ...agent, request: (request) => agent.request(request, maxBytesOf(request.method)) };
}

function socketsFor({ policy }: OpeningPlan): number {
  if (policy === false) return BARE_SOCKETS;
  if (policy.limiter !== undefined) return MAX_SOCKETS;
  return Math.max(MIN_SOCKETS, policy.concurrency ?? 0);
}
