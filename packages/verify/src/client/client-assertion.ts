import { createHash } from "node:crypto";
import { VerifyError } from "@signpost/core";
import { assertOptions } from "@signpost/core/adapter";
import type { OptionNames } from "@signpost/core/adapter";
import { reasonOf } from "../causes.ts";
import { TokenError } from "../errors.ts";
import type { KeyFunction } from "../jwk/key-function.ts";
import { readRequestText, readTexts, requireFunction } from "../read-options.ts";
import type { ReplayStore } from "../replay/replay-store.ts";
import { requireReplayStore } from "../replay/replay-store.ts";
import {
  invalid,
  requireAcceptedAudiences,
  requireLifetime,
  requireNotExpired,
  requireSoleAudience,
  requireStarted,
  requireString,
  requireTime,
} from "../token/claims.ts";
import type { ClientJwsOptions } from "./client-jws-options.ts";
import { CLIENT_JWS_OPTIONS, readClientJwsOptions } from "./client-jws-options.ts";
import { parseClientJws, requireClientTyp, verifyClientSignature } from "./verify-client-jws.ts";

/** Options of `verifyClientAssertion`. */
export interface ClientAssertionOptions extends ClientJwsOptions {
  /**
   * Other values of `aud` to accept, such as the token endpoint's URL for older clients. A list is then accepted if every member is
   * the issuer or one of these, because openid-client 4 and 5 send both. An assertion for such a value may have been meant for another
   * OP with the same endpoint. Default none: `aud` must be only the issuer.
   */
  readonly otherAudiences?: readonly string[] | undefined;
  /** The request's `client_id`, if it has one. The assertion must be from this client. */
  readonly clientId?: string | undefined;
  /** Returns the key function for a client's registered keys, or `undefined`. Called once, after `iss` and `sub` named the client. */
  readonly keysOf: (clientId: string) => KeyFunction | undefined | Promise<KeyFunction | undefined>;
  /** Keeps used `jti`s. All replicas must share it. */
  readonly replayStore: ReplayStore;
}

const CLIENT_ASSERTION_OPTIONS: OptionNames<ClientAssertionOptions> = {
  ...CLIENT_JWS_OPTIONS,
  otherAudiences: true,
  clientId: true,
  keysOf: true,
  replayStore: true,
};

/** A verified assertion, which authenticates its client. */
export interface VerifiedClientAssertion {
  /** The client's id: `iss` and `sub`. */
  readonly clientId: string;
  /** All claims of the assertion. */
  readonly claims: Readonly<Record<string, unknown>>;
}

const DEFAULT_LIFETIME_SECONDS = 300;
const MAX_JTI_LENGTH = 1024;

/**
 * A `jti` is kept longer than its assertion is accepted. The clock of another replica may be behind, a clock may be set back, and a
 * store needs time to answer.
 */
const REPLAY_MARGIN_MS = 60_000;

/**
 * Client authentication by `private_key_jwt` (RFC 7523 section 3, OpenID Connect Core 1.0 section 9). `iss` and `sub` are the client,
 * `aud` is the issuer, the lifetime is short, and each `jti` is accepted once.
 *
 * Rejects with `TokenError`: every code except `invalid_issuer`; with `KeySetError` if no key of the client fits; with the error of
 * `keysOf`; and with `ConfigurationError` for an option that is missing, unknown or out of bounds.
 *
 * @example
 * ```ts
 * import { createClientKeySets, createMemoryReplayStore, verifyClientAssertion } from "@signpost/verify";
 *
 * const clients = new Map([["client-1", { jwksUri: "https://rp.example/jwks" }]]);
 * const keySets = createClientKeySets();
 * const replayStore = createMemoryReplayStore();
 *
 * export async function authenticate(clientAssertion: string) {
 *   const { clientId } = await verifyClientAssertion(clientAssertion, {
 *     issuer: "https://op.example",
 *     keysOf: (id) => {
 *       const client = clients.get(id);
 *       return client && keySets.keysOf(id, client);
 *     },
 *     replayStore,
 *   });
 *   return clientId;
 * }
 * ```
 */
export async function verifyClientAssertion(
  jwt: string,
  options: ClientAssertionOptions,
): Promise<VerifiedClientAssertion> {
  const rules = readOptions(options);
  const jws = parseClientJws(jwt, rules.algorithms);
  const { claims } = jws;
  // Other JWTs that a client signs must not authenticate it.
  requireClientTyp(jws, "client-authentication+jwt", rules);

  const clientId = requireString(claims, "sub");
  if (claims["iss"] !== clientId) throw mismatch("iss", "expected the same as sub");
  if (rules.clientId !== undefined && rules.clientId !== clientId)
    throw mismatch("sub", "expected the request's client_id");
  const keys = (await options.keysOf(clientId)) ?? undefined;
  if (keys === undefined) throw new TokenError("unknown_client", "the client has no registered keys");
  requireFunction("keysOf", keys, "a function that returns a key function or undefined");
  await verifyClientSignature(jwt, jws, keys);

  const time = rules.readTime();
  if (rules.otherAudiences.length === 0) requireSoleAudience(claims, rules.issuer);
  else requireAcceptedAudiences(claims, [rules.issuer, ...rules.otherAudiences]);
  const exp = requireTime(claims, "exp");
  requireNotExpired(exp, time);
  requireStarted(claims, time);
  requireLifetime(claims, exp, { maxSeconds: rules.maxLifetimeSeconds, starts: ["iat"] }, time);
  const jti = requireString(claims, "jti");
  if (jti.length > MAX_JTI_LENGTH) throw invalid("jti", `expected at most ${MAX_JTI_LENGTH} characters`);
  // Last, so a refused assertion does not use up its jti.
  const untilExpiryMs = (exp + time.endToleranceSeconds) * 1000 - time.nowMs;
  const id = replayId(rules.issuer, clientId, jti);
  await useOnce(() => rules.replayStore.claim(id, Math.ceil(untilExpiryMs + REPLAY_MARGIN_MS), { clientId }));
  return { clientId, claims };
}

function readOptions(options: ClientAssertionOptions) {
  assertOptions("options", options, CLIENT_ASSERTION_OPTIONS);
  const { otherAudiences = [] } = options;
  const common = readClientJwsOptions(options);
  requireFunction("keysOf", options.keysOf, "a function that returns the key function of a client");
  return {
    ...common,
    clientId: readRequestText("clientId", options.clientId),
    otherAudiences: readTexts("otherAudiences", otherAudiences),
    replayStore: requireReplayStore(options.replayStore),
    maxLifetimeSeconds: common.maxLifetimeSeconds ?? DEFAULT_LIFETIME_SECONDS,
  };
}

/** Always the same length, whatever the client wrote. Two clients may use the same `jti`. */
function replayId(issuer: string, clientId: string, jti: string): string {
  return createHash("sha256")
    .update(JSON.stringify([issuer, clientId, jti]))
    .digest("base64url");
}

async function useOnce(claim: () => Promise<boolean>): Promise<void> {
  let first: unknown;
  try {
    first = await claim();
  } catch (error) {
    const reason = error instanceof VerifyError ? error.message : reasonOf(error);
    const message = `the replay store could not check the jti${reason === undefined ? "" : `: ${reason}`}`;
    throw new TokenError("replay_store_unavailable", message, { cause: error });
  }
  if (first === false) throw new TokenError("replayed", "jti: this assertion was used before", { claim: "jti" });
  if (first !== true) throw new TokenError("replay_store_unavailable", "the replay store must return true or false");
}

function mismatch(claim: string, expected: string): TokenError {
  return new TokenError("client_mismatch", `${claim}: ${expected}`, { claim });
}
