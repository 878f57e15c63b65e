import type { IncomingMessage, ServerResponse } from "node:http";
import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** The parts of the host's `ExternalSigningKey` class that the plug uses. The plug defines the members of its instances. */
export type ExternalSigningKeyClassLike<Key extends object = object> = new () => Key;

/** The parts of the host's `errors` that the plug uses. */
export interface OidcProviderErrorsLike {
  /** The class for an error that is not the client's fault. */
  readonly OIDCProviderError: new (status: number, message: string) => Error;
  /** The class for a temporary error. The plug sets its status. */
  readonly TemporarilyUnavailable: new (description?: string) => Error & { status: number; statusCode: number };
}

/** The parts of a request's Koa context that the plug uses. */
export interface OidcProviderContextLike {
  /** The path below the mount path of the host. */
  readonly path: string;
  /** The Koa app, which knows whether to trust a proxy: the outer app of `koa-mount`, or the provider. */
  readonly app: { readonly proxy?: boolean | undefined };
  /** The host name of the request, with the port unless it is the scheme's default. */
  readonly host: string;
  /** The scheme of the request, as Koa sees it. */
  readonly protocol: string;
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
  /** Koa's request. Its URL is relative to the mount path of the host. */
  readonly request: { readonly url: string };
  /** The path at which `koa-mount` has mounted the host. */
  readonly mountPath?: string | undefined;
  /** The status of the response. */
  status: number;
  /** The media type of the response. */
  type: string;
  /** The body of the response, in a form that Koa accepts. */
  body: unknown;
  /** `false` tells Koa not to write the response. */
  respond?: boolean | undefined;
  /** The name of the host's route that answered. */
  readonly routerName?: string | undefined;
  /** Sets a header of the response. */
  set(field: string, value: string): void;
  /** Removes a header of the response. */
  remove(field: string): void;
}

/** The parts of a `Provider` that `mountJwks` uses. */
export interface OidcProviderLike {
  /** The issuer that it was constructed with. */
  readonly issuer: string;
  /** Adds a Koa middleware in front of the host's routes. */
  use(middleware: (context: OidcProviderContextLike, next: () => Promise<void>) => Promise<void>): unknown;
  /** The path of a named route, below `mountPath`. */
  pathFor(name: string, options?: { mountPath?: string | undefined }): string;
  /** The class of the host's own part of a request's context. */
  readonly OIDCContext?: (new (context: never) => object) | undefined;
  /** The listeners of an event. Koa's `callback()` adds its own. */
  listeners?(event: "error"): readonly unknown[];
  /** Koa's own listener of errors. */
  readonly onerror?: unknown;
}

/** The part of a host class that the plug uses: its prototype. */
export interface OidcProviderClassLike {
  /** For codes and refresh tokens it has the method `consume`. */
  readonly prototype: object;
}

/** The parts of a `Provider` that `attach` uses. */
export interface OidcProviderSigningLike extends OidcProviderLike {
  /** The class of this provider's ID tokens. */
  readonly IdToken: {
    new (
      claims: Record<string, unknown>,
      context: { client: never },
    ): { set(claim: string, value: unknown): void; issue(context: { use: "authorization" }): Promise<string> };
    /** Verifies an `id_token_hint`. */
    validate(
      token: string,
      client: { readonly idTokenSignedResponseAlg?: unknown },
    ): Promise<{ header: Record<string, unknown>; payload: Record<string, unknown> }>;
  };
  /** The class of this provider's clients. */
  readonly Client: OidcProviderClassLike;
  /** The class for the results of `getResourceServerInfo`. */
  readonly ResourceServer: new (identifier: string, info: never) => object;
  /** The class of authorization codes. */
  readonly AuthorizationCode: OidcProviderClassLike;
  /** The class of refresh tokens. */
  readonly RefreshToken: OidcProviderClassLike;
  /** The class of device codes. */
  readonly DeviceCode: OidcProviderClassLike;
  /** The class of CIBA requests. */
  readonly BackchannelAuthenticationRequest: OidcProviderClassLike;
  /** The class of pre-authorized codes (OpenID4VCI). */
  readonly PreAuthorizedCode: OidcProviderClassLike;
  /** The class of pushed authorization requests (RFC 9126). */
  readonly PushedAuthorizationRequest: OidcProviderClassLike;
}

/** The parts of the current request that the plug uses. */
export interface RequestContext {
  readonly res?: {
    readonly destroyed?: boolean;
    /** Only over HTTP/2. Its response has no `destroyed`. */
    readonly stream?: { readonly destroyed?: boolean };
  };
  readonly oidc?: {
    readonly provider?: unknown;
    readonly params?: Readonly<Record<string, unknown>>;
    readonly client?: unknown;
  };
}

/** The current request of this provider, or of another provider of its class. Undefined outside a request. */
export function requestContext(provider: OidcProviderLike): RequestContext | undefined {
  return (provider.constructor as { readonly ctx?: RequestContext }).ctx;
}

/** The current request, if this provider answers it. */
export function answeredRequest(provider: OidcProviderLike): RequestContext | undefined {
  const context = requestContext(provider);
  return context?.oidc?.provider === provider ? context : undefined;
}

/** The experimental hook that this package uses and is tested with: host 9.11 to 9.13. */
export const ACKNOWLEDGED_HOOK = "experimental-01";

const HOOK_MEMBERS = ["kid", "alg", "use", "kty", "crv", "x", "y", "key_ops", "keyObject", "sign"];

/** Refuses a host whose hook has changed. */
export function requireKnownHook(hostClass: unknown, errors: unknown): void {
  if (typeof hostClass !== "function") {
    throw new ConfigurationError(
      "ExternalSigningKey",
      `expected the class with this name from oidc-provider, got ${given(hostClass)}`,
    );
  }
  const prototype: object = Object(hostClass.prototype);
  const missing = HOOK_MEMBERS.filter((name) => !Object.hasOwn(prototype, name));
  if (missing.length > 0) {
    throw new ConfigurationError(
      "ExternalSigningKey",
      `expected the class from oidc-provider 9.11 or later with the signing hook "${ACKNOWLEDGED_HOOK}"; this one is ` +
        `different (missing: ${missing.join(", ")}) and needs another version of @signpost/oidc-provider`,
    );
  }
  const { OIDCProviderError, TemporarilyUnavailable }: Partial<OidcProviderErrorsLike> = Object(errors);
  if (typeof OIDCProviderError !== "function" || typeof TemporarilyUnavailable !== "function") {
    throw new ConfigurationError("errors", `expected \`errors\` from oidc-provider, got ${given(errors)}`);
  }
}

const HOST_CLASSES = [
  "IdToken",
  "Client",
  "ResourceServer",
  "AuthorizationCode",
  "RefreshToken",
  "DeviceCode",
  "BackchannelAuthenticationRequest",
  "PreAuthorizedCode",
  "PushedAuthorizationRequest",
] as const;

/** Whether a provider has the classes that `attach` uses. */
export function isSigningHost(provider: object): provider is OidcProviderSigningLike {
  return missingClasses(provider).length === 0;
}

function missingClasses(provider: Partial<OidcProviderSigningLike>): readonly string[] {
  return HOST_CLASSES.filter((name) => typeof provider[name] !== "function");
}

/** Refuses a provider without the classes that the plug adds checks to. */
export function requireSigningHost(provider: Partial<OidcProviderSigningLike>): void {
  const missing = missingClasses(provider);
  if (missing.length === 0) return;
  const problem = `expected a Provider from oidc-provider 9.11 or later; this one is different (missing: ${missing.join(", ")})`;
  throw new ConfigurationError("provider", problem);
}
