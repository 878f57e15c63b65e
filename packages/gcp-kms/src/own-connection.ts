import { elapsedMs, hasCallEnded, type CallBounds, type Instant, readInstant } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { startLife, type ClientLife, type ReadyLife, type Search } from "./client-life.ts";
import type { Connection } from "./connection.ts";
import type { CallSubject } from "./client-error.ts";
import { fileInTime, type UntilFileAnswers } from "./credential-file.ts";
import { dropRequests, type OpenRequests } from "./credential-requests.ts";
import { createEarlyRenewal } from "./early-renewal.ts";
import { isUnauthenticated } from "./errors.ts";
import { credentialsTime, readyInTime } from "./ready.ts";
import type { Sockets } from "./sockets.ts";

/** Makes clients, one after the other. */
export interface OwnClients {
  /** The connections of clients over REST. Over gRPC, each client has one. */
  readonly sockets?: Sockets | undefined;
  /** A client that searches for credentials is made only after this. Default: no wait. */
  readonly untilFileAnswers?: UntilFileAnswers | undefined;
  /** `auth` of the previous client keeps its credentials. Without it, the new client searches for credentials. */
  create(auth?: GcpKmsClientLike["auth"]): GcpKmsClientLike;
  /**
   * Makes the SDK forget that this process has no metadata server. It does nothing while the SDK is still searching, because
   * all clients will get the result of that search.
   */
  forgetAbsence(client: GcpKmsClientLike): void;
}

/** The longest wait for a search for credentials before another one begins. Milliseconds. */
const MAX_PATIENCE_MS = 60_000;

/** The longest silence of a channel from its first call on. Milliseconds. */
const MAX_SILENCE_MS = 30_000;

/** The shortest time between two searches while credentials stay refused. Milliseconds. */
const RENEWAL_PAUSE_MS = 5_000;

/**
 * Makes calls with clients that the adapter makes. There is one at a time. Another client replaces it after one of these:
 *
 * - A search for credentials failed. A client would keep that failure forever.
 * - A search took all the time of a call. A client would wait for its first search forever. If that search finishes late, its
 *   client is used again. While one search after another hangs, each gets twice the time of the one before, so that a
 *   slow source is not asked too often.
 * - Its channel went silent. The credentials are kept. While no channel gets an answer, each gets more time than the one
 *   before, so that a hanging service does not get too many connections.
 * - The service refused its credentials. A client keeps a token until the wall clock says that it has expired, even if that
 *   clock was set back. The refused call is made again with the new credentials.
 */
export function ownConnection({ create, forgetAbsence, sockets, untilFileAnswers }: OwnClients): Connection {
  let current: ClientLife | undefined;
  /** An abandoned search that may still finish. */
  let late: Promise<ReadyLife> | undefined;
  /** The clients of all abandoned searches that still run. Some have a channel. */
  const abandoned = new Set<ClientLife>();
  const open: OpenRequests = { pending: new Set(), dropped: false };
  let hangs = 0;
  /** How many channels in a row never got an answer. */
  let silences = 0;
  let isClosed = false;
  let renewedAt: Instant | undefined;
  const renewal = createEarlyRenewal();

  const start = (auth?: GcpKmsClientLike["auth"]): ClientLife =>
    (current = startLife(() => create(auth), onSilence, silence(silences), open));
  const leave = (life: ClientLife): void => {
    if (current === life) current = undefined;
    life.retire();
  };
  const replace = (life: ClientLife): ClientLife => {
    leave(life);
    return start(life.client.auth);
  };
  /** Makes a client as soon as that is possible, so that the next call need not wait for the whole search. */
  const begin = (): void => {
    const startIfNeeded = (): void => {
      if (!isClosed && current === undefined) start();
    };
    if (untilFileAnswers === undefined) start();
    // If no client can be made, the next call says why.
    else
      untilFileAnswers()
        .then(startIfNeeded)
        .catch(() => undefined);
  };
  function onSilence(life: ClientLife): void {
    if (current !== life || sockets !== undefined) return;
    silences = life.isHeard ? 0 : silences + 1;
    replace(life);
  }
  // Over REST, another client would not have other connections.
  const mayBeDead = (life: ClientLife): boolean => sockets === undefined && life.wasFrozen;
  /** Returns whether the call can try other credentials than those of this client. */
  const renew = (life: ClientLife): boolean => {
    if (isClosed) return false;
    if (current !== life) return true;
    if (!life.isAccepted && renewedAt !== undefined && elapsedMs(renewedAt) < RENEWAL_PAUSE_MS) return false;
    renewedAt = readInstant();
    silences = 0;
    leave(life);
    return true;
  };
  const giveUp = (life: ClientLife, search: Search): void => {
    if (current !== life) return;
    current = undefined;
    abandoned.add(life);
    hangs += 1;
    late = new Promise((resolve) => {
      search.ready.then(
        (ready) => {
          abandoned.delete(life);
          if (isClosed || current?.hasChannel === true) return leave(life);
          current?.retire();
          current = life;
          return resolve(ready);
        },
        () => {
          abandoned.delete(life);
          forgetAbsence(life.client);
          life.retire();
        },
      );
    });
  };
  const ready = async (bounds: CallBounds, subject: CallSubject): Promise<ReadyLife> => {
    if (current === undefined && untilFileAnswers !== undefined) await fileInTime(untilFileAnswers, bounds, subject);
    const life = current !== undefined && mayBeDead(current) ? replace(current) : (current ?? start());
    const search = life.search();
    try {
      const first = late === undefined ? search.ready : Promise.race([search.ready, late]);
      const found = await readyInTime(first, life.record, bounds, subject);
      hangs = 0;
      late = undefined;
      renewal.check(found.life.client.auth);
      return found;
    } catch (error) {
      if (search.state === "failed") {
        late = undefined;
        forgetAbsence(life.client);
        leave(life);
      } else if (search.state === "running" && elapsedMs(search.since) >= patience(bounds, hangs)) {
        giveUp(life, search);
      }
      throw error;
    }
  };

  const serving = async (bounds: CallBounds, subject: CallSubject): Promise<ReadyLife> => {
    for (;;) {
      const found = await ready(bounds, subject);
      if (hasCallEnded(bounds)) bounds.signal.throwIfAborted();
      // The client may have been replaced while this call waited, and may be closed. Then use the new one.
      if (!found.life.isRetired || isClosed) return found;
    }
  };

  begin();
  return {
    call: async (bounds, subject, call) => {
      const make = ({ life, optionsOf }: ReadyLife): ReturnType<typeof call> =>
        life.call(bounds, () => call(life.client, optionsOf(bounds)));
      const first = await serving(bounds, subject);
      try {
        return await make(first);
      } catch (error) {
        if (!isUnauthenticated(error) || bounds.signal.aborted || !renew(first.life)) throw error;
      }
      return make(await serving(bounds, subject));
    },
    trouble: () => renewal.trouble(),
    close: async () => {
      isClosed = true;
      renewal.close();
      dropRequests(open);
      const lives = current === undefined ? abandoned : [current, ...abandoned];
      await Promise.all([...lives].map((life) => life.close()));
      sockets?.close();
    },
  };
}

/** How long a search may take. One millisecond less, because timers may fire early. */
function patience(bounds: CallBounds, hangs: number): number {
  return Math.min(MAX_PATIENCE_MS, credentialsTime(bounds) * 2 ** Math.min(hangs, 16)) - 1;
}

/** How long a channel may be silent: 0 for the first, then 1 s, 3 s, 7 s, … */
function silence(silences: number): number {
  return Math.min(MAX_SILENCE_MS, 1000 * (2 ** Math.min(silences, 16) - 1));
}
