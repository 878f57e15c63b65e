import { ConfigurationError } from "@signpost/core";
import { endpointFromHost, type KmsEndpoint } from "./endpoint.ts";
import { parseKeyId, type KmsKeyName } from "./key-id.ts";

const SCHEME = "awskms://";
const EXPECTED = `expected ${SCHEME}[HOST[:PORT]]/KEY[?region=REGION], where KEY is a key id, key ARN, alias/NAME or alias ARN`;

// Nothing is decoded, since neither a host name nor an identifier of KMS has a character that needs it.
const URI = /^awskms:\/\/([A-Za-z0-9.:[\]-]*)\/([^?#]*)(?:\?region=([^&#]*))?$/;
const REGION = /^[a-z0-9]+(?:-[a-z0-9]+)+$/;

export interface KmsKeyUri {
  /** As it is written, byte for byte. */
  readonly keyId: string;
  readonly name: KmsKeyName;
  readonly endpoint: KmsEndpoint | undefined;
  readonly region: string | undefined;
}

/** Reads `awskms:///alias/op`, `awskms:///arn:aws:kms:…`, `awskms://127.0.0.1:4566/KEY?region=eu-west-1`. */
export function parseKmsUri(uri: string): KmsKeyUri {
  const match = URI.exec(uri);
  if (match === null) throw new ConfigurationError("uri", EXPECTED);
  const [, host = "", keyId = "", region] = match;
  return {
    keyId,
    name: parseKeyId("uri", keyId),
    endpoint: host === "" ? undefined : endpointFromHost("uri", host),
    region: region === undefined ? undefined : parseRegion("uri", region),
  };
}

export function parseRegion(argument: string, region: unknown): string {
  if (typeof region === "string" && REGION.test(region)) return region;
  throw new ConfigurationError(argument, "expected the name of an AWS Region, as in eu-west-1");
}

/** The canonical URI of an opened key. The ARN holds its region. */
export function formatKmsUri(keyArn: string, endpoint: KmsEndpoint | undefined): string {
  return `${SCHEME}${endpoint?.host ?? ""}/${keyArn}`;
}
