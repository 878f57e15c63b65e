import { endedError, onAbort, readInstant, type CallBounds, type Instant } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { recordRequests, type RequestRecord } from "./credential-requests.ts";
import { makeReady, type CallOptionsOf } from "./ready.ts";

/** A client whose credentials were found. */
export interface ReadyLife {
  readonly life: ClientLife;
  readonly optionsOf: CallOptionsOf;
}

/** A search of a client for credentials, shared by all calls that wait for it. */
export interface Search {
  readonly ready: Promise<ReadyLife>;
  readonly since: Instant;
  readonly state: "running" | "ready" | "failed";
}

/** One client of our own, from its making until it is closed. */
export interface ClientLife {
  readonly client: GcpKmsClientLike;
  /** What it asked for credentials. The SDK may begin with that when a client is made. */
  readonly record: RequestRecord;
  /** Whether it was ready once. It holds a channel then. */
  readonly hasChannel: boolean;
  /** Whether the service has answered a call with its credentials. */
  readonly isAccepted: boolean;
  /** Whether anything has come from the service, be it an error. */
  readonly isHeard: boolean;
  /** Whether another client took its place, or the signer was closed: no call may begin. */
  readonly isRetired: boolean;
  /** The search that runs, or another one. */
  search(): Search;
  /** Makes a call, and watches whether the service is heard. */
  call<Answer>(bounds: CallBounds, make: () => Promise<Answer>): Promise<Answer>;
  /** No call begins any more. Closes the client when the last one has ended. */
  retire(): void;
  /** Closes the client, whatever runs. */
  close(): Promise<void>;
}

/** A channel that leaves so many calls in a row unanswered is taken for dead. */
const MAX_UNANSWERED = 2;
/**
 * A call that had less time than this says nothing of its channel. Less than the attempt of a guard around a bare signer,
 * whose own bound is longer. Milliseconds.
 */
const TELLING_MS = 200;

/**
 * Makes a client. `onSilence` is called when its channel is taken for dead. One that was never heard may still be connecting,
 * and has `patienceMs` for that: grpc-js itself waits without end for a connection that was accepted and says nothing.
 */
export function startLife(
  create: () => GcpKmsClientLike,
  onSilence: (life: ClientLife) => void,
  patienceMs: number,
): ClientLife {
  const record: RequestRecord = { last: undefined };
  const client = recordRequests(record, create);
  let running: Search | undefined;
  let hasChannel = false;
  let accepted = false;
  let calls = 0;
  let retired = false;
  let closing: Promise<unknown> | undefined;
  let answeredAt: number | undefined;
  let unanswered = 0;
  let silentSince = 0;
  let countedAt = 0;

  const close = async (): Promise<void> => {
    retired = true;
    // One without a channel holds no connection, and would wait for its credentials.
    if (hasChannel) await (closing ??= client.close());
  };
  // Not before its last call has ended: a closed client refuses the calls that are about to begin.
  const closeIfIdle = (): void => {
    if (retired && calls === 0) close().catch(() => undefined);
  };
  const heard = (): void => {
    answeredAt = performance.now();
    unanswered = 0;
  };
  const notHeard = (startedAt: number, endedAt: number): void => {
    // Calls at the same time meet the same silence: one that began before the end of the last one tells nothing more.
    if ((answeredAt !== undefined && answeredAt > startedAt) || startedAt < countedAt) return;
    if (unanswered === 0) silentSince = startedAt;
    countedAt = endedAt;
    unanswered += 1;
    const mayBeDead = answeredAt !== undefined || endedAt - silentSince >= patienceMs;
    if (unanswered >= MAX_UNANSWERED && mayBeDead && !retired) onSilence(life);
  };
  const find = async (): Promise<ReadyLife> => {
    const optionsOf = await recordRequests(record, () => makeReady(client, "always"));
    hasChannel = true;
    return { life, optionsOf };
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
    get isRetired() {
      return retired;
    },
    search: () =>
      (running ??= startSearch(find(), () => {
        running = undefined;
        closeIfIdle();
      })),
    call: async (bounds, make) => {
      const startedAt = performance.now();
      calls += 1;
      // The caller's next attempt begins then, before the client has let go of this one.
      let endedAt = Number.POSITIVE_INFINITY;
      const letGo = onAbort(bounds.signal, () => (endedAt = performance.now()));
      try {
        const answer = await make();
        heard();
        accepted = true;
        return answer;
      } catch (error) {
        if (!bounds.signal.aborted) heard();
        else if (hadItsTime(bounds, endedAt - startedAt)) notHeard(startedAt, endedAt);
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

function startSearch(ready: Promise<ReadyLife>, ended: () => void): Search {
  const search: { -readonly [Member in keyof Search]: Search[Member] } = {
    ready,
    since: readInstant(),
    state: "running",
  };
  // The caller that waited for it may have left.
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
  if (endedError(signal.reason).code !== "timeout") return false;
  return hadMs >= Math.min(timeoutMs / 2, TELLING_MS);
}
