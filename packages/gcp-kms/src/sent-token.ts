import { memberOf, withinDeadline } from "@signpost/core/adapter";

// The access token is the only secret that is sent. A proxy may repeat it in its answer, in any form.

/** The last two access tokens of each client. While calls go on that were sent with one, the next one may arrive. */
const tokens = new WeakMap<object, readonly string[]>();

/** The tokens that may have been sent with the request that an error is about, by the error. */
const sent = new WeakMap<object, readonly string[]>();

/** Remembers the token in the headers that a client sends. */
export function rememberToken(client: object, headers: unknown): void {
  const token = tokenIn(headers);
  const [last] = tokens.get(client) ?? [];
  if (token === undefined || token === last) return;
  tokens.set(client, last === undefined ? [token] : [token, last]);
}

/** The scheme may be another one than Bearer, such as that of Google Distributed Cloud. */
function tokenIn(headers: unknown): string | undefined {
  return /^\S+ +(.+)$/.exec(authorizationIn(headers) ?? "")?.[1];
}

/** The authorization in the headers of a client. They may come from another realm, or be a plain object. */
export function authorizationIn(headers: unknown): string | undefined {
  const get = memberOf(headers, "get");
  const authorization =
    typeof get === "function" ? Reflect.apply(get, headers, ["authorization"]) : memberOf(headers, "Authorization");
  return typeof authorization === "string" ? authorization.trim() : undefined;
}

/** Remembers what must not be shown of the error of a call. Returns it. */
export async function withSentToken(error: unknown, client: object): Promise<unknown> {
  const known = tokens.get(client) ?? (await keptToken(client));
  if (typeof error === "object" && error !== null) sent.set(error, known);
  return error;
}

/** A token that the client keeps is there at once. Milliseconds. */
const KEPT_MS = 100;

/**
 * The token of a client of the caller over gRPC, which is not asked for it before a call. A client without credentials of the SDK sends
 * none, and would start a search for them.
 */
async function keptToken(client: object): Promise<readonly string[]> {
  const auth = memberOf(client, "auth");
  const ask = memberOf(auth, "getRequestHeaders");
  if (typeof ask !== "function" || !memberOf(auth, "cachedCredential")) return [];
  const find = async (): Promise<unknown> => Reflect.apply(ask, auth, []) as unknown;
  const token = tokenIn(await withinDeadline(find, { deadlineMs: KEPT_MS }).catch(() => undefined));
  return token === undefined ? [] : [token];
}

/** What must not be shown of an error. */
export function sentSecretsOf(error: unknown): readonly string[] {
  return (typeof error === "object" && error !== null ? sent.get(error) : undefined) ?? [];
}
