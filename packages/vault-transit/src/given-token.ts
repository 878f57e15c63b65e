import { SignerError } from "@signpost/core";
import { createTrouble, elapsedMs, readInstant, type Instant } from "@signpost/core/adapter";
import type { Credentials } from "./credentials.ts";
import { createLeaseClock } from "./lease-clock.ts";
import type { Lease, TokenCalls } from "./token-calls.ts";

/** How long after a failed look-up the next one is made. Milliseconds. */
const PAUSE_MS = 1000;

/** A token from the caller. It is renewed while it is renewable, and nothing replaces it. */
export function createGivenToken(token: string, calls: Pick<TokenCalls, "lookUp" | "renew">): Credentials {
  let pending: Promise<void> | undefined;
  let isKnown = false;
  let failedAt: Instant | undefined;
  let closed = false;
  const trouble = createTrouble("the token cannot be renewed");

  const learn = ({ leaseMs, renewable, since }: Lease): void => {
    isKnown = true;
    trouble.ended();
    // Nothing is left at the token's maximum. Another renewal would change nothing.
    if (!closed && renewable && leaseMs > 0) clock.start(leaseMs, since);
    else clock.stop();
  };
  /** In the background: a call does not wait for it. */
  const run = (ask: () => Promise<Lease>): void => {
    pending ??= ask()
      .then(learn)
      .catch((error: unknown) => {
        failedAt = readInstant();
        // A look-up that fails does not end the token.
        if (isKnown) trouble.failed(error);
        if (error instanceof SignerError && error.transient) return clock.postpone();
        // Not every token may look itself up or renew itself. Such a token is used until it ends.
        isKnown = true;
        clock.stop();
      })
      .finally(() => {
        pending = undefined;
      });
  };
  const renew = (): void => {
    if (!closed) run(() => calls.renew(token, undefined));
  };
  const clock = createLeaseClock(renew);
  const lookUpOnce = (): void => {
    if (isKnown || (failedAt !== undefined && elapsedMs(failedAt) < PAUSE_MS)) return;
    run(() => calls.lookUp(token));
  };
  return {
    token: async () => {
      lookUpOnce();
      if (clock.isDue()) renew();
      return token;
    },
    another: async () => undefined,
    trouble: () => trouble.note(),
    close: async () => {
      closed = true;
      clock.stop();
    },
  };
}
