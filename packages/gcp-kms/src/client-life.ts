import { isOutOfTime, onCallEnd, readInstant, wasFrozen, type CallBounds, type Instant } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { createConnecting } from "./connecting.ts";
import { keepRecording, recordRequests, type OpenRequests, type RequestRecord } from "./credential-requests.ts";
import { makeReady, type CallOptionsOf } from "./ready.ts";

/** A client whose credentials were found. */
export interface ReadyLife {
  readonly life: ClientLife;
  readonly optionsOf: CallOptionsOf;
}

/** A client's search for credentials, shared by all calls that wait for it. */
export interface Search {
  readonly ready: Promise<ReadyLife>;
  readonly since: Instant;
  readonly state: "running" | "ready" | "failed";
}

/** One client that the adapter made, until it is closed. */
export interface ClientLife {
  readonly client: GcpKmsClientLike;
  /** Its requests for credentials. The SDK may send them as soon as a client is made. */
  readonly record: RequestRecord;
  /** Whether it has been ready. It then holds a channel. */
  readonly hasChannel: boolean;
  /** Whether the service has answered a call with its credentials. */
  readonly isAccepted: boolean;
  /** Whether the service has answered, even with an error. */
  readonly isHeard: boolean;
  /** Whether the process was frozen since the service last answered, so that no ping could find a dead channel. */
  readonly wasFrozen: boolean;
  /** Whether another client replaced it, or the signer was closed. No call may begin then. */
  readonly isRetired: boolean;
  /** The running search, or a new one. */
  search(): Search;
  /** Makes a call, and notes whether the service answers. */
  call<Answer>(bounds: CallBounds, make: () => Promise<Answer>): Promise<Answer>;
  /** Allows no more calls. Closes the client when the last one has ended. */
  retire(): void;
  /** Closes the client, even during calls. */
  close(): Promise<void>;
}

/**
 * After so many unanswered calls in a row, a channel that has never answered is considered dead. One that has answered
 * before is considered dead after one.
 */
const MAX_UNANSWERED = 2;
/**
 * A call with less time than this says nothing about its channel. A guard around a bare signer gives an attempt more, and
 * the bare signer's own limit is longer. Milliseconds.
 */
const TELLING_MS = 200;

/**
 * Makes a client. `onSilence` is called when its channel is considered dead. A channel that has never answered may still be
 * connecting, and has `patienceMs` for that. grpc-js itself waits forever for a connection that was accepted and stays
 * silent.
 */
export function startLife(
  create: () => GcpKmsClientLike,
  onSilence: (life: ClientLife) => void,
  patienceMs: number,
  open?: OpenRequests,
): ClientLife {
  const record: RequestRecord = { last: undefined, open };
  const client = recordRequests(record, create);
  // The SDK may ask for credentials as soon as a client is made. The first search waits for the answers.
  const created = keepRecording();
  const connecting = createConnecting();
  let isConnected = (): boolean => false;
  let running: Search | undefined;
  let hasChannel = false;
  let accepted = false;
  let calls = 0;
  let retired = false;
  let closing: Promise<unknown> | undefined;
  let answeredAt: Instant | undefined;
  let unanswered = 0;
  let silentSince = 0;
  let countedAt = 0;

  const close = async (): Promise<void> => {
    retired = true;
    created();
    // Without a channel there is no connection, and closing would wait for the credentials.
    if (hasChannel) await (closing ??= nextTurn().then(() => client.close()));
    connecting.end();
  };
  // Waits for the last call, because a closed client refuses calls that are about to begin.
  const closeIfIdle = (): void => {
    if (retired && calls === 0) close().catch(() => undefined);
  };
  const heard = (): void => {
    answeredAt = readInstant();
  };
  const isDead = (startedAt: number, endedAt: number): boolean => {
    // Another call may have been answered shortly before the channel died.
    if (answeredAt !== undefined) return answeredAt.monotonic - startedAt < (endedAt - startedAt) / 2;
    // Calls at the same time see the same silence, so a call that began before the last one ended does not count.
    if (startedAt < countedAt) return false;
    if (unanswered === 0) silentSince = startedAt;
    countedAt = endedAt;
    unanswered += 1;
    return unanswered >= MAX_UNANSWERED && endedAt - silentSince >= patienceMs;
  };
  const find = async (): Promise<ReadyLife> => {
    const ready = await recordRequests(record, () => makeReady(client, "always"));
    hasChannel = true;
    ({ isConnected } = ready);
    return { life, optionsOf: ready.optionsOf };
  };
  const life: ClientLife = {
    client,
    record,
    get hasChannel() {
      return hasChannel;
    },
    get isAccepted() {
      return accepted;
    },
    get isHeard() {
      return answeredAt !== undefined;
    },
    get wasFrozen() {
      return answeredAt !== undefined && wasFrozen(answeredAt);
    },
    get isRetired() {
      return retired;
    },
    search: () =>
      (running ??= startSearch(find(), () => {
        running = undefined;
        created();
        closeIfIdle();
      })),
    call: async (bounds, make) => {
      const startedAt = performance.now();
      calls += 1;
      // The caller's next attempt may begin before the client has ended this one.
      const letGo = onCallEnd(bounds, () => {
        const endedAt = performance.now();
        if (!hadItsTime(bounds, endedAt - startedAt)) return;
        if (isDead(startedAt, endedAt) && !retired) onSilence(life);
      });
      try {
        const answer = await connecting.run(make, isConnected);
        connecting.made();
        heard();
        accepted = true;
        return answer;
      } catch (error) {
        connecting.failed();
        if (!bounds.signal.aborted) heard();
        throw error;
      } finally {
        letGo();
        calls -= 1;
        closeIfIdle();
      }
    },
    retire: () => {
      retired = true;
      closeIfIdle();
    },
    close,
  };
  return life;
}

/**
 * grpc-js resolves an IP address in the next turn, even for a channel that was closed meanwhile. The channel would then
 * connect, and nothing would close that connection.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function startSearch(ready: Promise<ReadyLife>, ended: () => void): Search {
  const search: { -readonly [Member in keyof Search]: Search[Member] } = {
    ready,
    since: readInstant(),
    state: "running",
  };
  // The caller that waited for it may have given up, so its rejection must be handled here.
  ready.then(
    () => {
      search.state = "ready";
      ended();
    },
    () => {
      search.state = "failed";
      ended();
    },
  );
  return search;
}

function hadItsTime({ signal, timeoutMs }: CallBounds, hadMs: number): boolean {
  return isOutOfTime(signal) && hadMs >= Math.min(timeoutMs / 2, TELLING_MS);
}
