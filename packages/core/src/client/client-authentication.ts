import { ConfigurationError } from "../errors.ts";
import { given } from "../given.ts";
import { readOwnKeys } from "../keyset/own-keys.ts";
import type { OwnKeys } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readText } from "../options/read-values.ts";
import { withinHookDeadline } from "../signing/hook-deadline.ts";
import { signJwt } from "../signing/jwt.ts";
import { CLIENT_JWT_OPTIONS, type ClientJwtOptions, readClientJwtOptions } from "./client-jwt.ts";

/** Options of `clientAuthentication`. */
export interface ClientAuthenticationOptions extends ClientJwtOptions {}

const CLIENT_AUTHENTICATION_OPTIONS: OptionNames<ClientAuthenticationOptions> = CLIENT_JWT_OPTIONS;

/**
 * Authenticates a client at one request. The shape of `ClientAuth` of openid-client 6 and oauth4webapi 3: it reads the issuer
 * of the server and the id of the client, and adds parameters to the body.
 */
export type ClientAuthentication = (
  server: { readonly issuer: string },
  client: { readonly client_id: string },
  body: URLSearchParams,
) => Promise<void>;

const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/**
 * Client authentication by `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core 1.0 section 9) with a key that never
 * leaves its KMS or HSM. Each request gets a new assertion: `iss` and `sub` are the client, `aud` is the issuer as one string
 * (FAPI 2.0 Security Profile section 5.3.3.1), `jti` is random, and it expires after 60 seconds.
 *
 * @param keys the client's own keys. Publish them with `createJwksEndpoint`, and register its URL as `jwks_uri`.
 * @throws ConfigurationError for an invalid argument. The returned function rejects with ConfigurationError if the server has no
 * issuer, and with SignerError if no valid signature was made, at the latest after 60 seconds. Then it has added nothing to the body.
 * @example
 * ```ts
 * import { clientAuthentication, type RotationSchedule } from "@signpost/core";
 *
 * // As the client authentication of openid-client: client.discovery(issuer, clientId, undefined, authenticate)
 * export const authenticateWith = (keys: RotationSchedule) => clientAuthentication(keys);
 * ```
 */
export function clientAuthentication(keys: OwnKeys, options: ClientAuthenticationOptions = {}): ClientAuthentication {
  assertOptions("options", options, CLIENT_AUTHENTICATION_OPTIONS);
  const { source } = readOwnKeys(keys);
  const { verify, oneTimeClaims } = readClientJwtOptions(options);
  return async (server, client, body) => {
    const { issuer: aud }: { readonly issuer?: unknown } = Object(server);
    const { client_id: clientId }: { readonly client_id?: unknown } = Object(client);
    const sub = readText("client.client_id", clientId);
    if (!(body instanceof URLSearchParams)) {
      throw new ConfigurationError("body", `expected URLSearchParams, got ${given(body)}`);
    }
    const claims = { iss: sub, sub, aud: readText("server.issuer", aud), ...oneTimeClaims() };
    const assertion = await withinHookDeadline((signal) => signJwt(source, claims, { verify, signal }));
    body.set("client_id", sub);
    body.set("client_assertion_type", ASSERTION_TYPE);
    body.set("client_assertion", assertion);
  };
}
