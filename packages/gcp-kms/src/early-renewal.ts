import { createTrouble, elapsedMs, memberOf, readInstant, withinDeadline, type Instant } from "@signpost/core/adapter";
import { credentialsError, requireToken } from "./credential-errors.ts";
import { dropRequests, recordRequests, type OpenRequests } from "./credential-requests.ts";
import { untilFilesAnswer } from "./source-files.ts";

/** Renews tokens while calls still use them. */
export interface EarlyRenewal {
  /** Begins to renew the token of a client, if it is time for that. `auth` is the client's, after it has given a token. */
  check(auth: unknown): void;
  /** A note for the operator while the token cannot be renewed. */
  trouble(): string | undefined;
  /** Ends a renewal that is under way. */
  close(): void;
}

/** The SDK's own renewal, for which every call waits, begins this long before the token ends. Milliseconds. */
const LAST_MS = 10_000;
/** The shortest time between two renewals. Milliseconds. */
const PAUSE_MS = 5_000;
/** How long one may take. Milliseconds. */
const RENEWAL_MS = 10_000;
/** Where the SDK keeps a token, depending on the kind of credentials. */
const KEPT_IN = ["credentials", "cachedAccessToken"] as const;
const NO_CALL = { action: "renew", name: "the token" };

/** A client of google-auth-library, which asks for tokens. */
interface AuthClient {
  /** How long before its end a token is renewed. Milliseconds. */
  eagerRefreshThresholdMillis: number;
  getRequestHeaders(): Promise<unknown>;
}

/**
 * The SDK renews a token five minutes before it ends, inside a call: that call and all others wait, and fail if the source of
 * credentials is down or hangs, although their token is still good. So this renews the token in the background at that time,
 * and the SDK does it in a call only at the end.
 *
 * `renewalMs`: for tests.
 */
export function createEarlyRenewal(renewalMs: number = RENEWAL_MS): EarlyRenewal {
  /** The SDK's setting, before it was changed here. */
  const thresholds = new WeakMap<AuthClient, number>();
  const trouble = createTrouble("the token cannot be replaced");
  const closing = new AbortController();
  let isRunning = false;
  let triedAt: Instant | undefined;

  const thresholdOf = (client: AuthClient): number => {
    const known = thresholds.get(client);
    if (known !== undefined) return known;
    const threshold = client.eagerRefreshThresholdMillis;
    thresholds.set(client, threshold);
    client.eagerRefreshThresholdMillis = Math.min(threshold, LAST_MS);
    return threshold;
  };
  const renew = async (auth: unknown, client: AuthClient, threshold: number): Promise<void> => {
    const open: OpenRequests = { pending: new Set(), dropped: false };
    const ask = async (): Promise<void> => {
      await untilFilesAnswer(auth);
      await recordRequests({ last: undefined, open }, () => askAt(threshold, client));
    };
    const deadline = { deadlineMs: renewalMs, signal: closing.signal, message: `no token within ${renewalMs} ms` };
    try {
      await withinDeadline(ask, deadline);
      trouble.ended();
    } catch (error) {
      trouble.failed(credentialsError(error, NO_CALL));
      // Calls that need a token later would wait for a request that hangs.
      dropRequests(open);
    }
  };

  return {
    check: (auth) => {
      const client: unknown = memberOf(auth, "cachedCredential");
      const endsAt = endOfToken(client);
      if (endsAt === undefined || !isAuthClient(client) || closing.signal.aborted) return;
      const threshold = thresholdOf(client);
      if (endsAt - Date.now() > threshold) return trouble.ended();
      if (isRunning || (triedAt !== undefined && elapsedMs(triedAt) < PAUSE_MS)) return;
      triedAt = readInstant();
      isRunning = true;
      void renew(auth, client, threshold).finally(() => {
        isRunning = false;
      });
    },
    trouble: () => trouble.note(),
    close: () => closing.abort(),
  };
}

/** Lets a client renew its token. An answer without a token leaves the one in use. */
async function askAt(threshold: number, client: AuthClient): Promise<void> {
  const kept = tokensOf(client);
  const headers = await asAt(threshold, client, () => client.getRequestHeaders());
  try {
    requireToken(headers);
  } catch (error) {
    // The SDK keeps what it takes for a token.
    for (const [name, token] of kept) Reflect.set(client, name, token);
    throw error;
  }
}

/** The SDK compares with its setting at once, so calls that come later do not wait for what `begin` has begun. */
function asAt<Answer>(threshold: number, client: AuthClient, begin: () => Answer): Answer {
  const usual = client.eagerRefreshThresholdMillis;
  client.eagerRefreshThresholdMillis = threshold;
  try {
    return begin();
  } finally {
    client.eagerRefreshThresholdMillis = usual;
  }
}

/** Copies of what a client keeps, since some clients change it in place. */
function tokensOf(client: AuthClient): readonly (readonly [name: string, token: object])[] {
  return KEPT_IN.flatMap((name) => {
    const token = memberOf(client, name);
    return typeof token === "object" && token !== null ? [[name, { ...token }] as const] : [];
  });
}

/** Whether a client has a token that it sends without asking for another one. */
export function hasToken(auth: unknown): boolean {
  const client: unknown = memberOf(auth, "cachedCredential");
  const endsAt = endOfToken(client);
  return endsAt !== undefined && isAuthClient(client) && endsAt - Date.now() > client.eagerRefreshThresholdMillis;
}

function isAuthClient(client: unknown): client is AuthClient {
  return (
    typeof memberOf(client, "eagerRefreshThresholdMillis") === "number" &&
    typeof memberOf(client, "getRequestHeaders") === "function"
  );
}

/** When the token in use ends. Milliseconds since 1970. Undefined if there is none, or it is made in this process. */
function endOfToken(client: unknown): number | undefined {
  for (const name of KEPT_IN) {
    const token = memberOf(client, name);
    const end = memberOf(token, "expiry_date");
    if (typeof memberOf(token, "access_token") === "string" && typeof end === "number") return end;
  }
  return undefined;
}
