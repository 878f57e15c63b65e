import { SignerError } from "@signpost/core";
import { elapsedMs, readInstant, untilAborted, type Instant } from "@signpost/core/adapter";
import type { AskForToken, GivenToken, TokenRequest } from "./credential.ts";

/** A token is replaced this long before it ends. Milliseconds. */
const MARGIN_MS = 120_000;
/**
 * The shortest time between two tokens because of refusals, and after a credential has refused. Without it, a vault that
 * accepts no token would cause a request for a token for each signature. Milliseconds.
 */
const PAUSE_MS = 5000;

/** The tokens for one scope. Calls that need a new one share it, and each waits for it only until its own signal. */
export interface TokenCache {
  /** The token for a call. */
  token(signal: AbortSignal): Promise<string>;
  /** Another token after this one was refused. Undefined if there is none now. */
  another(refused: string, claims: string | undefined, signal: AbortSignal): Promise<string | undefined>;
}

interface Held extends GivenToken {
  readonly since: Instant;
}

export function createTokenCache(ask: AskForToken, target: Omit<TokenRequest, "claims">): TokenCache {
  let held: Held | undefined;
  let refusal: { readonly error: SignerError; readonly at: Instant } | undefined;
  let replaced: { readonly claims: string | undefined; readonly at: Instant } | undefined;
  const pending = new Map<string, Promise<Held>>();

  const askNow = async (claims: string | undefined): Promise<Held> => {
    if (refusal !== undefined && elapsedMs(refusal.at) < PAUSE_MS) throw refusal.error;
    refusal = undefined;
    try {
      const since = readInstant();
      held = { ...(await ask({ ...target, claims })), since };
      return held;
    } catch (error) {
      if (error instanceof SignerError && !error.transient) refusal = { error, at: readInstant() };
      throw error;
    }
  };
  const askOnce = (claims: string | undefined): Promise<Held> => {
    const name = claims ?? "";
    const running = pending.get(name);
    if (running !== undefined) return running;
    const started = askNow(claims).finally(() => pending.delete(name));
    pending.set(name, started);
    return started;
  };
  const leftMs = ({ lifeMs, since }: Held): number => lifeMs - elapsedMs(since);

  return {
    token: async (signal) => {
      const current = held;
      if (current !== undefined && leftMs(current) > MARGIN_MS) return current.token;
      try {
        return (await untilAborted(askOnce(undefined), signal)).token;
      } catch (error) {
        // The identity provider fails, but the last token is still good.
        if (current === undefined || signal.aborted || held !== current || leftMs(current) <= 0) throw error;
        return current.token;
      }
    },
    another: async (refused, claims, signal) => {
      if (held !== undefined) {
        if (held.token !== refused) return held.token;
        if (replaced !== undefined && replaced.claims === claims && elapsedMs(replaced.at) < PAUSE_MS) return undefined;
        replaced = { claims, at: readInstant() };
        held = undefined;
      }
      const { token } = await untilAborted(askOnce(claims), signal);
      return token === refused ? undefined : token;
    },
  };
}
