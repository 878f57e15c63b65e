import type { IncomingMessage, ServerResponse } from "node:http";
import { requestPath } from "@signpost/core";
import { isLoopbackHost } from "@signpost/core/adapter";
import { exposition, METRICS_TYPE } from "../metrics/exposition.ts";
import { collectMetrics } from "../metrics/collect.ts";
import { isReady, type ServerState } from "../state.ts";
import { statusPage } from "../status/page.ts";
import { NOT_FOUND, plain, readOnly, send, type Answer } from "./answers.ts";
import { countWhenDone } from "./count.ts";

type Route = (state: ServerState) => Answer;

const ROUTES: Readonly<Record<string, Route>> = {
  "/": (state) => statusPage(state, new Date()),
  // A restart repairs nothing that a server which answers cannot repair.
  "/livez": () => plain(200, "ok"),
  "/readyz": (state) => (isReady(state) ? plain(200, "ok") : plain(503, state.isStopping ? "stopping" : "no keys yet")),
  "/metrics": (state) => ({ status: 200, type: METRICS_TYPE, text: exposition(collectMetrics(state)) }),
};

/** The port for operators: health, metrics and the status page. */
export function answerAdmin(state: ServerState, request: IncomingMessage, response: ServerResponse): void {
  const path = requestPath(request.url) ?? "";
  const route = Object.hasOwn(ROUTES, path) ? ROUTES[path] : undefined;
  countWhenDone(state.counters, { port: "admin", route: route === undefined ? "other" : path }, request, response);
  if (isForeign(request)) return send(request, response, plain(421, "Misdirected request"));
  send(request, response, route === undefined ? NOT_FOUND : readOnly(request.method, () => route(state)));
}

/** A page in a browser on this machine may reach its ports under a name that it made to lead here. */
function isForeign({ socket, headers: { host } }: IncomingMessage): boolean {
  if (host === undefined || !isLoopbackAddress(socket.localAddress ?? "")) return false;
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  return url === undefined || !isLoopbackHost(url.hostname);
}

function isLoopbackAddress(address: string): boolean {
  const plain = address.replace("::ffff:", "");
  return isLoopbackHost(plain.includes(":") ? `[${plain}]` : plain);
}
