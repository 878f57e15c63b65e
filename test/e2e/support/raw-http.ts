import { once } from "node:events";
import { connect } from "node:net";

export interface RawRequest {
  readonly method: string;
  readonly target?: string | undefined;
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined;
  readonly body?: string | undefined;
}

export interface RawResponse {
  readonly status: number;
  /** As they came over the wire: every line, in order, names as written. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/**
 * Sends the requests on one connection, one after the other without waiting, and reads what comes back until the
 * server closes it. Nothing interprets the answers but this file, so that nothing adds, joins or hides a header.
 */
export async function exchange(port: number, requests: readonly RawRequest[]): Promise<RawResponse[]> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const last = requests.length - 1;
  socket.write(requests.map((request, index) => encode(request, index === last)).join(""));
  await once(socket, "close");
  return decode(Buffer.concat(chunks), requests);
}

function encode({ method, target = "/jwks", headers = [], body }: RawRequest, last: boolean): string {
  const lines = [`${method} ${target} HTTP/1.1`, "Host: op.example"];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  if (last) lines.push("Connection: close");
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

function decode(bytes: Buffer, requests: readonly RawRequest[]): RawResponse[] {
  let rest = bytes;
  const responses = requests.map((request, index) => {
    const end = rest.indexOf("\r\n\r\n");
    const [statusLine = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n");
    const headers = lines.map((line): [string, string] => {
      const colon = line.indexOf(": ");
      return [line.slice(0, colon), line.slice(colon + 2)];
    });
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    const content = rest.subarray(end + 4);
    // Whatever follows the last answer until the end of the connection is its body, expected or not.
    const isLast = index === requests.length - 1;
    const length = isLast ? content.length : bodyLength(request.method, status, headers);
    rest = content.subarray(length);
    return { status, headers, body: Buffer.from(content.subarray(0, length)) };
  });
  return responses;
}

/** RFC 9112 section 6.3, without chunked coding: an answer that uses it is read as garbage, and fails. */
function bodyLength(method: string, status: number, headers: RawResponse["headers"]): number {
  if (method === "HEAD" || status === 204 || status === 304) return 0;
  return Number(headers.find(([name]) => name.toLowerCase() === "content-length")?.[1]);
}
