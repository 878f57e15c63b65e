import { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { ClientRequest } from "node:http";
import { createBriefContext, memberOf } from "@signpost/core/adapter";
import { endProcess } from "./credential-process.ts";

/** The sources that the SDK asks over HTTP without reporting their answers. */
export type WatchedSource = "container" | "metadata" | "sso";

/** The last request to a source. */
export interface SourceRequest {
  readonly source: WatchedSource;
  /** Scheme, host and port. Its path or query may contain a secret. */
  readonly origin?: string | undefined;
  /** Undefined while there is no answer. */
  status: number | undefined;
  /** The answer. Its body may never arrive. */
  response?: object;
}

/** The request that the SDK made for one question for credentials. */
export interface RequestRecord {
  /** Undefined if no watched source was asked. */
  last: SourceRequest | undefined;
  /** Requests to watched sources, and processes, that have not ended, for `dropRequests`. Default: they are not kept. */
  readonly pending?: Set<ClientRequest | ChildProcess> | undefined;
  /** Whether the answer is of no use any more. */
  dropped?: boolean;
}

const METADATA_PATH = "/latest/meta-data/iam/security-credentials/";
/** Its addresses, unless another one is configured. */
const METADATA_HOSTS: ReadonlySet<string> = new Set(["169.254.169.254", "fd00:ec2::254"]);
/** The origin of a container's endpoint that is configured only by its path. */
const CONTAINER_ORIGIN = "http://169.254.170.2";
/** The path of its version 2, which returns a token first. */
const METADATA_TOKEN_PATH = "/latest/api/token";
/** What it answers without a token, if version 1 is off. */
const NO_VERSION_1 = 401;
/** The path of SSO-OIDC. */
const RENEWAL_PATH = "/token";
/** Paths of the portal, of SSO-OIDC, which renews the portal's token, and of the sign-in service behind `aws login`. */
const SSO_PATHS: ReadonlySet<string> = new Set(["/federation/credentials", RENEWAL_PATH, "/v1/token"]);

interface Watched {
  readonly asked: SourceRequest;
  /** For a request to the metadata service: the one before it, if that was for a token. */
  readonly token: SourceRequest | undefined;
}

/** Tells the requests of a question from the other requests in this process. */
const records = createBriefContext<RequestRecord>();
const watched = new WeakMap<object, Watched>();
/** The requests for a token of the metadata service. */
const tokens = new WeakSet<SourceRequest>();
let metadataKnown = false;
let renewal: SourceRequest | undefined;
let watching = false;

/**
 * Starts to watch the answers of the sources to recorded questions. The SDK tries one source after another and throws
 * the error of the last one, so its error often does not say whether a source was down or refused. Nothing is added to
 * a request, because a listener for its response would change when Node drains it.
 */
function watch(): void {
  if (watching) return;
  watching = true;
  subscribe("http.client.request.start", (message) => {
    const record = records.get();
    const request = memberOf(message, "request");
    if (record === undefined || !(request instanceof ClientRequest)) return;
    const source = sourceOf(request);
    if (source === undefined) return;
    if (source === "metadata" && !METADATA_HOSTS.has(request.host)) metadataKnown = true;
    keepPending(record, request);
    const asked: SourceRequest = { source, origin: originOf(request), status: undefined };
    if (request.path === METADATA_TOKEN_PATH) tokens.add(asked);
    if (source === "sso" && request.path === RENEWAL_PATH) renewal = asked;
    const token = record.last !== undefined && tokens.has(record.last) ? record.last : undefined;
    watched.set(request, { asked, token });
    if (token?.status === 200) metadataKnown = true;
    // The SDK continues with a metadata service that is not configured, which says nothing about the configured source.
    if (source !== "metadata" || record.last?.source !== "sso" || isMetadataKnown()) record.last = asked;
  });
  subscribe("child_process", (message) => {
    const record = records.get();
    const child = memberOf(message, "process");
    if (record !== undefined && child instanceof ChildProcess) keepPending(record, child);
  });
  subscribe("http.client.response.finish", (message) => {
    const request = memberOf(message, "request");
    if (!(request instanceof ClientRequest)) return;
    const { asked, token } = watched.get(request) ?? {};
    const response = memberOf(message, "response");
    const status = memberOf(response, "statusCode");
    if (asked === undefined || typeof status !== "number") return;
    asked.response = Object(response);
    // Without a token the SDK tries version 1. If that is off, the answer to the request for the token says more.
    const isWithoutToken = status === NO_VERSION_1 && token !== undefined && token.status !== 200;
    asked.status = isWithoutToken ? token.status : status;
    if (request.path.startsWith(METADATA_PATH) && (status === 200 || status === NO_VERSION_1)) metadataKnown = true;
  });
}

function keepPending({ pending, dropped = false }: RequestRecord, source: ClientRequest | ChildProcess): void {
  // The SDK goes on after a source that was dropped. Not here, in the middle of the start of a request or of a process.
  if (dropped) setImmediate(() => drop(source));
  if (pending === undefined) return;
  pending.add(source);
  source.once("close", () => pending.delete(source));
}

function drop(source: ClientRequest | ChildProcess): void {
  if (source instanceof ClientRequest) source.destroy();
  else endProcess(source);
}

/**
 * Ends the requests of a question whose answer is of no use any more. The SDK asks a container's endpoint with no time limit: a
 * request without an answer would stay open, and keep the process alive, for as long as the endpoint does. The same holds for
 * a `credential_process`, which also takes memory.
 */
export function dropRequests(record: RequestRecord): void {
  record.dropped = true;
  for (const source of record.pending ?? []) drop(source);
}

/** The last request to renew a token of SSO, in this process. The SDK makes no other one within 30 seconds. */
export function lastRenewal(): SourceRequest | undefined {
  return renewal;
}

/** Runs `ask`, and stores in `record` the last request that it makes to a source. */
export function recordRequests<Answer>(record: RequestRecord, ask: () => Answer): Answer {
  watch();
  return records.run(record, ask);
}

/** Call this if a profile names the metadata service as its source. */
export function expectMetadata(): void {
  metadataKnown = true;
}

/** Whether a metadata service is configured, or has answered this process before. */
export function isMetadataKnown(): boolean {
  return metadataKnown || (process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? "") !== "";
}

/** The credentials endpoint of a container in the environment: ECS, EKS Pod Identity, Greengrass. */
function containerUrl(): URL | undefined {
  const relative = process.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] ?? "";
  const full = process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] ?? "";
  const url = relative === "" ? full : `${CONTAINER_ORIGIN}${relative}`;
  return URL.canParse(url) ? new URL(url) : undefined;
}

function isForContainer(request: ClientRequest): boolean {
  const url = containerUrl();
  // The SDK writes the query and the fragment in its own way.
  if (url === undefined || request.path.split(/[?#]/)[0] !== url.pathname) return false;
  const origin = originOf(request);
  return origin !== undefined && new URL(origin).host === url.host;
}

/** From the header, since the request has no member for its port. */
function originOf(request: ClientRequest): string | undefined {
  const url = `${request.protocol}//${String(request.getHeader("host"))}`;
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

function sourceOf(request: ClientRequest): WatchedSource | undefined {
  const { path } = request;
  if (isForContainer(request)) return "container";
  if (path === METADATA_TOKEN_PATH || path.startsWith(METADATA_PATH)) return "metadata";
  return SSO_PATHS.has(path.split("?")[0] ?? "") ? "sso" : undefined;
}
