import type { GcpKmsCallOptions, GcpKmsClientLike } from "./api.ts";
import type { CallBounds } from "./call-bounds.ts";
import { credentialsError } from "./errors.ts";

/** A client whose next call goes to the service at once. */
export interface ReadyClient {
  readonly client: GcpKmsClientLike;
  callOptions(bounds: CallBounds): GcpKmsCallOptions;
}

/**
 * Finds credentials before a call is made, and makes no call when there are none. Left to itself the client fails in
 * two ways that nobody can catch, and each ends the process:
 *
 * - It starts `initialize()` inside each call, and rethrows its failure out of anybody's reach.
 * - Over REST it asks for the token inside the call. When the call ends meanwhile, by its signal or its timeout,
 *   node-fetch 3 destroys a request body that nobody listens to yet.
 */
export async function makeReady(client: GcpKmsClientLike): Promise<ReadyClient> {
  try {
    const stub = await client.initialize();
    if (!isRestStub(stub)) return { client, callOptions: grpcOptions };
    // From the client's cache, unless it is about to expire.
    await client.auth?.getRequestHeaders();
    return { client, callOptions: restOptions };
  } catch (error) {
    throw credentialsError(error);
  }
}

// A stub of grpc-js has a channel; that of REST is a plain object of functions.
function isRestStub(stub: unknown): boolean {
  return typeof stub === "object" && stub !== null && !("getChannel" in stub);
}

function grpcOptions({ timeoutMs, signal }: CallBounds): GcpKmsCallOptions {
  return signal === undefined ? { timeout: timeoutMs, retry: null } : { timeout: timeoutMs, retry: null, signal };
}

/** Time for the client to begin, on the busiest machine. The caller does not wait for it. */
const REST_GRACE_MS = 10_000;

/** Over REST nothing ends a call before it has surely begun: its own timeout does, some time after ours. */
function restOptions({ timeoutMs }: CallBounds): GcpKmsCallOptions {
  return { timeout: timeoutMs + REST_GRACE_MS, retry: null };
}
