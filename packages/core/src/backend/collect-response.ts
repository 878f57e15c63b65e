import { endedError } from "../signer/endings.ts";
import { onAbort } from "../signer/on-abort.ts";

/** What `collectResponse` uses of an undici dispatcher. */
export interface DispatcherLike {
  /** Makes one request, and calls the handler. */
  dispatch(request: HttpRequest, handler: ResponseHandlerLike): unknown;
}

/** A request, in the words of undici. */
export interface HttpRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Method. */
  readonly method: "GET" | "POST";
  /** May contain a token. */
  readonly headers: Record<string, string>;
  /** Default: none. */
  readonly body?: string;
}

/** A response that was read to the end, or until it was too long. */
export interface CollectedResponse {
  /** Status code. */
  readonly statusCode: number;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** In order of arrival. */
  readonly body: readonly Uint8Array[];
}

/** Of a request in progress. */
export interface DispatchControllerLike {
  /** Ends the request. */
  abort(reason: Error): void;
}

/** What undici calls while it makes a request. */
export interface ResponseHandlerLike {
  /** The request is about to be sent. */
  onRequestStart(controller: DispatchControllerLike): void;
  /** Status and headers have arrived. */
  onResponseStart(controller: DispatchControllerLike, status: number, headers: CollectedResponse["headers"]): void;
  /** A part of the body has arrived. */
  onResponseData(controller: DispatchControllerLike, chunk: Uint8Array): void;
  /** The body is complete. */
  onResponseEnd(): void;
  /** There is no response, or no complete one. */
  onResponseError(controller: DispatchControllerLike, error: Error): void;
}

/**
 * Makes one request and reads its response to the end, or until it is longer than `maxBytes`. The same as undici's `request`,
 * without a stream and a listener for it, which take most of its processor time.
 *
 * Rejects with `aborted` or `timeout` when the signal aborts, and with the dispatcher's error if there is no response.
 * @example
 * ```ts
 * import { collectResponse, type DispatcherLike } from "@signpost/core/adapter";
 *
 * declare const agent: DispatcherLike; // new Agent(), of undici
 * const request = { origin: "https://kms.example", path: "/keys/op", method: "GET", headers: {} } as const;
 * const response = await collectResponse(agent, { ...request, signal: AbortSignal.timeout(2000) }, 65_536);
 * ```
 */
export function collectResponse(
  dispatcher: DispatcherLike,
  { signal, ...request }: HttpRequest & { readonly signal: AbortSignal },
  maxBytes: number,
): Promise<CollectedResponse> {
  return new Promise((resolve, reject) => {
    let controller: DispatchControllerLike | undefined;
    let statusCode = 0;
    let headers: CollectedResponse["headers"] = {};
    let length = 0;
    const chunks: Uint8Array[] = [];
    const end = (): void => {
      controller?.abort(endedError(signal.reason));
      reject(endedError(signal.reason));
    };
    if (signal.aborted) return end();
    const letGo = onAbort(signal, end);
    const settle = (): void => {
      letGo();
      resolve({ statusCode, headers, body: chunks });
    };
    dispatcher.dispatch(request, {
      onRequestStart: (started) => {
        controller = started;
        // It has waited for a connection, and the caller no longer waits for it.
        if (signal.aborted) started.abort(endedError(signal.reason));
      },
      onResponseStart: (_controller, status, received) => {
        statusCode = status;
        headers = received;
      },
      onResponseData: (current, chunk) => {
        length += chunk.length;
        chunks.push(chunk);
        if (length <= maxBytes) return;
        settle();
        current.abort(new Error("the response is too long"));
      },
      onResponseEnd: settle,
      onResponseError: (_controller, error) => {
        letGo();
        reject(error);
      },
    });
  });
}
