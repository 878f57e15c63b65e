import { ConfigurationError } from "../errors.ts";
import type { KeySetSource } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readText } from "../options/read-values.ts";
import { withinHookDeadline } from "../signing/hook-deadline.ts";
import { type JsonObject, toJsonObject } from "../signing/json.ts";
import type { SignJwsOptions } from "../signing/jws.ts";
import { signJwt } from "../signing/jwt.ts";
import { CLIENT_JWT_OPTIONS, type ClientJwtOptions, readClientJwtOptions } from "./client-jwt.ts";

/** Options of `signRequestObject`. */
export interface SignRequestObjectOptions extends ClientJwtOptions {
  /** The id of the client: the claims `iss` and `client_id`. Required. */
  readonly clientId: string;
  /** The issuer of the authorization server: the claim `aud`. Required. */
  readonly issuer: string;
  /**
   * The header member that shows the certificates of the key: `x5c` or `x5t#S256`. Wallets ask for `x5c` (OpenID4VP section
   * 5.9.3). Default none.
   */
  readonly certificates?: SignJwsOptions["certificates"];
}

const SIGN_REQUEST_OBJECT_OPTIONS: OptionNames<SignRequestObjectOptions> = {
  ...CLIENT_JWT_OPTIONS,
  clientId: true,
  issuer: true,
  certificates: true,
};

/** RFC 9101 section 4: not allowed in a request object. */
const NESTED = ["request", "request_uri"];
/** Set here. RFC 9101 section 10.8: with `sub`, the object could be used as a client assertion. */
const RESERVED = ["iss", "sub", "aud", "jti", "iat", "nbf", "exp"];
/** JSON in a request object (OpenID Connect Core 1.0 section 6.1, RFC 9396 section 2), and text in a query. */
const JSON_PARAMETERS = new Set(["claims", "authorization_details"]);
const NUMBER_PARAMETERS = new Set(["max_age"]);

/**
 * Signs the parameters of an authorization request as a request object (RFC 9101). Send it as the parameter `request`, to the
 * authorization endpoint or to the PAR endpoint (RFC 9126).
 *
 * @param keys the client's own keys, as for `signJwt`.
 * @param parameters the parameters as JSON, or as URLSearchParams. Of those, `max_age` becomes a number, `claims` and
 * `authorization_details` become JSON, and a repeated parameter becomes a list.
 * @throws ConfigurationError for a parameter that a request object may not have or that is set here, and for an invalid
 * argument; SignerError if no valid signature was made, at the latest after 60 seconds.
 * @example
 * ```ts
 * import { type KeySetSource, signRequestObject } from "@signpost/core";
 *
 * export function requestOf(keys: KeySetSource, state: string): Promise<string> {
 *   const parameters = { response_type: "code", redirect_uri: "https://rp.example/callback", scope: "openid", state };
 *   return signRequestObject(keys, parameters, { clientId: "rp", issuer: "https://op.example" });
 * }
 * ```
 */
export async function signRequestObject(
  keys: KeySetSource,
  parameters: Readonly<Record<string, unknown>> | URLSearchParams,
  options: SignRequestObjectOptions,
): Promise<string> {
  assertOptions("options", options, SIGN_REQUEST_OBJECT_OPTIONS);
  const { verify, oneTimeClaims } = readClientJwtOptions(options);
  const clientId = readText("clientId", options.clientId);
  const issuer = readText("issuer", options.issuer);
  const members = readParameters(parameters, clientId);
  const claims = { iss: clientId, aud: issuer, ...oneTimeClaims(), ...members, client_id: clientId };
  const { certificates } = options;
  return withinHookDeadline((signal) =>
    signJwt(keys, claims, { typ: "oauth-authz-req+jwt", verify, certificates, signal }),
  );
}

function readParameters(parameters: unknown, clientId: string): JsonObject {
  const members =
    parameters instanceof URLSearchParams ? fromQuery(parameters) : toJsonObject("parameters", parameters);
  for (const name of NESTED) refuse(members, name, "not allowed inside a request object (RFC 9101 section 4)");
  for (const name of RESERVED) refuse(members, name, "not allowed: the request object sets it");
  const own = members["client_id"];
  if (own !== undefined && own !== clientId) {
    throw new ConfigurationError("parameters.client_id", "expected the client id of the option clientId");
  }
  return members;
}

function refuse(members: JsonObject, name: string, problem: string): void {
  if (Object.hasOwn(members, name)) throw new ConfigurationError(`parameters.${name}`, problem);
}

function fromQuery(query: URLSearchParams): JsonObject {
  const names = new Set(query.keys());
  const members = [...names].map((name) => {
    const values = query.getAll(name);
    const [value = ""] = values;
    return [name, values.length > 1 ? values : parsed(name, value)] as const;
  });
  return toJsonObject("parameters", Object.fromEntries(members));
}

function parsed(name: string, value: string): unknown {
  if (NUMBER_PARAMETERS.has(name) && /^\d{1,15}$/.test(value)) return Number(value);
  if (!JSON_PARAMETERS.has(name)) return value;
  try {
    return JSON.parse(value);
  } catch {
    throw new ConfigurationError(`parameters.${name}`, "expected JSON");
  }
}
