import { answeredRequest, type OidcProviderSigningLike, type RequestContext } from "./host.ts";

/** What the host accepts once: a code, a CIBA request, a rotating refresh token, or a pushed authorization request. */
export interface Spendable {
  /** The resource or resources that were granted. */
  readonly resource?: unknown;
  /** The scopes that were granted. */
  readonly scopes?: ReadonlySet<string> | undefined;
}

/** Throws if the request is to be refused. */
export type SpendingCheck = (context: RequestContext, spent: Spendable) => void | Promise<void>;

/**
 * Makes the provider check before it uses something up. The host signs afterward. If that is refused, the client has lost
 * its token, and if it uses a lost refresh token again, the host revokes the whole grant.
 */
export function checkBeforeSpending(provider: OidcProviderSigningLike, check: SpendingCheck): void {
  for (const name of CONSUMABLES) {
    const prototype = provider[name].prototype as Consumable;
    const { consume } = prototype;
    prototype.consume = async function consumeChecked() {
      const context = answeredRequest(provider);
      if (context !== undefined) await check(context, this);
      return consume.call(this);
    };
  }
}

const CONSUMABLES = [
  "AuthorizationCode",
  "RefreshToken",
  "DeviceCode",
  "BackchannelAuthenticationRequest",
  "PreAuthorizedCode",
  "PushedAuthorizationRequest",
] as const;

interface Consumable {
  consume(this: Spendable): Promise<void>;
}

/** Whether the host will sign an ID token with ES256. A refresh may ask for fewer scopes than were granted. */
export function takesIdToken({ oidc }: RequestContext, { scopes }: Spendable): boolean {
  const asked = oidc?.params?.["scope"];
  const client: { readonly idTokenSignedResponseAlg?: unknown } = Object(oidc?.client);
  if (client.idTokenSignedResponseAlg !== "ES256" || scopes?.has("openid") !== true) return false;
  return typeof asked !== "string" || asked === "" || asked.split(" ").includes("openid");
}

/** Whether the host will sign an authorization response (JARM) with ES256. Only an authorization request has a response mode. */
export function takesAuthorizationResponse({ oidc }: RequestContext): boolean {
  const client: { readonly authorizationSignedResponseAlg?: unknown } = Object(oidc?.client);
  const mode = oidc?.params?.["response_mode"];
  return typeof mode === "string" && mode.endsWith("jwt") && client.authorizationSignedResponseAlg === "ES256";
}
