import { SignerError } from "@signpost/core";
import { covers, type Challenge } from "./challenge.ts";
import type { AskForToken } from "./credential.ts";
import { createTokenCache, type TokenCache } from "./token-cache.ts";
import { scopeOf, type Vault } from "./vault.ts";

/** The tokens for one vault. Each promise rejects with `SignerError`, and ends with the signal. */
export interface Authorization {
  /** The token for a call. Undefined until a challenge has named the scope. */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** Begins a call, which answers each kind of challenge once. */
  begin(): Answerer;
}

/** Answers the challenges that one call meets. */
export interface Answerer {
  /** The token for another attempt after a 401. Undefined if there is none. */
  answer(
    challenge: Challenge | undefined,
    refused: string | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

interface Target {
  readonly scope: string;
  readonly tenantId: string | undefined;
}

/**
 * Gets tokens for a vault. The scope is the caller's, or that of the vault's cloud. For other hosts a challenge names it, and
 * then it must cover the host: a token goes nowhere else.
 */
export function createAuthorization(vault: Vault, given: string | undefined, ask: AskForToken): Authorization {
  const fixed = given ?? scopeOf(vault);
  let target: Target | undefined;
  let tokens: TokenCache | undefined;
  const aim = (next: Target): TokenCache => {
    if (tokens !== undefined && target?.scope === next.scope && target.tenantId === next.tenantId) return tokens;
    target = next;
    tokens = createTokenCache(ask, next);
    return tokens;
  };
  if (fixed !== undefined) aim({ scope: fixed, tenantId: undefined });

  const targetOf = (challenge: Challenge | undefined): Target | undefined => {
    const scope = fixed ?? challenge?.scope ?? target?.scope;
    if (scope === undefined) return undefined;
    if (fixed === undefined && !covers(scope, vault.hostname)) throw strangeResource(vault);
    return { scope, tenantId: challenge?.tenantId ?? target?.tenantId };
  };
  return {
    token: async (signal) => tokens?.token(signal),
    begin: () => {
      const answered = { start: false, refusal: false, claims: false };
      const isFirst = (kind: keyof typeof answered): boolean => {
        const first = !answered[kind];
        answered[kind] = true;
        return first;
      };
      return {
        answer: async (challenge, refused, signal) => {
          const next = targetOf(challenge);
          if (next === undefined) return undefined;
          if (refused === undefined) return isFirst("start") ? aim(next).token(signal) : undefined;
          const claims = challenge?.claims;
          if (!isFirst(claims === undefined ? "refusal" : "claims")) return undefined;
          const before = tokens;
          const now = aim(next);
          // A token for another tenant is new. One with claims is asked for in the tenant where the last one came from.
          return now === before || claims !== undefined ? now.another(refused, claims, signal) : now.token(signal);
        },
      };
    },
  };
}

function strangeResource({ host }: Vault): SignerError {
  const text = "asks for a token of a resource that does not cover this host, so it gets none";
  return new SignerError("access_denied", `${host} ${text}: name the vault by its own host, or set scope`);
}
