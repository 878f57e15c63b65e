import { ConfigurationError } from "@signpost/core";
import type { ServiceEndpoint } from "@signpost/core/adapter";
import { endpointFromHost } from "./endpoint.ts";
import { parseKeyName, type KeyName } from "./key-name.ts";

const SCHEME = "awskms://";
const EXPECTED = `expected ${SCHEME}[HOST[:PORT]]/KEY[?region=REGION], where KEY is a key id, key ARN, alias/NAME or alias ARN`;

// Nothing is decoded, since neither a host name nor an identifier of KMS has a character that needs it.
const URI = /^awskms:\/\/([A-Za-z0-9.:[\]-]*)\/([^?#]*)(?:\?region=([^&#]*))?$/;
const REGION = /^[a-z0-9]+(?:-[a-z0-9]+)+$/;

/** What a key URI names. */
export interface KeyUri {
  /** As it is written, byte for byte. */
  readonly key: string;
  readonly name: KeyName;
  readonly endpoint: ServiceEndpoint | undefined;
  readonly region: string | undefined;
}

/** Reads `awskms:///alias/op`, `awskms:///arn:aws:kms:…`, `awskms://127.0.0.1:4566/KEY?region=eu-west-1`. */
export function parseKeyUri(uri: string): KeyUri {
  const match = URI.exec(uri);
  if (match === null) throw new ConfigurationError("uri", EXPECTED);
  const [, host = "", key = "", region] = match;
  return {
    key,
    name: parseKeyName("uri", key),
    endpoint: host === "" ? undefined : endpointFromHost("uri", host),
    region: region === undefined ? undefined : parseRegion("uri", region),
  };
}

export function parseRegion(argument: string, region: unknown): string {
  if (typeof region === "string" && REGION.test(region)) return region;
  throw new ConfigurationError(argument, "expected the name of an AWS Region, as in eu-west-1");
}

/** The canonical URI of an opened key. The ARN holds its region. */
export function formatKeyUri(keyArn: string, endpoint: ServiceEndpoint | undefined): string {
  return `${SCHEME}${endpoint?.host ?? ""}/${keyArn}`;
}
