import { endedError, onAbort } from "@signpost/core/adapter";
import type { Dispatcher } from "undici";
import type { AzureKeyVaultHttpRequest, AzureKeyVaultHttpResponse } from "./api.ts";

/**
 * Makes one request and reads its response to the end, or until it is longer than `maxBytes`. The same as undici's `request`,
 * without a stream and a listener for it, which take most of its processor time.
 */
export function collectResponse(
  dispatcher: Dispatcher,
  { signal, ...request }: AzureKeyVaultHttpRequest,
  maxBytes: number,
): Promise<AzureKeyVaultHttpResponse> {
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let statusCode = 0;
    let headers: AzureKeyVaultHttpResponse["headers"] = {};
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
