import { SignerError } from "@signpost/core";
import type { Credentials } from "./credentials.ts";
import { createLeaseClock } from "./lease-clock.ts";
import type { Lease, TokenCalls } from "./token-calls.ts";

/** A token from the caller. It is renewed while it is renewable, and nothing replaces it. */
export function createGivenToken(token: string, calls: Pick<TokenCalls, "lookUp" | "renew">): Credentials {
  let pending: Promise<void> | undefined;
  let isKnown = false;
  let closed = false;

  const learn = ({ leaseMs, renewable, since }: Lease): void => {
    isKnown = true;
    if (!closed && renewable) clock.start(leaseMs, since);
    else clock.stop();
  };
  /** In the background: a call does not wait for it. */
  const run = (ask: () => Promise<Lease>): void => {
    pending ??= ask()
      .then(learn)
      .catch((error: unknown) => {
        // Not every token may look itself up or renew itself. Such a token is used until it ends.
        isKnown = !(error instanceof SignerError && error.transient);
        clock.postpone();
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
    if (!isKnown) run(() => calls.lookUp(token));
  };
  return {
    token: async () => {
      lookUpOnce();
      if (clock.isDue()) renew();
      return token;
    },
    another: async () => undefined,
    close: async () => {
      closed = true;
      clock.stop();
    },
  };
}
