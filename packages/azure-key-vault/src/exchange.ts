import { SignerError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import type { AzureKeyVaultDispatcherLike, AzureKeyVaultHttpResponse } from "./api.ts";
import { withoutToken } from "./hidden-token.ts";

/** The longest answers that are read. A key can have 15 tags of 1,024 characters, and a page of versions has 25 of them. */
const MAX_BYTES = { GET: 2_097_152, POST: 65_536 };

/** How many bytes of the answer to a request are read. */
export function maxBytesOf(method: ApiRequest["method"]): number {
  return MAX_BYTES[method];
}

/** A call of the service's REST API. */
export interface ApiRequest {
  readonly method: "GET" | "POST";
  /** Path and query. */
  readonly path: string;
  readonly body?: object | undefined;
}

/** What answered, read to its end. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: AzureKeyVaultHttpResponse["headers"];
  /** The answer's JSON. Undefined if it is empty or something else. */
  readonly json: unknown;
}

/** Sends one request. */
export async function exchange(
  dispatcher: AzureKeyVaultDispatcherLike,
  origin: string,
  { method, path, body }: ApiRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const headers = {
    accept: "application/json",
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  const request = { origin, path, method, headers, signal };
  try {
    const sent = body === undefined ? request : { ...request, body: JSON.stringify(body) };
    return await readAnswer(await dispatcher.request(sent), maxBytesOf(method));
  } catch (error) {
    const answer = answerIn(error);
    if (answer !== undefined) return answer;
    throw withoutToken(error, token);
  }
}

/** The answer in the error of an interceptor that makes errors of answers, such as undici's `responseError`. */
function answerIn(error: unknown): HttpAnswer | undefined {
  const [status, headers, body] = ["statusCode", "headers", "body"].map((name) => memberOf(error, name));
  if (typeof status !== "number" || status < 400) return undefined;
  const json = typeof body === "string" ? parse(body) : body;
  return { status, headers: isHeaders(headers) ? headers : {}, json };
}

function isHeaders(headers: unknown): headers is HttpAnswer["headers"] {
  return typeof headers === "object" && headers !== null;
}

async function readAnswer(
  { statusCode: status, headers, body }: AzureKeyVaultHttpResponse,
  maxBytes: number,
): Promise<HttpAnswer> {
  const text = await readText(body, maxBytes);
  const isSuccess = status >= 200 && status < 300;
  if (text === undefined && isSuccess) {
    throw new SignerError("integrity", `the answer has more than ${maxBytes} bytes`);
  }
  const json = parse(text ?? "");
  if (json === undefined && isSuccess) {
    throw new SignerError("integrity", "the answer is truncated or is not the vault's", { transient: true });
  }
  return { status, headers, json };
}

/** Undefined if it is too long. Its connection is closed then. */
async function readText(body: AzureKeyVaultHttpResponse["body"], maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

function parse(text: string): unknown {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null ? json : undefined;
  } catch {
    return undefined;
  }
}

/** The error of the service in an answer that is not a success. Members are missing if something else answered. */
export interface ServiceError {
  readonly statusCode: number;
  readonly code: string | undefined;
  readonly innerCode: string | undefined;
  /** Never shown: it can name tenants, callers, addresses and vaults. */
  readonly message: string;
  /** Seconds, if the answer says so. */
  readonly retryAfterSeconds: number | undefined;
  /** The name of the call for Microsoft's support. */
  readonly requestId: string | undefined;
}

/** Reads `{ "error": { "code", "message", "innererror": { "code" } } }`. */
export function serviceErrorOf({ status, headers, json }: HttpAnswer): ServiceError {
  const error = memberOf(json, "error");
  return {
    statusCode: status,
    code: textOf(memberOf(error, "code")),
    innerCode: textOf(memberOf(memberOf(error, "innererror"), "code")),
    message: textOf(memberOf(error, "message")) ?? "",
    retryAfterSeconds: secondsOf(headers["retry-after"]),
    requestId: idOf(headers["x-ms-request-id"]),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** RFC 9110 section 10.2.3. The service sends seconds. */
function secondsOf(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === "string" && /^[0-9]{1,6}$/.test(value) ? Number(value) : undefined;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The id of a request, if it has the form of one. */
export function idOf(value: unknown): string | undefined {
  return typeof value === "string" && UUID.test(value) ? value : undefined;
}
