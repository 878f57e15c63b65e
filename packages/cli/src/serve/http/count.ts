import type { IncomingMessage, ServerResponse } from "node:http";
import type { Counters, PortName } from "../metrics/counters.ts";

const METHODS = new Set(["GET", "HEAD", "OPTIONS", "POST"]);

/** Counts a request when its response is done. The labels have few values, whatever clients send. */
export function countWhenDone(
  { requests }: Counters,
  { port, route }: { readonly port: PortName; readonly route: string },
  { method = "" }: IncomingMessage,
  response: ServerResponse,
): void {
  const known = METHODS.has(method) ? method : "other";
  response.once("finish", () => requests.add({ port, route, method: known, code: String(response.statusCode) }));
}
