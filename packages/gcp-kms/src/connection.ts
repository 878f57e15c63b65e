import { hasCallEnded, type CallBounds } from "@signpost/core/adapter";
import type { GcpKmsCallOptions, GcpKmsClientLike } from "./api.ts";
import { createOwnClients, readConnectionOptions, type GcpKmsConnectionOptions, type Keepalive } from "./client.ts";
import type { CallSubject } from "./client-error.ts";
import { recordRequests, type RequestRecord } from "./credential-requests.ts";
import { projectOf } from "./key-name.ts";
import { ownConnection } from "./own-connection.ts";
import { makeReady, readyInTime, type ReadyClient } from "./ready.ts";
import { withLiveSockets } from "./sockets.ts";

/** One call of the client. */
export type ClientCall<Answer> = (client: GcpKmsClientLike, options: GcpKmsCallOptions) => Promise<Answer>;

/** Makes calls, and can be closed. */
export interface Connection {
  /** Makes a call as soon as there are credentials for it. Rejects with the client's error. */
  call<Answer>(bounds: CallBounds, subject: CallSubject, call: ClientCall<Answer>): Promise<Answer>;
  /** A note for the operator while the token cannot be renewed, although calls still work with it. */
  trouble(): string | undefined;
  /** Closes the client if the adapter made it. */
  close(): Promise<void>;
}

/** Uses the caller's client, or makes one for the project of a key or version. `keepalive` is for tests. */
export async function connect(
  options: GcpKmsConnectionOptions,
  name: string,
  keepalive?: Keepalive,
): Promise<Connection> {
  const own = readConnectionOptions(options);
  const { client } = options;
  if (client !== undefined) return callersConnection(client);
  const clients = await createOwnClients(own, projectOf(name), keepalive);
  const connection = ownConnection(clients);
  return clients.sockets === undefined ? connection : withLiveSockets(connection, clients.sockets);
}

function callersConnection(client: GcpKmsClientLike): Connection {
  let ready: ReadyClient | undefined;
  const prepare = (
    bounds: CallBounds,
    subject: CallSubject,
    initialized: Promise<unknown> | undefined,
  ): Promise<ReadyClient> => {
    const record: RequestRecord = { last: undefined };
    const preparing = recordRequests(record, () => makeReady(client, "rest", initialized));
    return readyInTime(preparing, record, bounds, subject);
  };
  return {
    call: async (bounds, subject, call) => {
      // After the first call over gRPC there is nothing to wait for.
      const initialized = ready?.lasting && client.initialize();
      if (ready === undefined || initialized === undefined || initialized !== ready.lasting) {
        ready = await prepare(bounds, subject, initialized);
      }
      if (hasCallEnded(bounds)) bounds.signal.throwIfAborted();
      return call(client, ready.optionsOf(bounds));
    },
    trouble: () => undefined,
    close: async () => {},
  };
}
