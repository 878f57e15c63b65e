import { SignerError } from "@signpost/core";
import { endedError, memberOf, onCallEnd, type CallBounds } from "@signpost/core/adapter";
import type { GcpKmsCallOptions, GcpKmsClientLike } from "./api.ts";
import { credentialsError, lateError, requireToken } from "./credential-errors.ts";
import type { RequestRecord } from "./credential-requests.ts";
import type { CallSubject } from "./client-error.ts";
import { hasToken } from "./early-renewal.ts";
import { cancelledWith } from "./interceptor.ts";
import { requireSecureSources } from "./secure-sources.ts";
import { rememberToken } from "./sent-token.ts";
import { untilFilesAnswer } from "./source-files.ts";

/** Makes the options of a call for the transport of a client. */
export type CallOptionsOf = (bounds: CallBounds) => GcpKmsCallOptions;

/** A client whose credentials were found. */
export interface ReadyClient {
  readonly optionsOf: CallOptionsOf;
  /** Whether it has a connection now. True if it does not say so. */
  readonly isConnected: () => boolean;
  /**
   * As long as `initialize()` returns this promise, the client is ready without another search. Undefined if each call
   * needs one.
   */
  readonly lasting: Promise<unknown> | undefined;
}

/**
 * Finds credentials before a call is made. So no call is made without credentials, and the error says whether the
 * search failed or the service. Otherwise the client would fail in two ways that no caller can catch, and each ends the
 * process:
 *
 * - It starts `initialize()` inside each call, and rethrows its failure where no caller can catch it.
 * - Over REST it asks for the token inside the call. If the call ends in that time, by its signal or its timeout,
 *   node-fetch 3 destroys a request body that has no listener yet.
 *
 * `asks` says whether to ask for a token over gRPC too. The caller's client may use other credentials there than its
 * `auth`, and any endpoint.
 */
export async function makeReady(
  client: GcpKmsClientLike,
  asks: "rest" | "always",
  initialized: Promise<unknown> = client.initialize(),
): Promise<ReadyClient> {
  const stub = await initialized;
  const isRest = isRestStub(stub);
  if (asks === "always") {
    requireSecureSources(client.auth);
    if (!hasToken(client.auth)) await untilFilesAnswer(client.auth);
  }
  // The client caches the token until it is about to expire.
  const asksForToken = isRest || asks === "always";
  if (asksForToken) {
    const headers = await client.auth?.getRequestHeaders();
    requireToken(headers);
    rememberToken(client, headers);
  }
  return {
    optionsOf: optionsFor(stub),
    isConnected: () => isConnected(stub),
    lasting: asksForToken ? undefined : initialized,
  };
}

/** The share of a call's time for credentials. The rest is for reporting that they took too long. */
const CREDENTIALS_SHARE = 0.9;

/** How long credentials may take in one call. Integer milliseconds, at least 1. */
export function credentialsTime({ timeoutMs }: CallBounds): number {
  return Math.max(1, Math.floor(timeoutMs * CREDENTIALS_SHARE));
}

/**
 * Waits until a client is ready, within the call's time. Always rejects with `SignerError`. Reads no signal: to make one takes
 * longer than everything else here, and most clients are ready at once.
 */
export function readyInTime<Ready>(
  preparing: Promise<Ready>,
  record: RequestRecord,
  bounds: CallBounds,
  subject: CallSubject,
): Promise<Ready> {
  const deadlineMs = credentialsTime(bounds);
  const message = `cannot ${subject.action} ${subject.name}: Google credentials did not arrive within ${deadlineMs} ms`;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      letGo();
      reject(lateError(record.last, subject, message) ?? new SignerError("timeout", message));
    }, deadlineMs);
    const letGo = onCallEnd(bounds, (reason) => {
      clearTimeout(timer);
      reject(endedError(reason));
    });
    const settled = (): void => {
      clearTimeout(timer);
      letGo();
    };
    preparing.then(
      (ready) => {
        settled();
        resolve(ready);
      },
      (error: unknown) => {
        settled();
        reject(credentialsError(error, subject));
      },
    );
  });
}

// A stub of grpc-js has a channel. The stub for REST is a plain object of functions.
function isRestStub(stub: unknown): boolean {
  return isObject(stub) && !("getChannel" in stub);
}

/** The state of a channel of grpc-js that has a connection. */
const READY = 2;

function isConnected(stub: unknown): boolean {
  const getChannel = memberOf(stub, "getChannel");
  const channel: unknown = typeof getChannel === "function" ? Reflect.apply(getChannel, stub, []) : undefined;
  const getState = memberOf(channel, "getConnectivityState");
  // It must not begin one.
  return typeof getState !== "function" || Reflect.apply(getState, channel, [false]) === READY;
}

/** Only a stub of grpc-js is known to call the interceptors. Another one may use the signal. */
function optionsFor(stub: unknown): CallOptionsOf {
  if (isRestStub(stub)) return restOptions;
  return isObject(stub) ? grpcOptions : signalOptions;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** The longest time of a timer. A longer one would fire immediately. Milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/** How much later the client's timeout ends a call that was not cancelled. Milliseconds. */
const GRPC_GRACE_MS = 100;

function grpcOptions(bounds: CallBounds): GcpKmsCallOptions {
  return {
    timeout: Math.min(bounds.timeoutMs + GRPC_GRACE_MS, MAX_TIMER_MS),
    retry: null,
    otherArgs: { options: { interceptors: [cancelledWith(bounds)] } },
  };
}

/** With the signal in place of an interceptor. */
function signalOptions({ timeoutMs, signal }: CallBounds): GcpKmsCallOptions {
  return { timeout: Math.min(timeoutMs + GRPC_GRACE_MS, MAX_TIMER_MS), retry: null, signal };
}

/** Time for the client to begin the call, even on a busy machine. The caller does not wait for it. Milliseconds. */
const REST_GRACE_MS = 10_000;

/** Over REST, only the client's timeout ends a call, some time after the signal, when the call has certainly begun. */
function restOptions({ timeoutMs }: CallBounds): GcpKmsCallOptions {
  return { timeout: Math.min(timeoutMs + REST_GRACE_MS, MAX_TIMER_MS), retry: null };
}
