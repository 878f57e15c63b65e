import { subscribe } from "node:diagnostics_channel";
import { ClientRequest, type IncomingMessage } from "node:http";
import { memberOf } from "@signpost/core/adapter";

/** The sources of credentials that the SDK asks over HTTP and whose answers it does not hand on. */
export type WatchedSource = "container" | "metadata" | "sso";

/** The last request to a source. */
export interface SourceRequest {
  readonly source: WatchedSource;
  /** By `performance.now()`. */
  readonly askedAt: number;
  /** Undefined while there is no answer. */
  status: number | undefined;
}

const METADATA_PATH = "/latest/meta-data/iam/security-credentials/";
/** Where it is unless it was configured elsewhere. */
const METADATA_HOSTS: ReadonlySet<string> = new Set(["169.254.169.254", "fd00:ec2::254"]);
const SSO_PATH = "/federation/credentials";

let last: SourceRequest | undefined;
let metadataKnown = false;
let watching = false;

/**
 * Watches from now on what the sources of credentials answer in this process. The SDK tries one source after the other and
 * throws the error of the last one, so that its error often does not say whether a source was down or refused.
 */
export function watchCredentialRequests(): void {
  if (watching) return;
  watching = true;
  subscribe("http.client.request.start", (message) => {
    const request = memberOf(message, "request");
    if (!(request instanceof ClientRequest)) return;
    const source = sourceOf(request);
    if (source === undefined) return;
    const asked: SourceRequest = { source, askedAt: performance.now(), status: undefined };
    last = asked;
    if (source === "metadata" && !METADATA_HOSTS.has(request.host)) metadataKnown = true;
    request.once("response", ({ statusCode }: IncomingMessage) => {
      asked.status = statusCode;
      if (source === "metadata" && statusCode === 200) metadataKnown = true;
    });
  });
}

/** The last request to any of them, unless it was made before `since`. */
export function lastRequest(since: number): SourceRequest | undefined {
  return last !== undefined && last.askedAt >= since ? last : undefined;
}

/** For a profile that names the metadata service as its source. */
export function expectMetadata(): void {
  metadataKnown = true;
}

/** Whether this machine should have a metadata service: it is configured, or gave credentials in this process before. */
export function isMetadataKnown(): boolean {
  return metadataKnown || (process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? "") !== "";
}

/** What the environment names as the credentials endpoint of a container: ECS, EKS Pod Identity, Greengrass. */
function containerPath(): string | undefined {
  const relative = process.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
  if (relative !== undefined && relative !== "") return relative;
  const full = process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"];
  if (full === undefined || !URL.canParse(full)) return undefined;
  const { pathname, search } = new URL(full);
  return `${pathname}${search}`;
}

function sourceOf({ path }: ClientRequest): WatchedSource | undefined {
  if (path === containerPath()) return "container";
  if (path.startsWith(METADATA_PATH)) return "metadata";
  return path.split("?")[0] === SSO_PATH ? "sso" : undefined;
}
