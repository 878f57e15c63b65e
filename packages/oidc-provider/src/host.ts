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
  /** Node's request. */
  readonly req: IncomingMessage;
  /** Node's response. */
  readonly res: ServerResponse;
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
