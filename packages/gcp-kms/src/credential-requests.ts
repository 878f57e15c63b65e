import { subscribe } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { ClientRequest } from "node:http";
import { createBriefContext, memberOf } from "@signpost/core/adapter";
import { drop, keep, keepSocket, type Begun } from "./connecting.ts";
import { forgetLocation } from "./redirects.ts";

/** The last request of a search for credentials. */
export interface SourceRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Undefined while there is no answer. */
  status: number | undefined;
}

/** The requests for credentials that one connection has open, and their connections to proxies. */
export type OpenRequests = Begun;

/** The requests of one search for credentials. */
export interface RequestRecord {
  last: SourceRequest | undefined;
  readonly open?: OpenRequests | undefined;
}

/** Tells the requests of a search from the other requests in this process. */
const records = createBriefContext<RequestRecord>();
const watched = new WeakMap<object, SourceRequest>();
let watching = false;

/**
 * Runs a search for credentials, and stores its last request in `record`. If a source answers 5xx or 429, the SDK
 * retries for longer than a call may take, and says nothing about it in that time.
 */
export function recordRequests<Answer>(record: RequestRecord, search: () => Answer): Answer {
  watch();
  return records.run(record, search);
}

/**
 * Ends the requests of a connection that is closed. The SDK asks with no time limit: a request without an answer would stay open,
 * and keep the process alive, for as long as the other side does.
 */
export function dropRequests(open: OpenRequests): void {
  drop(open);
}

/** Goes on to record what a search has started, until the returned function is called. */
export function keepRecording(): () => void {
  return records.hold();
}

/** Adds nothing to a request, because a listener for its response would change when Node drains it. */
function watch(): void {
  if (watching) return;
  watching = true;
  subscribe("http.client.request.start", (message) => {
    const record = records.get();
    const request = memberOf(message, "request");
    if (record === undefined || !(request instanceof ClientRequest)) return;
    if (record.open !== undefined) keep(record.open, request);
    // The request has no member for its port.
    const url = `${request.protocol}//${String(request.getHeader("host"))}`;
    if (!URL.canParse(url)) return;
    record.last = { origin: new URL(url).origin, status: undefined };
    watched.set(request, record.last);
  });
  subscribe("net.client.socket", (message) => {
    const open = records.get()?.open;
    // The connection to a proxy outlasts its request.
    if (open !== undefined) keepSocket(open, memberOf(message, "socket"));
  });
  subscribe("http.client.response.finish", (message) => {
    const asked = watched.get(Object(memberOf(message, "request")));
    if (asked === undefined) return;
    const response = memberOf(message, "response");
    const status = memberOf(response, "statusCode");
    if (typeof status === "number") asked.status = status;
    // Node publishes the answer before it hands it to the client.
    forgetLocation(response);
  });
  subscribe("child_process", (message) => {
    const child = memberOf(message, "process");
    // A program that provides credentials. The SDK does not handle the error of one that cannot be started, which would
    // end this process. It learns of the failure from the event that follows.
    if (records.get() !== undefined && child instanceof EventEmitter) child.on("error", () => {});
  });
}
