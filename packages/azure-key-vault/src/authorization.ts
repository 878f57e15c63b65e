import { SignerError } from "@signpost/core";
import { elapsedMs, readInstant, type Instant } from "@signpost/core/adapter";
import { covers, type Challenge } from "./challenge.ts";
import type { AskForToken } from "./credential.ts";
import { createTokenCache, PAUSE_MS, type TokenCache } from "./token-cache.ts";
import { scopeOf, type Vault } from "./vault.ts";

/** The tokens for one vault. Each promise rejects with `SignerError`, and ends with the signal. */
export interface Authorization {
  /** The token for a call. Undefined until a challenge has named the scope. */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** The vault has accepted this token. */
  accepted(token: string): void;
  /** Begins a call, which answers each kind of challenge once. */
  begin(): Answerer;
  /** A note for the operator while the credential fails. */
  trouble(): string | undefined;
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

/** The tokens for one target. */
interface Aim extends Target {
  readonly tokens: TokenCache;
  readonly since: Instant;
}

/** More than any vault names. */
const MAX_AIMS = 4;

/**
 * Gets tokens for a vault. The scope is the caller's, or that of the vault's cloud. For other hosts a challenge names it, and
 * then it must cover the host: a token goes nowhere else.
 *
 * Anything on the way to the vault can send a challenge. So one changes the target of later calls only after the credential
 * has given a token for the new target.
 */
export function createAuthorization(
  vault: Vault,
  given: string | undefined,
  ask: AskForToken,
  waitMs: number,
): Authorization {
  const fixed = given ?? scopeOf(vault);
  const aimAt = createAims(ask, waitMs);
  let current = fixed === undefined ? undefined : aimAt({ scope: fixed, tenantId: undefined });

  const targetOf = (challenge: Challenge | undefined): Target | undefined => {
    const scope = fixed ?? challenge?.scope ?? current?.scope;
    if (scope === undefined) return undefined;
    if (fixed === undefined && !covers(scope, vault.hostname)) throw strangeResource(vault);
    return { scope, tenantId: challenge?.tenantId ?? current?.tenantId };
  };
  /** The token of an aim, which is then that of later calls too. */
  const adopt = async (aim: Aim, token: Promise<string | undefined>): Promise<string | undefined> => {
    const another = await token;
    current = aim;
    return another;
  };
  return {
    token: async (signal) => current?.tokens.token(signal),
    accepted: (token) => current?.tokens.accepted(token),
    trouble: () => current?.tokens.trouble(),
    begin: () => {
      const answered = { start: false, refusal: false, claims: false };
      const isFirst = (kind: keyof typeof answered): boolean => {
        const first = !answered[kind];
        answered[kind] = true;
        return first;
      };
      return {
        answer: async (challenge, refused, signal) => {
          const target = targetOf(challenge);
          const claims = challenge?.claims;
          const kind = refused === undefined ? "start" : claims === undefined ? "refusal" : "claims";
          if (target === undefined || !isFirst(kind)) return undefined;
          const aim = aimAt(target, current);
          if (aim === undefined) return undefined;
          if (refused === undefined) return adopt(aim, aim.tokens.token(signal));
          if (aim === current || claims !== undefined) return adopt(aim, aim.tokens.another(refused, claims, signal));
          // A token for another tenant is new, unless the credential knows only one tenant.
          const token = await adopt(aim, aim.tokens.token(signal));
          return token === refused ? undefined : token;
        },
      };
    },
  };
}

/** Finds the aim for a target, or makes it. Undefined if new targets come too fast, so that each would cost a token. */
function createAims(ask: AskForToken, waitMs: number): (target: Target, inUse?: Aim) => Aim | undefined {
  const aims: Aim[] = [];
  return ({ scope, tenantId }, inUse) => {
    const known = aims.find((each) => each.scope === scope && each.tenantId === tenantId);
    if (known !== undefined) return known;
    const newest = aims.at(-1);
    if (aims.length >= MAX_AIMS) {
      if (newest !== undefined && elapsedMs(newest.since) < PAUSE_MS) return undefined;
      aims.splice(aims[0] === inUse ? 1 : 0, 1);
    }
    const aim = { scope, tenantId, tokens: createTokenCache(ask, { scope, tenantId }, waitMs), since: readInstant() };
    aims.push(aim);
    return aim;
  };
}

function strangeResource({ host }: Vault): SignerError {
  const text = "asks for a token of a resource that does not cover this host, so it gets none";
  return new SignerError("access_denied", `${host} ${text}: name the vault by its own host, or set scope`);
}
