import { request } from "node:http";
import type { ClientRequest, IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Socket } from "node:net";
import type { Answer, Exchange, HeaderLine, NoAnswer, NoAnswerReason, ProbeRequest } from "../exchange.ts";
import { hostOf } from "../../network/host.ts";
import { isPrivateAddress } from "../../network/private-address.ts";
import { PrivateHostError, publicLookup } from "../../network/private-host.ts";
import { connect } from "./connect.ts";
import type { Address, Connection } from "./connect.ts";

/** Bounds of every request. */
export interface Bounds {
  /** From the name lookup to the last byte. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  /** Ends everything. */
  readonly signal: AbortSignal;
}

/** How one request is sent. */
export interface Sending extends Bounds {
  /** Connects here instead of to the URL's host, and still asks for that host. */
  readonly address?: Address | undefined;
  /** Refuses addresses that are not on the Internet. */
  readonly isPublicOnly: boolean;
}

/** An exchange, and whether its server is in a private network. */
export interface Sent {
  readonly exchange: Exchange;
  readonly isPrivate: boolean;
}

/** As Node reports it if it notices the reset later. */
class ResetConnection extends Error {
  readonly code = "ECONNRESET";
}

class UnexpectedUpgrade extends Error {
  readonly code = "HPE_UNEXPECTED_UPGRADE";
}

/**
 * Sends one request on a connection that is only for it, and records what comes back. Follows no redirect. Never rejects for what
 * the other side does. Rejects if the caller's signal aborts.
 */
export async function send(probe: ProbeRequest, sending: Sending): Promise<Sent> {
  const limit = AbortSignal.timeout(sending.timeoutMs);
  const signal = AbortSignal.any([sending.signal, limit]);
  const started = performance.now();
  let connection: Connection | undefined;
  try {
    const url = new URL(probe.url);
    const address = sending.address ?? addressOf(url);
    connection = await (sending.isPublicOnly ? connectPublic(url, address, signal) : connect(url, address, signal));
    // A socket that the other side has already reset has no address, and says nothing about the network.
    const { remoteAddress } = connection.socket;
    if (remoteAddress === undefined) throw new ResetConnection();
    const isPrivate = isPrivateAddress(remoteAddress);
    if (isPrivate && sending.isPublicOnly) throw new PrivateHostError();
    const answer = await exchangeOn(connection, url, probe, sending.maxBytes, signal);
    return { exchange: { ...answer, tookMs: performance.now() - started }, isPrivate };
  } catch (error) {
    sending.signal.throwIfAborted();
    return { exchange: noAnswerTo(probe, error, limit.aborted, sending.timeoutMs), isPrivate: false };
  } finally {
    connection?.socket.destroy();
  }
}

/** Opens no connection to a private address. An address that is no name is not looked up. */
async function connectPublic(url: URL, address: Address, signal: AbortSignal): Promise<Connection> {
  if (isIP(address.host) !== 0 && isPrivateAddress(address.host)) throw new PrivateHostError();
  return connect(url, { ...address, lookup: publicLookup }, signal);
}

function addressOf(url: URL): Address {
  const port = url.protocol === "https:" ? 443 : 80;
  return { host: hostOf(url), port: url.port === "" ? port : Number(url.port) };
}

async function exchangeOn(
  { socket, tls }: Connection,
  url: URL,
  probe: ProbeRequest,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Omit<Answer, "tookMs">> {
  const sentAt = Date.now();
  const received = collect(socket);
  const outgoing = request({
    createConnection: () => socket,
    method: probe.method,
    path: url.pathname + url.search,
    headers: { host: url.host, connection: "close", ...probe.headers },
    signal,
  });
  const incoming = await responseTo(outgoing);
  const { body, isTruncated } = await read(incoming, maxBytes);
  const { statusCode: status = 0 } = incoming;
  return {
    kind: "answer",
    request: probe,
    status,
    headers: lines(incoming.rawHeaders),
    body,
    isTruncated,
    strayBytes: probe.method === "HEAD" || status === 304 ? bytesAfterHeader(received()) : 0,
    sentAt,
    tls,
  };
}

/** A header is never longer: Node refuses it. */
const MAX_COLLECTED = 65_536;

/** Keeps the first bytes of a connection, which the parser of HTTP drops if they are not part of the answer. */
function collect(socket: Socket): () => Buffer {
  const chunks: Uint8Array[] = [];
  let length = 0;
  socket.on("data", (chunk: Uint8Array) => {
    if (length < MAX_COLLECTED) chunks.push(chunk);
    length += chunk.length;
  });
  return () => Buffer.concat(chunks);
}

/** What follows the header of the final answer. An interim answer (1xx) has a header too. */
function bytesAfterHeader(received: Buffer): number {
  let start = 0;
  for (;;) {
    const end = received.indexOf("\r\n\r\n", start);
    if (end === -1) return 0;
    const isInterim = /^HTTP\/1\.\d 1/.test(received.toString("latin1", start, start + 12));
    start = end + 4;
    if (!isInterim) return received.length - start;
  }
}

function responseTo(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    // Stays after the response, so that a late error of the socket is not thrown.
    outgoing.on("error", reject);
    outgoing.once("response", resolve);
    // The request named no another protocol, and the connection is no longer one of HTTP.
    outgoing.once("upgrade", () => reject(new UnexpectedUpgrade()));
    outgoing.once("close", () => reject(new Error("closed")));
    outgoing.end();
  });
}

async function read(incoming: IncomingMessage, maxBytes: number): Promise<{ body: Uint8Array; isTruncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) return { body: Buffer.concat(chunks).subarray(0, maxBytes), isTruncated: true };
  }
  return { body: Buffer.concat(chunks), isTruncated: false };
}

function lines(raw: readonly string[]): readonly HeaderLine[] {
  const headers: HeaderLine[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) headers.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return headers;
}

function noAnswerTo(probe: ProbeRequest, error: unknown, isLate: boolean, timeoutMs: number): NoAnswer {
  const told = (reason: NoAnswerReason, detail: string): NoAnswer => ({
    kind: "no-answer",
    request: probe,
    reason,
    detail,
  });
  if (isLate) return told("time", `${timeoutMs / 1000} s`);
  if (error instanceof PrivateHostError) return told("not-allowed", error.message);
  const code = codeOf(error);
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return told("name", code);
  if (code.startsWith("HPE_")) return told("not-http", code);
  // No certificate is refused, so these are of the protocol.
  if (["ERR_SSL", "ERR_TLS", "EPROTO"].some((start) => code.startsWith(start))) return told("tls", code);
  return told("connection", code);
}

/** A code, never the message: messages may quote what was sent. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (typeof error !== "object" || error === null) return "unknown";
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "closed";
}
