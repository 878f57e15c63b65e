import { SignerError } from "@signpost/core";
import { repeatsSecret } from "@signpost/core/adapter";
import type { ApiRequest, VaultTransitDispatcherLike, VaultTransitHttpResponse } from "./api.ts";

/** The longest answer that is read. */
export const MAX_BODY_BYTES = 65_536;

/** What a server answered, read to its end. */
export interface HttpAnswer {
  readonly status: number;
  /** The answer's JSON. Undefined if it is empty. */
  readonly json: unknown;
  /** The messages in the answer, if it has the server's own form. */
  readonly errors: readonly string[];
  /** Whether the answer has a list of messages, even an empty one. Otherwise something in front of the server may have answered. */
  readonly hasErrors: boolean;
  /** Whether these repeat the token or another secret of the request. */
  readonly repeatsSecrets: boolean;
  /** Seconds, if the answer says so. */
  readonly retryAfter: number | undefined;
}

/** Where and how a request is sent. */
export interface Exchange {
  readonly dispatcher: VaultTransitDispatcherLike;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Where a redirect may lead to. */
  readonly origins: ReadonlySet<string>;
  readonly namespace: string | undefined;
}

/** Sends one request, and once more if a standby redirects it to a node that the caller has named. */
export async function exchange(
  place: Exchange,
  request: ApiRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const answer = await readAnswer(await send(place, request, token, signal));
  return { ...answer, repeatsSecrets: repeatsSecret(answer.errors.join("\n"), secretsOf(request, token)) };
}

/** What a request contains that must not be shown. */
export function secretsOf({ secrets = [] }: ApiRequest, token: string | undefined): readonly string[] {
  return token === undefined ? secrets : [token, ...secrets];
}

async function send(
  { dispatcher, origin, origins, namespace: ofConnection }: Exchange,
  apiRequest: ApiRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<VaultTransitHttpResponse> {
  const { method, path, body, namespace = ofConnection } = apiRequest;
  const headers = {
    accept: "application/json",
    // An agent may require it, to refuse requests that a browser was tricked into.
    "x-vault-request": "true",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(token !== undefined && { "x-vault-token": token }),
    ...(namespace !== undefined && { "x-vault-namespace": namespace }),
  };
  const request = {
    path: `/v1/${path}`,
    method,
    headers,
    signal,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const response = await dispatcher.request({ ...request, origin });
  const active = redirectOf(response, origin);
  if (active === undefined) return response;
  await discard(response);
  if (!origins.has(active)) {
    const node = repeatsSecret(active, secretsOf(apiRequest, token)) ? "a host" : active;
    throw new SignerError("unavailable", `the server redirects to ${node}, which is not in clusterAddresses`);
  }
  const answer = await dispatcher.request({ ...request, origin: active });
  const next = redirectOf(answer, active);
  if (next === undefined) return answer;
  await discard(answer);
  throw new SignerError("unavailable", `${active} redirects too: the cluster has no active node now`);
}

/** The host that a redirect leads to. Its path is not used: the request stays the same. */
function redirectOf({ statusCode, headers }: VaultTransitHttpResponse, origin: string): string | undefined {
  const location = headers["location"];
  if ((statusCode !== 307 && statusCode !== 308) || typeof location !== "string") return undefined;
  return URL.canParse(location, origin) ? new URL(location, origin).origin : undefined;
}

async function readAnswer({
  statusCode: status,
  headers,
  body,
}: VaultTransitHttpResponse): Promise<Omit<HttpAnswer, "repeatsSecrets">> {
  const text = await readText(body);
  const isSuccess = status >= 200 && status < 300;
  if (text === undefined && isSuccess) {
    throw new SignerError("integrity", `the answer has more than ${MAX_BODY_BYTES} bytes`);
  }
  const json = parse(text ?? "");
  if (json === NOT_JSON && isSuccess) {
    throw new SignerError("integrity", "the answer is truncated or is not the server's", { transient: true });
  }
  const errors = errorsIn(json);
  const hasErrors = errors !== undefined;
  return { status, json, errors: errors ?? [], hasErrors, retryAfter: secondsOf(headers["retry-after"]) };
}

/** Undefined if it is too long. Its connection is closed then. */
async function readText(body: VaultTransitHttpResponse["body"]): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

/** Reads the rest, so that the connection can be used again. */
async function discard({ body }: VaultTransitHttpResponse): Promise<void> {
  await readText(body);
}

const NOT_JSON = Symbol("not JSON");

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

function errorsIn(json: unknown): readonly string[] | undefined {
  const errors = typeof json === "object" && json !== null && "errors" in json ? json.errors : undefined;
  return Array.isArray(errors) ? errors.filter((text) => typeof text === "string") : undefined;
}

/** RFC 9110 section 10.2.3. The server sends seconds. */
function secondsOf(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === "string" && /^[0-9]{1,6}$/.test(value) ? Number(value) : undefined;
}
