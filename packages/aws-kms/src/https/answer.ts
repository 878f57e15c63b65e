import { isPlainObject } from "@signpost/core/adapter";
import type { Reply } from "./exchange.ts";

// AWS JSON 1.1: https://smithy.io/2.0/aws/protocols/aws-json-1_1-protocol.html

/** The members of an answer, unchecked. */
export type Members = Readonly<Record<string, unknown>>;

/**
 * The members of a successful answer. Throws for any other, an error as the SDK would: its `name` is the service's error
 * code.
 */
export function readAnswer(reply: Reply): Members {
  const { status, body } = reply;
  const members = parseMembers(body);
  if (status < 200 || status >= 300) throw serviceError(reply, members ?? {});
  if (members === undefined) throw answerError(reply, "SyntaxError", "the answer is not a JSON object");
  return members;
}

/** Decodes base64 (RFC 4648 section 4, padded). Returns anything else unchanged, for the check of the answer to refuse. */
export function decodeBase64(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? bytes : value;
}

function parseMembers(body: Buffer): Members | undefined {
  if (body.length === 0) return {};
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"));
    return isPlainObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** An error code, perhaps after a namespace and `#`, and perhaps before `:` and a URL. */
const ERROR_CODE = /^(?:[^#]*#)?([A-Za-z0-9._-]{1,100})(?:[:,].*)?$/;

function errorCode(stated: unknown): string | undefined {
  return typeof stated === "string" ? ERROR_CODE.exec(stated)?.[1] : undefined;
}

function serviceError(reply: Reply, members: Members): Error {
  // In the SDK's order.
  const stated = [members["__type"], members["code"], members["Code"], reply.headers["x-amzn-errortype"]];
  const code = stated.map(errorCode).find((found) => found !== undefined);
  const message = members["message"] ?? members["Message"];
  return answerError(
    reply,
    code ?? "UnknownError",
    typeof message === "string" ? message : `HTTP status ${reply.status}`,
  );
}

function answerError({ status, headers }: Reply, name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  const $metadata = { httpStatusCode: status, requestId: headers["x-amzn-requestid"] };
  return Object.assign(error, { $fault: status >= 500 ? "server" : "client", $metadata });
}
