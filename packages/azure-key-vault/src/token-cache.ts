import { SignerError } from "@signpost/core";
import { createTrouble, elapsedMs, readInstant, withinDeadline, type Instant } from "@signpost/core/adapter";
import type { AskForToken, GivenToken, TokenRequest } from "./credential.ts";

/**
 * The shortest time between two tokens because of refusals, after a credential has refused, and of tokens that end soon.
 * Without it, a vault that accepts no token would cause a request for a token for each signature, and so would a clock that
 * is wrong. Milliseconds.
 */
export const PAUSE_MS = 5000;

/** The tokens for one scope. Calls that need a new one share it, and each waits for it only until its own signal. */
export interface TokenCache {
  /** The token for a call. */
  token(signal: AbortSignal): Promise<string>;
  /** Another token after this one was refused. Undefined if there is none now. */
  another(refused: string, claims: string | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** The vault has accepted this token. If it is refused later, it was revoked, and is replaced at once. */
  accepted(token: string): void;
  /** A note for the operator while the credential fails. */
  trouble(): string | undefined;
}

interface Held extends GivenToken {
  readonly since: Instant;
}

/** `waitMs`: how long a call waits for the credential, which is less than an attempt, so that its error names the reason. */
export function createTokenCache(ask: AskForToken, target: Omit<TokenRequest, "claims">, waitMs: number): TokenCache {
  let held: Held | undefined;
  let refusal: { readonly error: SignerError; readonly at: Instant } | undefined;
  let replaced: { readonly claims: string | undefined; readonly at: Instant } | undefined;
  let renewedAt: Instant | undefined;
  const pending = new Map<string, Promise<Held>>();
  const trouble = createTrouble("the token cannot be replaced");

  const askNow = async (claims: string | undefined): Promise<Held> => {
    if (refusal !== undefined && elapsedMs(refusal.at) < PAUSE_MS) throw refusal.error;
    refusal = undefined;
    try {
      const since = readInstant();
      const fresh = { ...(await ask({ ...target, claims })), since };
      trouble.ended();
      // One that was asked for later, such as with claims, stays.
      if (held === undefined || held.since.monotonic <= since.monotonic) held = fresh;
      return fresh;
    } catch (error) {
      trouble.failed(error);
      if (error instanceof SignerError && !error.transient) refusal = { error, at: readInstant() };
      throw error;
    }
  };
  const askOnce = (claims: string | undefined): Promise<Held> => {
    // A credential may keep the token that lacks the claims, so those who need any token wait for the one with claims.
    const running = claims === undefined ? [...pending.values()].at(-1) : pending.get(claims);
    if (running !== undefined) return running;
    const name = claims ?? "";
    const started = askNow(claims).finally(() => pending.delete(name));
    pending.set(name, started);
    return started;
  };
  const wait = <Value>(asked: Promise<Value>, signal: AbortSignal): Promise<Value> =>
    withinDeadline(() => asked, {
      deadlineMs: waitMs,
      signal,
      message: `the credential has given no token within ${waitMs} ms`,
    });
  /** Asks while the last token is still good. A credential that fails or hangs then delays no call. */
  const renew = (): void => {
    if (renewedAt !== undefined && elapsedMs(renewedAt) < PAUSE_MS) return;
    renewedAt = readInstant();
    askOnce(undefined).catch(() => {});
  };

  return {
    token: async (signal) => {
      const current = held;
      if (current === undefined) return (await wait(askOnce(undefined), signal)).token;
      const age = elapsedMs(current.since);
      if (age >= PAUSE_MS && age >= current.lifeMs) return (await wait(askOnce(undefined), signal)).token;
      if (age >= PAUSE_MS && age >= current.renewAfterMs) renew();
      return current.token;
    },
    another: async (refused, claims, signal) => {
      if (held !== undefined) {
        if (held.token !== refused) return held.token;
        if (replaced !== undefined && replaced.claims === claims && elapsedMs(replaced.at) < PAUSE_MS) return undefined;
        held = undefined;
      }
      const asked = askOnce(claims).then(({ token }) => {
        // A credential that failed may be asked again at once.
        replaced = { claims, at: readInstant() };
        return token;
      });
      const token = await wait(asked, signal);
      return token === refused ? undefined : token;
    },
    accepted: (token) => {
      if (held?.token === token) replaced = undefined;
    },
    trouble: () => trouble.note(),
  };
}
