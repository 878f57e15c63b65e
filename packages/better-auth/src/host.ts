import { ConfigurationError } from "@signpost/core";

/** The payload, the header and the pinned key or algorithm of a token, as the host passes them to its `jwt.sign`. */
export type SignFunction = (payload: object, header?: object, signing?: object) => Promise<string>;

/** The host's plugin: what `jwt()` of `better-auth/plugins` returns. */
export interface JwtPluginLike {
  /** `"jwt"`. Other plugins of the host find it by this id. */
  readonly id: string;
  /** The host's API. The plug replaces the result of `getJwks`. */
  readonly endpoints: { readonly getJwks: unknown };
}

/** The host's `jwt` function: `import { jwt } from "better-auth/plugins"`. */
export type JwtFunctionLike = (options?: never) => JwtPluginLike;

/** The host's `APIError`: `import { APIError } from "better-auth/api"`. */
export type ApiErrorClassLike = new (
  status: "SERVICE_UNAVAILABLE" | "INTERNAL_SERVER_ERROR",
  body: Record<string, string>,
  headers: Record<string, string>,
) => Error;

/** The part of the host's context that the plug reads. */
export interface HostContext {
  /** The URL that the host answers below, with its base path. Empty if it is only known with a request. */
  readonly baseURL: string;
  /** The host's log, which its operator configured. */
  readonly logger: { error(message: string, ...details: unknown[]): void };
  /** The host's database. */
  readonly adapter: { findOne(query: { model: string; where: { field: string; value: string }[] }): Promise<unknown> };
  readonly options: {
    readonly basePath?: string | undefined;
    readonly advanced?: { readonly skipTrailingSlashes?: boolean | undefined } | undefined;
    readonly plugins?: readonly { readonly id: string; readonly options?: unknown }[] | undefined;
  };
}

/** The members of the host's plugin that the plug wraps. */
export interface HostPlugin {
  readonly init?: (context: HostContext) => unknown;
  readonly endpoints: { readonly getJwks: (context?: unknown) => Promise<unknown> };
  readonly hooks?: { readonly before?: readonly CallHook[]; readonly after?: readonly unknown[] };
}

/** What a plugin of the host may do with a request before the host routes it. */
export type RequestHook = (request: Request, context: HostContext) => Promise<{ response: Response } | undefined>;

/** A call of an endpoint, over HTTP or through `auth.api`. Its parameters are not checked yet. */
export interface Call {
  readonly path?: string | undefined;
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly context: HostContext;
}

/** Parameters that replace those of the call. */
export interface ChangedCall {
  readonly response: { readonly context: Partial<Record<"query" | "body", object>> };
}

/** What a plugin of the host may do with a call. It rejects to end the call. */
export interface CallHook {
  readonly matcher: (call: Call) => boolean;
  readonly handler: (call: Call) => Promise<ChangedCall | undefined>;
}

/** The path that the host answers below: `/api/auth` by default. */
export function basePathOf({ baseURL, options }: HostContext): string {
  const path = baseURL === "" ? (options.basePath ?? "/api/auth") : new URL(baseURL).pathname;
  // The host adds a slash at the start, and its router takes none at the end.
  return path.replace(/^(?!\/)/, "/").replace(/\/+$/, "");
}

/** The host has one plugin for each id. With two, some tokens would be signed with a key of its database. */
export function requireOneJwtPlugin({ options }: HostContext): void {
  const count = options.plugins?.filter(({ id }) => id === "jwt").length ?? 0;
  if (count < 2) return;
  throw new ConfigurationError(
    "plugins",
    `expected one plugin with the id "jwt", got ${count}: signpostJwt replaces jwt()`,
  );
}

const OAUTH_PROVIDER = "oauth-provider";

/** The options of `@better-auth/oauth-provider`, if the host has it. */
export function oauthProviderOptions({
  options,
}: Pick<HostContext, "options">): Readonly<Record<string, unknown>> | undefined {
  const plugin = options.plugins?.find(({ id }) => id === OAUTH_PROVIDER);
  return plugin === undefined ? undefined : Object(plugin.options ?? {});
}

/** The same if the provider signs with the key. With `disableJwtPlugin`, it signs with the secrets of its clients. */
export function signingProviderOptions(context: HostContext): Readonly<Record<string, unknown>> | undefined {
  const options = oauthProviderOptions(context);
  return options?.["disableJwtPlugin"] === true ? undefined : options;
}
