import { ConfigurationError } from "@signpost/core";

/** What is used of the host's `ExternalSigningKey` class: an instance whose members are then defined by us. */
export type HostSigningKeyClass<Key extends object = object> = new () => Key;

/** What is used of the host's `errors`. */
export interface HostErrors {
  readonly OIDCProviderError: new (status: number, message: string) => Error;
  readonly TemporarilyUnavailable: new (description?: string) => Error & { status: number; statusCode: number };
}

/** What is used of a request's Koa context. */
export interface HostContext {
  readonly path: string;
  readonly req: import("node:http").IncomingMessage;
  readonly res: import("node:http").ServerResponse;
  status: number;
  type: string;
  body: unknown;
  respond?: boolean | undefined;
  /** The name of the host's route that answered. */
  readonly routerName?: string | undefined;
  set(field: string, value: string): void;
  remove(field: string): void;
}

/** What is used of a `Provider`. */
export interface HostProvider {
  readonly issuer: string;
  use(middleware: (context: HostContext, next: () => Promise<void>) => Promise<void>): unknown;
  pathFor(name: string, options?: { mountPath?: string | undefined }): string;
}

/** The experimental hook that this package was written for and tested against: host 9.11 to 9.13. */
export const ACKNOWLEDGED_HOOK = "experimental-01";

const HOOK_MEMBERS = ["kid", "alg", "use", "kty", "crv", "x", "y", "key_ops", "keyObject", "sign"];

/** Refuses a host whose hook has other members than the one that we know. */
export function requireKnownHook(hostClass: unknown, errors: unknown): void {
  const prototype: unknown = typeof hostClass === "function" ? hostClass.prototype : undefined;
  const missing =
    typeof prototype === "object" && prototype !== null
      ? HOOK_MEMBERS.filter((name) => !Object.hasOwn(prototype, name))
      : ["class"];
  if (missing.length > 0) {
    throw new ConfigurationError(
      "ExternalSigningKey",
      `expected the class of an oidc-provider whose external signing hook is "${ACKNOWLEDGED_HOOK}" (9.11 or later); ` +
        `this one has changed (missing: ${missing.join(", ")}), and needs another version of @signpost/oidc-provider`,
    );
  }
  const { OIDCProviderError, TemporarilyUnavailable }: Partial<HostErrors> = Object(errors);
  if (typeof OIDCProviderError !== "function" || typeof TemporarilyUnavailable !== "function") {
    throw new ConfigurationError("errors", "expected the `errors` that oidc-provider exports");
  }
}
