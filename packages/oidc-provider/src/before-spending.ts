import { answeredRequest, type OidcProviderSigningLike, type RequestContext } from "./host.ts";

/** What a token endpoint takes once: a code, a request, or a refresh token that rotates. */
export interface Spendable {
  /** What it was granted for, one resource or several. */
  readonly resource?: unknown;
  /** The scopes that it was granted with. */
  readonly scopes?: ReadonlySet<string> | undefined;
}

/** Throws what refuses a request. */
export type SpendingCheck = (context: RequestContext, spent: Spendable) => void | Promise<void>;

/**
 * Asks before the provider spends a code, a request or a refresh token: the host signs after that, so what is refused
 * then is lost to the client, and a refresh token that comes back takes its whole grant with it.
 */
export function checkBeforeSpending(provider: OidcProviderSigningLike, check: SpendingCheck): void {
  const { AuthorizationCode, RefreshToken, DeviceCode, BackchannelAuthenticationRequest, PreAuthorizedCode } = provider;
  const models = [AuthorizationCode, RefreshToken, DeviceCode, BackchannelAuthenticationRequest, PreAuthorizedCode];
  for (const model of models) {
    const prototype = model.prototype as Consumable;
    const { consume } = prototype;
    prototype.consume = async function consumeChecked() {
      const context = answeredRequest(provider);
      if (context !== undefined) await check(context, this);
      return consume.call(this);
    };
  }
}

interface Consumable {
  consume(this: Spendable): Promise<void>;
}

/** Whether the host will sign an ID token by ES256 for what is spent. A refresh may ask for fewer scopes than were granted. */
export function takesIdToken({ oidc }: RequestContext, { scopes }: Spendable): boolean {
  const asked = oidc?.params?.["scope"];
  const client: { readonly idTokenSignedResponseAlg?: unknown } = Object(oidc?.client);
  if (client.idTokenSignedResponseAlg !== "ES256" || scopes?.has("openid") !== true) return false;
  return typeof asked !== "string" || asked === "" || asked.split(" ").includes("openid");
}
