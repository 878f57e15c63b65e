import {
  createJwksEndpoint,
  currentKeySet,
  type JwksEndpoint,
  type JwksResponse,
  type KeySetSource,
} from "@signpost/core";
import type { LoadedConfig } from "../config/load-config.ts";
import { at } from "../program/place.ts";

/** What the endpoint of the configuration serves now. */
export interface Published {
  readonly endpoint: JwksEndpoint;
  readonly response: JwksResponse & { readonly body: Uint8Array };
  readonly keys: readonly PublishedRow[];
  /** When to publish again. Null if there is no schedule, or nothing is planned. */
  readonly nextChange: Date | null;
}

interface PublishedRow {
  readonly kid: string;
  readonly role: string;
  readonly alg: string;
  readonly use: string;
}

/** Makes the response to a GET of the endpoint. */
export async function publishedNow({ config, name }: LoadedConfig, keys: KeySetSource): Promise<Published> {
  const { issuer, mountPrefix, endpoints, allowInsecureIssuer } = config;
  const endpoint = await at(`${name}: `, () =>
    createJwksEndpoint({ issuer, mountPrefix, endpoints, allowInsecureIssuer, keys }),
  );
  const { body, ...response } = endpoint.respond("GET");
  if (body === null) throw new TypeError("the endpoint has no document");
  const rows = currentKeySet(keys).keys.map(({ keyId, role, alg, use }) => ({ kid: keyId, role, alg, use }));
  const nextChange = "nextChange" in keys ? keys.nextChange() : null;
  return { endpoint, response: { ...response, body }, keys: rows, nextChange };
}
