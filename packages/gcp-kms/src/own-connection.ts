import { elapsedMs, type CallBounds, type Instant, readInstant } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { startLife, type ClientLife, type ReadyLife, type Search } from "./client-life.ts";
import type { Connection } from "./connection.ts";
import type { CallSubject } from "./client-error.ts";
import { isUnauthenticated } from "./errors.ts";
import { credentialsTime, readyInTime } from "./ready.ts";

/** What makes clients of our own, one after the other. */
export interface OwnClients {
  /** `auth` is that of the client before it: its credentials are used again. Without it new ones are looked for. */
  create(auth?: GcpKmsClientLike["auth"]): GcpKmsClientLike;
  /**
   * Has the SDK forget, for the whole process, that there was no metadata server. Not while it looks for one: that has an
   * end, of which all clients learn.
   */
  forgetAbsence(client: GcpKmsClientLike): void;
}

/** The longest that a search for credentials is waited for before another one begins. Milliseconds. */
const MAX_PATIENCE_MS = 60_000;

/** The longest that a channel may be silent from its first call on. Milliseconds. */
const MAX_SILENCE_MS = 30_000;

/** Credentials that stay refused are looked for again at most so often. Milliseconds. */
const RENEWAL_PAUSE_MS = 5_000;

/**
 * Calls through clients of our own. There is one at a time, and another one takes its place
 *
 * - after a search for credentials failed: a client keeps that failure for good;
 * - after a search took all the time of a call: a client waits for its first search for good. If it comes late, it is used
 *   all the same. Each one in a row that hangs has twice the time of the one before, so that a source that is slow is not
 *   asked over and over;
 * - after its channel went silent: the credentials are kept. Each one in a row that is never heard has more time than the one
 *   before, so that a service that hangs is not connected to over and over;
 * - after the service refused its credentials: a client keeps a token until the wall clock says that it is over, also where that
 *   clock was set back. A refused call is made again with what is found then.
 */
export function ownConnection({ create, forgetAbsence }: OwnClients): Connection {
  let current: ClientLife | undefined;
  /** A search that was given up, as long as it may still come. */
  let late: Promise<ReadyLife> | undefined;
  let hangs = 0;
  /** Channels in a row that were never heard. */
  let silences = 0;
  let isClosed = false;
  let renewedAt: Instant | undefined;

  const start = (auth?: GcpKmsClientLike["auth"]): ClientLife =>
    (current = startLife(() => create(auth), onSilence, silence(silences)));
  const leave = (life: ClientLife): void => {
    if (current === life) current = undefined;
    life.retire();
  };
  function onSilence(life: ClientLife): void {
    if (current !== life) return;
    silences = life.isHeard ? 0 : silences + 1;
    leave(life);
    start(life.client.auth);
  }
  /** Whether there are other credentials than those of this client to try. */
  const renew = (life: ClientLife): boolean => {
    if (isClosed) return false;
    if (current !== life) return true;
    if (!life.isAccepted && renewedAt !== undefined && elapsedMs(renewedAt) < RENEWAL_PAUSE_MS) return false;
    renewedAt = readInstant();
    silences = 0;
    leave(life);
    start();
    return true;
  };
  const giveUp = (life: ClientLife, search: Search): void => {
    if (current !== life) return;
    current = undefined;
    hangs += 1;
    late = new Promise((resolve) => {
      search.ready.then(
        (ready) => {
          if (isClosed || current?.hasChannel === true) return leave(life);
          current?.retire();
          current = life;
          return resolve(ready);
        },
        () => {
          forgetAbsence(life.client);
          life.retire();
        },
      );
    });
  };
  const ready = async (bounds: CallBounds, subject: CallSubject): Promise<ReadyLife> => {
    const life = current ?? start();
    const search = life.search();
    try {
      const first = late === undefined ? search.ready : Promise.race([search.ready, late]);
      const found = await readyInTime(first, life.record, bounds, subject);
      hangs = 0;
      late = undefined;
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
      bounds.signal.throwIfAborted();
      // One that was left while this call waited for its credentials may be closed: the one that took its place serves.
      if (!found.life.isRetired || isClosed) return found;
    }
  };

  start();
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
    close: async () => {
      isClosed = true;
      await current?.close();
    },
  };
}

/** Timers may fire a millisecond early. */
function patience(bounds: CallBounds, hangs: number): number {
  return Math.min(MAX_PATIENCE_MS, credentialsTime(bounds) * 2 ** Math.min(hangs, 16)) - 1;
}

/** None for the first, and then 1 s, 3 s, 7 s, … */
function silence(silences: number): number {
  return Math.min(MAX_SILENCE_MS, 1000 * (2 ** Math.min(silences, 16) - 1));
}
