import type { IncomingMessage, ServerResponse } from "node:http";
import { ConfigurationError } from "@signpost/core";
import { given } from "@signpost/core/adapter";

/** What is used of the host's `ExternalSigningKey` class: an instance whose members are then defined by us. */
export type ExternalSigningKeyClassLike<Key extends object = object> = new () => Key;

/** What is used of the host's `errors`. */
export interface OidcProviderErrorsLike {
  /** The class for an error that is not the client's fault. */
  readonly OIDCProviderError: new (status: number, message: string) => Error;
  /** The class for an error that passes, whose status we set. */
  readonly TemporarilyUnavailable: new (description?: string) => Error & { status: number; statusCode: number };
}

/** What is used of a request's Koa context. */
export interface OidcProviderContextLike {
  /** The path below the place where the host is mounted. */
  readonly path: string;
  /** The Koa app that was asked, which knows whether to trust a proxy: that of `koa-mount`, or the provider. */
  readonly app: { readonly proxy?: boolean | undefined };
  /** The host that was asked, with its port where that is not the scheme's own. */
  readonly host: string;
  /** The scheme that was asked by, as far as Koa knows of proxies. */
  readonly protocol: string;
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
  /** Koa's request: its URL is the one below the place where the host is mounted. */
  readonly request: { readonly url: string };
  /** Where `koa-mount` has mounted the host. */
  readonly mountPath?: string | undefined;
  /** The status of the response. */
  status: number;
  /** The media type of the response. */
  type: string;
  /** The body of the response, as Koa takes it. */
  body: unknown;
  /** `false` tells Koa that the response is written without it. */
  respond?: boolean | undefined;
  /** The name of the host's route that answered. */
  readonly routerName?: string | undefined;
  /** Sets a header of the response. */
  set(field: string, value: string): void;
  /** Removes a header of the response. */
  remove(field: string): void;
}

/** What is used of a `Provider`. */
export interface OidcProviderLike {
  /** The issuer that it was constructed with. */
  readonly issuer: string;
  /** Adds a Koa middleware in front of the host's routes. */
  use(middleware: (context: OidcProviderContextLike, next: () => Promise<void>) => Promise<void>): unknown;
  /** The path of a named route, below `mountPath`. */
  pathFor(name: string, options?: { mountPath?: string | undefined }): string;
  /** The listeners of an event: Koa's `callback()` adds its own. */
  listeners?(event: "error"): readonly unknown[];
  /** Koa's own listener of errors. */
  readonly onerror?: unknown;
}

/** What is used of a class of the host: what its instances share. */
export interface OidcProviderClassLike {
  /** Of what is spent (a code, a refresh token), it has `consume`. */
  readonly prototype: object;
}

/** What is used of a `Provider` that signs with keys of Signpost. */
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
  /** The class that holds what `getResourceServerInfo` gives. */
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
}

/** What is used of the request that a provider answers. */
export interface RequestContext {
  readonly oidc?: {
    readonly provider?: unknown;
    readonly params?: Readonly<Record<string, unknown>>;
    readonly client?: unknown;
  };
}

/** The request that is answered now, by this provider or by another one of its class. Undefined outside of requests. */
export function requestContext(provider: OidcProviderLike): RequestContext | undefined {
  return (provider.constructor as { readonly ctx?: RequestContext }).ctx;
}

/** The request that this very provider answers now. */
export function answeredRequest(provider: OidcProviderLike): RequestContext | undefined {
  const context = requestContext(provider);
  return context?.oidc?.provider === provider ? context : undefined;
}

/** The experimental hook that this package was written for and tested against: host 9.11 to 9.13. */
export const ACKNOWLEDGED_HOOK = "experimental-01";

const HOOK_MEMBERS = ["kid", "alg", "use", "kty", "crv", "x", "y", "key_ops", "keyObject", "sign"];

/** Refuses a host whose hook has other members than the one that we know. */
export function requireKnownHook(hostClass: unknown, errors: unknown): void {
  if (typeof hostClass !== "function") {
    throw new ConfigurationError(
      "ExternalSigningKey",
      `expected the class of this name that oidc-provider exports, got ${given(hostClass)}`,
    );
  }
  const prototype: object = Object(hostClass.prototype);
  const missing = HOOK_MEMBERS.filter((name) => !Object.hasOwn(prototype, name));
  if (missing.length > 0) {
    throw new ConfigurationError(
      "ExternalSigningKey",
      `expected the class of an oidc-provider whose external signing hook is "${ACKNOWLEDGED_HOOK}" (9.11 or later); ` +
        `this one has changed (missing: ${missing.join(", ")}), and needs another version of @signpost/oidc-provider`,
    );
  }
  const { OIDCProviderError, TemporarilyUnavailable }: Partial<OidcProviderErrorsLike> = Object(errors);
  if (typeof OIDCProviderError !== "function" || typeof TemporarilyUnavailable !== "function") {
    throw new ConfigurationError("errors", `expected the \`errors\` that oidc-provider exports, got ${given(errors)}`);
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
] as const;

/** Refuses a provider without the classes that we put checks in front of. */
export function requireSigningHost(provider: Partial<OidcProviderSigningLike>): void {
  const missing = HOST_CLASSES.filter((name) => typeof provider[name] !== "function");
  if (missing.length === 0) return;
  const problem = `expected a Provider of oidc-provider 9.11 or later; this one has changed (missing: ${missing.join(", ")})`;
  throw new ConfigurationError("provider", problem);
}
