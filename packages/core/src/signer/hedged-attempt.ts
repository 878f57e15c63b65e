import { nameSigner, type SignerError } from "../errors.ts";
import { attempt, type AttemptInput } from "./attempt.ts";
import { AttemptController } from "./attempt-controller.ts";
import type { Limiter, Signer } from "./contract.ts";
import type { Hedging } from "./hedging.ts";
import { attemptedPlace } from "./places.ts";
import { openRace, type Outcome, type Race } from "./race.ts";
import type { CallScope } from "./scope.ts";
import { freeSlot, giveBack } from "./slot.ts";

/** What a call records of its attempt and its hedge. */
export interface HedgedCall {
  readonly scope: CallScope;
  readonly attempts: number;
  /** Number of backend calls besides the attempts. A call has one hedge at most. */
  hedges: number;
  /** Whether the signature came from the hedge. */
  hedgeWon: boolean;
  lastError: SignerError | undefined;
}

/**
 * As `attempt`. If there is no answer in time, a second attempt may start while the first goes on: the hedge, with a
 * timeout and a slot for itself. If both fail, the error of the later one counts, and the call goes on as after one attempt.
 */
export async function hedgedAttempt(
  signer: Signer,
  input: AttemptInput,
  call: HedgedCall,
  hedging: Hedging,
  limiter: Limiter,
): Promise<Uint8Array> {
  const race = openRace(call.scope);
  const begin = (own: Pick<AttemptInput, "controller" | "settled">, won?: () => void): number => {
    const order = hedging.began();
    race.run((scope) => namedAttempt(signer, { ...input, ...own, scope }), outcomeFor(order, call, hedging, won));
    return order;
  };
  if (call.attempts === 1) hedging.called();
  const first = begin(input);
  if (call.hedges > 0) return race.result;
  const letGo = onceLate(first, race, hedging, limiter, (release) => {
    call.hedges += 1;
    hedging.sent();
    begin({ controller: new AttemptController(), settled: () => giveBack(release) }, () => {
      call.hedgeWon = true;
      hedging.won();
    });
  });
  try {
    return await race.result;
  } finally {
    letGo();
  }
}

/** With a failover, the two attempts may be at different places. */
async function namedAttempt(signer: Signer, input: AttemptInput): Promise<Uint8Array> {
  try {
    return await attempt(signer, input);
  } catch (error) {
    const place = attemptedPlace(input.controller.madeSignal);
    throw place === undefined ? error : nameSigner(error, place.uri);
  }
}

/** `won`: called if this attempt gives the call its signature. */
function outcomeFor(order: number, call: HedgedCall, hedging: Hedging, won?: () => void): Outcome {
  return {
    signed: () => {
      won?.();
      hedging.ended(order, true);
    },
    failed: (error) => {
      const { ending } = call.scope;
      if (ending === undefined) call.lastError = error;
      // An abort or close by the caller says nothing about the backend.
      hedging.ended(order, ending === undefined || ending.code === "timeout" ? false : undefined);
    },
    lost: () => hedging.ended(order, undefined),
  };
}

/** Calls `send` once the attempt is late and may have a hedge. Returns a function that stops waiting for that. */
function onceLate(
  order: number,
  race: Race,
  hedging: Hedging,
  limiter: Limiter,
  send: (release: () => void) => void,
): () => void {
  let leave: (() => void) | undefined;
  /** Ends the wait of a custom limiter. */
  let waiting: AbortController | undefined;
  const hedge = async (): Promise<void> => {
    while (!race.isOver) {
      // Another call's answer starts it. Awaiting that keeps the async context of this call.
      await new Promise<void>((resolve) => {
        leave = hedging.late({ order, hedge: resolve });
      });
      // The answer may be there meanwhile, and then nothing would end the wait.
      if (race.isOver) return hedging.refund();
      waiting = new AbortController();
      const release = await freeSlot(limiter, waiting.signal);
      if (release !== undefined && !race.isOver) return send(release);
      if (release !== undefined) giveBack(release);
      hedging.refund();
    }
  };
  let turn: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // After the event loop was busy, the answer may already be there. It is read before this.
    turn = setImmediate(() => void hedge());
  }, hedging.afterMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(turn);
    leave?.();
    waiting?.abort();
  };
}
