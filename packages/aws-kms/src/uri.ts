import { ConfigurationError } from "@signpost/core";
import { afterScheme, given, type ServiceEndpoint } from "@signpost/core/adapter";
import { endpointFromHost, isReadWithoutScheme } from "./endpoint.ts";
import { parseKeyName, type KeyName } from "./key-name.ts";

const SCHEME = "awskms://";
const EXPECTED = `expected ${SCHEME}[HOST[:PORT]]/KEY[?region=REGION][&scheme=http|https], where KEY is a key id, key ARN, alias/NAME or alias ARN`;

// Nothing is decoded, because neither a host name nor an identifier of KMS contains a character that needs it.
const REST = /^\/\/([A-Za-z0-9.:[\]_~-]*)\/([^?#]*)(?:\?([^#]*))?$/;
const REGION = /^[a-z0-9]+(?:-[a-z0-9]+)+$/;

/** The parts of a key URI. */
export interface KeyUri {
  /** The key, unchanged. */
  readonly key: string;
  readonly name: KeyName;
  /** The endpoint for its host. */
  readonly endpoint: ServiceEndpoint | undefined;
  readonly region: string | undefined;
}

/** Rules for the hosts of key URIs. */
export interface HostRules {
  /** Accepts `scheme=http` for any host. */
  readonly allowInsecureEndpoint?: boolean | undefined;
  /** The endpoint for all keys. Its host needs no `scheme`. */
  readonly endpoint?: ServiceEndpoint | undefined;
}

/** Reads `awskms:///alias/op`, `awskms:///arn:aws:kms:…`, `awskms://127.0.0.1:4566/KEY?region=eu-west-1`. */
export function parseKeyUri(uri: string, rules: HostRules = {}): KeyUri {
  const match = REST.exec(afterScheme(uri, "awskms") ?? "");
  if (match === null) throw new ConfigurationError("uri", `${EXPECTED}, got ${given(uri)}`);
  const [, host = "", key = "", query] = match;
  const { region, scheme } = parseQuery(query);
  if (scheme !== undefined && (host === "" || (scheme !== "http" && scheme !== "https"))) {
    throw new ConfigurationError("uri", EXPECTED);
  }
  return {
    key,
    name: parseKeyName("uri", key),
    endpoint: host === "" ? undefined : endpointOf(host, scheme, rules),
    region: region === undefined ? undefined : parseRegion("uri", region),
  };
}

function endpointOf(host: string, scheme: "http" | "https" | undefined, rules: HostRules): ServiceEndpoint {
  if (scheme === undefined && rules.endpoint?.host === host) return rules.endpoint;
  return endpointFromHost("uri", host, scheme, rules.allowInsecureEndpoint === true);
}

const PARAMETERS: ReadonlySet<string> = new Set(["region", "scheme"]);

/** Reads the parameters. Each may occur once, and others are refused. */
function parseQuery(query: string | undefined): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const parameter of query?.split("&") ?? []) {
    const [name = "", value = "", ...rest] = parameter.split("=");
    if (!PARAMETERS.has(name) || name in found || rest.length > 0) throw new ConfigurationError("uri", EXPECTED);
    found[name] = value;
  }
  return found;
}

export function parseRegion(argument: string, region: unknown): string {
  if (typeof region === "string" && REGION.test(region)) return region;
  throw new ConfigurationError(argument, `expected the name of an AWS Region, such as eu-west-1, got ${given(region)}`);
}

/** The URI of a key. The canonical URI contains its ARN, and so the Region. */
export function formatKeyUri(key: string, endpoint: ServiceEndpoint | undefined, region?: string): string {
  const isPlain = endpoint === undefined || isReadWithoutScheme(endpoint);
  const parameters = [
    ...(region === undefined || key.startsWith("arn:") ? [] : [`region=${region}`]),
    ...(isPlain ? [] : [`scheme=${endpoint.plaintext ? "http" : "https"}`]),
  ];
  const query = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
  return `${SCHEME}${endpoint?.host ?? ""}/${key}${query}`;
}
