import { SignerError } from "@signpost/core";
import {
  closedError,
  createTrouble,
  elapsedMs,
  readInstant,
  untilAborted,
  withinDeadline,
  type Instant,
} from "@signpost/core/adapter";
import type { Credentials, WaitForToken } from "./credentials.ts";
import { createLeaseClock } from "./lease-clock.ts";
import type { TokenMaker } from "./logins.ts";
import type { Lease } from "./token-calls.ts";

/**
 * The shortest time between two logins because of refused tokens, and after a login that was refused. Without it, a path
 * that no policy allows would cause a login for every signature. Milliseconds.
 */
const LOGIN_PAUSE_MS = 5000;

/** How long closing waits for a login that is under way, to revoke its token. Milliseconds. */
const CLOSING_MS = 900;

/** A token in use. */
interface Held extends Lease {
  /** The lease that the login gave. A renewal that gives less has reached the token's maximum. Milliseconds. */
  readonly fullMs: number;
}

/**
 * Tokens from a login. A token is renewed at two thirds of its lease, or replaced by a new login if it cannot be renewed
 * any more. Calls that need a login share it, and each waits for it only until its own signal.
 */
export function createLeasedToken(maker: TokenMaker, wait: WaitForToken = untilAborted): Credentials {
  let held: Held | undefined;
  let loggingIn: Promise<Held> | undefined;
  let renewing: Promise<void> | undefined;
  let refusal: { readonly error: SignerError; readonly at: Instant } | undefined;
  let replacedAt: Instant | undefined;
  let closed = false;
  /** Closing no longer waits for a login. */
  let isLeft = false;
  const trouble = createTrouble("the token cannot be renewed");

  const hold = (lease: Lease, fullMs: number): Held => {
    held = { ...lease, fullMs };
    trouble.ended();
    if (!closed) clock.start(lease.leaseMs, lease.since);
    return held;
  };
  const logInNow = async (): Promise<Held> => {
    if (closed) throw closedError();
    if (refusal !== undefined && elapsedMs(refusal.at) < LOGIN_PAUSE_MS) throw refusal.error;
    refusal = undefined;
    try {
      const lease = await maker.make();
      if (isLeft) {
        void maker.revoke(lease.token);
        throw closedError();
      }
      return hold(lease, lease.leaseMs);
    } catch (error) {
      if (error instanceof SignerError && !error.transient) refusal = { error, at: readInstant() };
      throw error;
    }
  };
  const logIn = (): Promise<Held> => {
    loggingIn ??= logInNow().finally(() => {
      loggingIn = undefined;
    });
    return loggingIn;
  };
  const prolong = async ({ token, fullMs, leaseMs, renewable }: Held): Promise<void> => {
    if (maker.renew === undefined || !renewable || leaseMs < fullMs) {
      await logIn();
      return;
    }
    const lease = await maker.renew(token).catch((error: unknown) => {
      // It may have reached its maximum, or been revoked.
      if (error instanceof SignerError && !error.transient) return undefined;
      throw error;
    });
    if (held?.token !== token) return;
    if (lease === undefined) await logIn();
    else hold(lease, fullMs);
  };
  const renew = (): void => {
    if (closed || held === undefined || renewing !== undefined) return;
    renewing = prolong(held)
      .catch((error: unknown) => {
        trouble.failed(error);
        clock.postpone();
      })
      .finally(() => {
        renewing = undefined;
      });
  };
  const clock = createLeaseClock(renew);
  const replace = async (): Promise<Held> => {
    const old = held;
    held = undefined;
    const next = await logIn();
    if (old !== undefined) void maker.revoke(old.token);
    return next;
  };
  /** The token to use instead of a refused one. The same one if there was a login only just before. */
  const replacing = async (refused: string | undefined): Promise<Held> => {
    // A login that is under way or has failed was for this token, or for a later one.
    if (loggingIn !== undefined || held === undefined) return logIn();
    if (held.token !== refused) return held;
    if (replacedAt !== undefined && elapsedMs(replacedAt) < LOGIN_PAUSE_MS) return held;
    replacedAt = readInstant();
    return replace();
  };
  return {
    token: async (signal) => {
      if (closed) throw closedError();
      if (held === undefined || clock.isOver()) return (await wait(logIn(), signal)).token;
      if (clock.isDue()) renew();
      return held.token;
    },
    another: async (refused, signal) => {
      if (closed) return undefined;
      const { token } = await wait(replacing(refused), signal);
      return token === refused ? undefined : token;
    },
    trouble: () => trouble.note(),
    close: async () => {
      closed = true;
      clock.stop();
      const old = held?.token;
      const pending = Promise.allSettled([loggingIn, renewing]);
      await Promise.all([
        old === undefined ? undefined : maker.revoke(old),
        withinDeadline(() => pending, { deadlineMs: CLOSING_MS }).catch(() => undefined),
      ]);
      isLeft = true;
      if (held !== undefined && held.token !== old) await maker.revoke(held.token);
    },
  };
}
