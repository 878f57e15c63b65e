import type { SignerHealth } from "@signpost/core";
import { withinDeadline, type CallBounds, type OpeningPlan } from "@signpost/core/adapter";
import type { ApiRequest } from "./api.ts";
import type { Settings } from "./client.ts";
import { createCredentials, type Credentials, type WaitForToken } from "./credentials.ts";
import type { CallTarget } from "./errors.ts";
import type { HttpAnswer } from "./exchange.ts";
import { createRequester } from "./requester.ts";
import { createTokenCalls } from "./token-calls.ts";

/** Makes calls with a token, and can be closed. */
export interface Connection {
  /** Scheme, host and port. */
  readonly address: string;
  /** Namespace of the Transit engine. */
  readonly namespace: string | undefined;
  /** Notes for the operator, about what the environment decides and about the token. */
  notes(): readonly string[];
  /** `degraded` while the token cannot be renewed. */
  status(): SignerHealth["status"];
  /** Makes one attempt, and one more with another token if the first was refused. */
  call(target: CallTarget, request: ApiRequest, bounds: Pick<CallBounds, "signal">): Promise<HttpAnswer>;
  /** Revokes the token if the adapter has logged in, and closes the connections that it made. */
  close(): Promise<void>;
}

/** How much of an attempt a call waits for a token. The rest is enough to report that there is none. */
const TOKEN_SHARE = 0.9;

/** Opens connections to the server of these settings. Makes no call yet. */
export async function connect(settings: Settings, plan: OpeningPlan): Promise<Connection> {
  const requester = await createRequester(settings, plan);
  const { attemptTimeoutMs } = plan.bounds;
  const deadlineMs = Math.ceil(attemptTimeoutMs * TOKEN_SHARE);
  const message = `no token within ${deadlineMs} ms (auth.method ${settings.auth.method}, ${requester.address})`;
  const wait: WaitForToken = (token, signal) => withinDeadline(() => token, { deadlineMs, signal, message });
  const credentials = createCredentials(settings.auth, createTokenCalls(requester, attemptTimeoutMs), wait);
  return {
    address: requester.address,
    namespace: requester.namespace,
    notes: () => [...settings.notes, ...asList(credentials.trouble())],
    status: () => (credentials.trouble() === undefined ? "ready" : "degraded"),
    call: async (target, request, { signal }) => {
      const token = await credentials.token(signal);
      const answer = await requester.send(target, request, token, signal);
      if (answer.status !== 403) return answer;
      const another = await newToken(credentials, token, signal);
      return another === undefined ? answer : requester.send(target, request, another, signal);
    },
    close: async () => {
      await credentials.close();
      await requester.close();
    },
  };
}

function asList(note: string | undefined): readonly string[] {
  return note === undefined ? [] : [note];
}

/** The server answers 403 to a token that has ended, and to a token that may not do this. */
async function newToken(
  credentials: Credentials,
  refused: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const token = await credentials.another(refused, signal);
  signal.throwIfAborted();
  return token;
}
