import { clientLeft, inUse } from "./failure.ts";
import { answeredRequest, type OidcProviderSigningLike, type RequestContext } from "./host.ts";

/** What the host accepts once: a code, a CIBA request, a rotating refresh token, or a pushed authorization request. */
export interface Spendable {
  /** The resource or resources that were granted. */
  readonly resource?: unknown;
  /** The scopes that were granted. */
  readonly scopes?: ReadonlySet<string> | undefined;
}

/** Throws if the request is to be refused. Returns whether it has waited for anything. */
export type SpendingCheck = (context: RequestContext, spent: Spendable) => Promise<boolean>;

/**
 * Makes the provider check before it uses something up. The host signs afterward. If that is refused, the client has lost
 * its token, and if it uses a lost refresh token again, the host revokes the whole grant.
 *
 * The host has looked before whether it is used up. So that two requests with the same code or token cannot both get tokens
 * after they waited for the check, only one of them uses it up, and the others are refused. When they try again, the host
 * sees the reuse. Requests that did not wait are left to the host.
 *
 * If the client has closed its connection meanwhile, its tokens would be lost. So that request uses nothing up, and the next
 * one of this client is not refused because of it.
 */
export function checkBeforeSpending(
  provider: OidcProviderSigningLike,
  check: SpendingCheck,
  failure: (cause: unknown) => Error,
): void {
  for (const name of CONSUMABLES) {
    const prototype = provider[name].prototype as Consumable;
    const { consume } = prototype;
    /** The requests that have waited, while they use up what has this jti. */
    const spending = new Map<string, RequestContext>();
    prototype.consume = async function consumeChecked() {
      const context = answeredRequest(provider);
      if (context === undefined) return consume.call(this);
      const hasWaited = await check(context, this);
      const { jti } = this;
      const other = spending.get(jti);
      if (other !== undefined && !hasLeft(other)) throw failure(inUse());
      // Nothing was added to the time between the host's own look and this.
      if (!hasWaited) return consume.call(this);
      spending.set(jti, context);
      try {
        // Another process may have used it up meanwhile, or revoked its grant.
        if (await isGone(this)) throw failure(inUse());
        if (hasLeft(context)) throw failure(clientLeft());
        await consume.call(this);
      } finally {
        if (spending.get(jti) === context) spending.delete(jti);
      }
    };
  }
}

async function isGone({ adapter, jti }: Consumable): Promise<boolean> {
  const stored = await adapter.find(jti);
  return !stored || Boolean(stored.consumed);
}

/** Whether the client has closed its connection, or its stream over HTTP/2. Node destroys the response or the stream then. */
function hasLeft({ res }: RequestContext): boolean {
  return res?.destroyed === true || res?.stream?.destroyed === true;
}

const CONSUMABLES = [
  "AuthorizationCode",
  "RefreshToken",
  "DeviceCode",
  "BackchannelAuthenticationRequest",
  "PreAuthorizedCode",
  "PushedAuthorizationRequest",
] as const;

interface Consumable extends Spendable {
  readonly jti: string;
  readonly adapter: { find(id: string): Promise<{ readonly consumed?: unknown } | undefined | null> };
  consume(): Promise<void>;
}

/** Whether the host will sign an ID token with ES256. A refresh may ask for fewer scopes than were granted. */
export function takesIdToken({ oidc }: RequestContext, { scopes }: Spendable): boolean {
  const asked = oidc?.params?.["scope"];
  const client: { readonly idTokenSignedResponseAlg?: unknown } = Object(oidc?.client);
  if (client.idTokenSignedResponseAlg !== "ES256" || scopes?.has("openid") !== true) return false;
  return typeof asked !== "string" || asked === "" || asked.split(" ").includes("openid");
}

/**
 * Whether the host will sign with ES256 for an authorization response: the response itself (JARM), or an ID token in it. Only
 * an authorization request has a response mode or type.
 */
export function takesAuthorizationResponse({ oidc }: RequestContext): boolean {
  const client: { readonly authorizationSignedResponseAlg?: unknown; readonly idTokenSignedResponseAlg?: unknown } =
    Object(oidc?.client);
  const { response_mode: mode, response_type: type } = oidc?.params ?? {};
  const isJwt = typeof mode === "string" && mode.endsWith("jwt");
  const hasIdToken = typeof type === "string" && type.split(" ").includes("id_token");
  return (
    (isJwt && client.authorizationSignedResponseAlg === "ES256") ||
    (hasIdToken && client.idTokenSignedResponseAlg === "ES256")
  );
}
