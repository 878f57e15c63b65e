import type { IncomingMessage, RequestListener } from "node:http";
import { ConfigurationError, requestPath } from "@signpost/core";
import { isLoopbackHost, readWholeNumber } from "@signpost/core/adapter";
import type { ConfigAdmin } from "../config/config.ts";
import type { HttpPlace } from "./http-port.ts";
import { exposition, METRICS_TYPE, type Metric } from "./metrics.ts";

/** What the admin port shows. */
export interface AdminState {
  /** Undefined if all is well, otherwise why tokens are not signed. */
  notReady(): string | undefined;
  metrics(): readonly Metric[];
}

const MAX_PORT = 65_535;

/** Only loopback: what is there is for probes and scrapers of this machine. */
export function readAdminPlace({ host = "127.0.0.1", port }: ConfigAdmin): HttpPlace {
  if (typeof host !== "string" || !isLoopbackHost(host.includes(":") ? `[${host}]` : host)) {
    throw new ConfigurationError("admin.host", "expected a loopback address: 127.0.0.1, ::1 or localhost");
  }
  return { place: "admin", host, port: readWholeNumber("admin.port", port, 0, MAX_PORT) };
}

/** Answers `/livez`, `/readyz` and `/metrics`. */
export function answerAdmin(state: AdminState): RequestListener {
  return (request, response) => {
    const { status, type = "text/plain; charset=utf-8", text } = answerTo(request, state);
    const body = Buffer.from(text);
    response.writeHead(status, { "Content-Type": type, "Content-Length": body.length, "Cache-Control": "no-store" });
    response.end(request.method === "HEAD" ? undefined : body);
  };
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly text: string;
}

function answerTo(request: IncomingMessage, state: AdminState): Answer {
  // A page in a browser on this machine may reach its ports under a name that it made to lead here.
  if (isForeign(request)) return { status: 421, text: "Misdirected request" };
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, text: "Method not allowed" };
  const path = requestPath(request.url);
  if (path === "/livez") return { status: 200, text: "ok" };
  if (path === "/metrics") return { status: 200, type: METRICS_TYPE, text: exposition(state.metrics()) };
  if (path !== "/readyz") return { status: 404, text: "Not found" };
  const problem = state.notReady();
  return problem === undefined ? { status: 200, text: "ok" } : { status: 503, text: problem };
}

function isForeign({ headers: { host } }: IncomingMessage): boolean {
  if (host === undefined) return false;
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  return url === undefined || !isLoopbackHost(url.hostname);
}
