import { SignerError } from "@signpost/core";
import { incompleteAnswer, memberOf, readInstant, withinDeadline, type Instant } from "@signpost/core/adapter";
import type { ApiRequest } from "./api.ts";
import { isSecret } from "./auth.ts";
import { rowOfAnswer, type Row } from "./error-table.ts";
import { describeCall, errorOfAnswer, type CallTarget } from "./errors.ts";
import type { HttpAnswer } from "./exchange.ts";
import type { Requester } from "./requester.ts";

/** A token and the time that it is good for. */
export interface Lease {
  readonly token: string;
  /** From `since` on. Infinity for a token that never ends. Milliseconds. */
  readonly leaseMs: number;
  /** When it was asked for. */
  readonly since: Instant;
  readonly renewable: boolean;
}

/** The credentials of a login. */
export interface Login {
  /** Path of the login, without `/v1/`. */
  readonly path: string;
  readonly body: object;
  /** The texts in the body that must not be shown. */
  readonly secrets: readonly string[];
  readonly namespace: string | undefined;
}

/** The calls about tokens. Each makes one attempt, and rejects with `SignerError`. */
export interface TokenCalls {
  /** What a login at this path does, and where: `log in with auth/approle at https://vault.example:8200`. */
  describeLogin(path: string, namespace: string | undefined): string;
  logIn(login: Login): Promise<Lease>;
  renew(token: string, namespace: string | undefined): Promise<Lease>;
  /** The lease of a token that the caller gave. */
  lookUp(token: string): Promise<Lease>;
  /** Never rejects. The token may have ended already. */
  revoke(token: string, namespace: string | undefined): Promise<void>;
}

/** Less than the second after which closing counts as abandoned. Milliseconds. */
const REVOKE_MS = 900;

/** A login may take this long, even if an attempt to sign must not. A method asks other services. Milliseconds. */
const LEAST_TIMEOUT_MS = 2000;

/** The calls to one server. Each may take as long as an attempt to sign, and at least 2 s. */
export function createTokenCalls(requester: Requester, attemptTimeoutMs: number): TokenCalls {
  const timeoutMs = Math.max(attemptTimeoutMs, LEAST_TIMEOUT_MS);
  const targetOf = (action: string, { namespace = requester.namespace }: ApiRequest): CallTarget => ({
    action,
    address: requester.address,
    namespace,
  });
  const ask = async (action: string, request: ApiRequest, token: string | undefined): Promise<unknown> => {
    const target = targetOf(action, request);
    const message = `cannot ${describeCall(target)}: no answer within ${timeoutMs} ms`;
    const answer = await withinDeadline((signal) => requester.send(target, request, token, signal), {
      deadlineMs: timeoutMs,
      message,
    });
    if (answer.status >= 200 && answer.status < 300) return answer.json;
    const error = errorOfAnswer(answer, target, rowOfTokenAnswer(answer));
    // With the server's own message: the 400 of something in front of it says nothing about the credentials.
    if (answer.status === 400 && answer.errors.length > 0) refusedCredentials.add(error);
    throw error;
  };
  return {
    describeLogin: (path, namespace) => describeCall(targetOf(loginAt(path), { method: "POST", path, namespace })),
    logIn: async ({ path, ...login }) => {
      const since = readInstant();
      const action = loginAt(path);
      const request = { method: "POST", path, ...login } as const;
      const answer = await ask(action, request, undefined);
      return readAuthAnswer(describeCall(targetOf(action, request)), since, answer);
    },
    renew: async (token, namespace) => {
      const since = readInstant();
      const action = "renew the token";
      const request = { method: "POST", path: "auth/token/renew-self", body: {}, namespace } as const;
      const lease = readAuthAnswer(describeCall(targetOf(action, request)), since, await ask(action, request, token));
      // Less than a second is left: the token has reached its maximum.
      const leaseMs = Number.isFinite(lease.leaseMs) ? lease.leaseMs : 0;
      return { ...lease, token, leaseMs };
    },
    lookUp: async (token) => {
      const since = readInstant();
      const action = "look up the token";
      const request = { method: "GET", path: "auth/token/lookup-self" } as const;
      const data = memberOf(await ask(action, request, token), "data");
      return leaseOf(
        describeCall(targetOf(action, request)),
        token,
        since,
        memberOf(data, "ttl"),
        memberOf(data, "renewable"),
      );
    },
    revoke: async (token, namespace) => {
      const request = { method: "POST", path: "auth/token/revoke-self", body: {}, namespace } as const;
      const target = targetOf("revoke the token", request);
      const deadline = { deadlineMs: REVOKE_MS };
      await withinDeadline((signal) => requester.send(target, request, token, signal), deadline).catch(() => undefined);
    },
  };
}

/** How a server refuses, with a list of messages. */
const REFUSALS: ReadonlySet<number> = new Set([400, 401, 403]);

function loginAt(path: string): string {
  return `log in with ${path.slice(0, path.lastIndexOf("/"))}`;
}

/** The errors of logins that the server counts as wrong ones. */
const refusedCredentials = new WeakSet<object>();

/** Whether the method itself refused the credentials, and did not only deny permission. */
export function areCredentialsRefused(error: unknown): boolean {
  return typeof error === "object" && error !== null && refusedCredentials.has(error);
}

/** The methods answer wrong credentials with 400 or 403. So does the server if no method is mounted there, or with 404. */
function rowOfTokenAnswer(answer: HttpAnswer): Row {
  const { status, hasErrors } = answer;
  // The page of a firewall says nothing about a token, which would otherwise never be renewed again.
  if (!hasErrors && REFUSALS.has(status)) {
    return { code: "unavailable", text: `something other than the server refused: HTTP status ${status}` };
  }
  const row = rowOfAnswer(answer);
  switch (row.code) {
    case "invalid_argument":
      return { code: "access_denied", text: "the server refused the credentials" };
    case "access_denied":
      return { ...row, text: "the server refused the credentials, or nothing is mounted there" };
    case "key_not_found":
      return { code: "access_denied", text: answer.errors.length === 0 ? "there is no such login" : row.text };
    default:
      return row;
  }
}

function readAuthAnswer(call: string, since: Instant, answer: unknown): Lease {
  const auth = memberOf(answer, "auth");
  const token = memberOf(auth, "client_token");
  if ((token === undefined || token === "") && asksForMfa(auth)) {
    throw new SignerError("access_denied", `cannot ${call}: ${ASKS_FOR_MFA}`);
  }
  if (typeof token !== "string" || !isSecret(token)) throw incompleteAnswer(call, "client_token");
  return leaseOf(call, token, since, memberOf(auth, "lease_duration"), memberOf(auth, "renewable"));
}

function asksForMfa(auth: unknown): boolean {
  const requirement = memberOf(auth, "mfa_requirement");
  return typeof requirement === "object" && requirement !== null;
}

/** The answer has no token. One comes after a second request, with a code that a person reads. */
const ASKS_FOR_MFA =
  "the server asks for a second factor (MFA), which a service cannot give. Exempt the role from the login enforcement of MFA";

function leaseOf(call: string, token: string, since: Instant, seconds: unknown, renewable: unknown): Lease {
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 0) {
    throw incompleteAnswer(call, "lease_duration");
  }
  // 0 is a token that never ends: the root token's.
  const leaseMs = seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000;
  return { token, leaseMs, since, renewable: renewable === true };
}

/** The error for a token, a secret id or a JWT that cannot be used. It never shows it. */
export function unusableSecret(what: string): SignerError {
  return new SignerError("access_denied", `${what} is empty, or contains a character that is not allowed in a header`);
}
