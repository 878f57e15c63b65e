import { ConfigurationError } from "../errors.ts";
import { readOwnKeys, type ReadOwnKeys } from "../keyset/own-keys.ts";
import { serializeJwks } from "../keyset/serialize.ts";
import { currentKeySet, lastKeySet } from "../keyset/source.ts";
import type { EncryptionKey, JwksDocument, KeySet, KeySetSource, LegacyKey, OwnKeys } from "../keyset/types.ts";
import { assertOptions, type OptionNames } from "../options/assert-options.ts";
import { readClock } from "../options/read-clock.ts";
import { readCallback, readChoice, readFlag, readNumber } from "../options/read-values.ts";
import { createCacheMode } from "./cache-mode.ts";
import { createCertificateReport } from "./certificate-report.ts";
import { askedOf, type PreflightHeaders } from "./cors.ts";
import { createFailureReport } from "./failure-report.ts";
import { createFirstLook, requestedPath } from "./first-request.ts";
import type { WeakIfNoneMatch } from "./if-none-match.ts";
import type { NodeRequest, NodeResponse } from "./node-messages.ts";
import { requestPath } from "./request-path.ts";
import { respondTo } from "./respond.ts";
import type { JwksResponse } from "./respond.ts";
import { resolveRoutes, ROUTE_OPTIONS } from "./routes.ts";
import type { RouteOptions } from "./routes.ts";
import { writeResponse } from "./write-response.ts";

/** Options of `createJwksEndpoint`. */
export interface JwksEndpointOptions extends RouteOptions {
  /**
   * The OP's own keys: a set from `createKeySet`, a function that returns the current set (the same object until something
   * changes), a rotation schedule, which also provides its cache mode, or a list of entries.
   */
  readonly keys: OwnKeys;
  /** Only with a list of entries. For a set, pass it to `createKeySet`. Default none. */
  readonly encryptionKeyset?: readonly EncryptionKey[] | undefined;
  /** Only with a list of entries. For a set, pass it to `createKeySet`. Default none. */
  readonly legacyVerificationKeys?: readonly LegacyKey[] | undefined;
  /**
   * Called on every GET and HEAD. `true` gives that response the short cache lifetime. Any other result gives it the long
   * one, and so does a predicate that throws or returns a promise. Default: the predicate of the schedule if `keys` is one
   * (`null` turns it off), otherwise none.
   */
  readonly jwksRotationActive?: (() => boolean) | null | undefined;
  /**
   * `"ignore"` (default): a weak `If-None-Match` never matches. `"match"`: the weak comparison of RFC 9110 section
   * 13.1.2, for deployments behind a proxy that weakens entity tags.
   */
  readonly weakIfNoneMatch?: WeakIfNoneMatch | undefined;
  /**
   * Lets browsers of any origin read the set, and answers their preflights. Default false. An endpoint that
   * `@signpost/oidc-provider` mounts is readable from any origin in either case.
   */
  readonly cors?: boolean | undefined;
  /**
   * Called when the key source or the predicate fails, once until it works again. Also called once if the first request to
   * `listener` or `fetch` has a path other than `pathname`. Called with `ConfigurationError` `certificate_expires_soon` when a
   * request finds that a certificate of a key expires soon, and with `certificate_expired` when it has expired: each once for
   * each chain. Errors that it throws are dropped. Default: not called.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** How many days before a certificate expires `onError` is called. Default 30; 0 to 365. */
  readonly certificateNoticeDays?: number | undefined;
  /** The clock for the validity of certificates, in milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Members of the OP's discovery document (OpenID Connect Discovery 1.0 section 3). */
export interface JwksMetadata {
  /** The absolute URL of the key set. */
  jwks_uri: string;
  /** The only algorithm of the OP's ID tokens. */
  id_token_signing_alg_values_supported: ["ES256"];
}

/**
 * The endpoint of an OP's key set. You can pass its methods around without `this`. It does not check the URL of a request,
 * since routing is your server's job and proxies may strip prefixes. But if the first request has a path other than
 * `pathname`, `onError` is called.
 */
export interface JwksEndpoint {
  /** The absolute URL that RPs fetch: `https://op.example/oidc/jwks`. */
  readonly jwksUri: string;
  /** The path of that URL, as a server at the root of the host sees it: `/oidc/jwks`. */
  readonly pathname: string;
  /** The path below the issuer's path, for a router mounted there: `/jwks`. Equals `pathname` if the issuer has no path. */
  readonly routePath: string;
  /**
   * Whether a request target, such as `req.url` of `node:http`, is for this endpoint: its path must equal `pathname` byte
   * for byte, with or without a query. The target may be in absolute form (RFC 9112 section 3.2.2).
   */
  matches(requestTarget: string | undefined): boolean;
  /**
   * Spread this into the OP's discovery document. ES256 is the only algorithm that this OP signs with. OpenID Connect
   * Discovery 1.0 section 3 also requires RS256, but Signpost does not support it by design.
   */
  readonly metadata: Readonly<JwksMetadata>;
  /**
   * The response to a request with this method (case-sensitive) and `If-None-Match` value (joined if the request has more
   * than one). With `cors: true`, OPTIONS is answered as a preflight if `asked` has its headers, and with `405` otherwise.
   */
  respond(method: string, ifNoneMatch?: string | null, asked?: PreflightHeaders): JwksResponse;
  /** For servers that use the Fetch standard: Hono, Next, Deno, Bun and others. */
  fetch(request: Request): Response;
  /** For `node:http`, `node:https`, `node:http2`, Express, Fastify (raw, after `reply.hijack()`) and Koa (raw, with `ctx.respond = false`). */
  listener(req: NodeRequest, res: NodeResponse): void;
  /**
   * For `app.use` of Express, NestJS and other Connect-style servers. Serves a request whose path equals `pathname` byte for
   * byte, and calls `next` for all others. Where a router has stripped its prefix from `req.url`, `req.originalUrl` counts.
   */
  middleware(req: NodeRequest, res: NodeResponse, next: () => void): void;
}

/**
 * Creates the endpoint that publishes the OP's keys (RFC 7517 section 5) with the right cache headers.
 *
 * If the key source throws, or returns a set that is refused, the endpoint keeps serving the last accepted set. If there
 * is none yet, the response is `500` with `Cache-Control: no-store`.
 *
 * @throws ConfigurationError that names the option.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createJwksEndpoint, type Signer } from "@signpost/core";
 *
 * export function servePublicKey(signer: Signer): void {
 *   const jwks = createJwksEndpoint({ issuer: "https://op.example", keys: [{ keyId: "sig-2026", signer }] });
 *   createServer((req, res) => {
 *     if (jwks.matches(req.url)) jwks.listener(req, res);
 *     else res.writeHead(404).end();
 *   }).listen(8080);
 * }
 * ```
 */
export function createJwksEndpoint(options: JwksEndpointOptions): JwksEndpoint {
  assertOptions("options", options, ENDPOINT_OPTIONS);
  const { weakIfNoneMatch = "ignore" } = options;
  const routes = resolveRoutes(options);
  const onError = readCallback("onError", options.onError);
  const { source, jwksRotationActive } = readKeys(options);
  const { certificateNoticeDays = DEFAULT_NOTICE_DAYS, now = Date.now } = options;
  readClock(now);
  const noticeMs = DAY_MS * readNumber("certificateNoticeDays", certificateNoticeDays, 0, MAX_NOTICE_DAYS);
  const state = {
    weakIfNoneMatch: readChoice("weakIfNoneMatch", weakIfNoneMatch, ["ignore", "match"]),
    cors: readFlag("cors", options.cors),
    document: createDocumentSource(source, onError, createCertificateReport({ noticeMs, now, onError })),
    // Null is a valid choice: it turns off the schedule's cache mode.
    cacheControl: createCacheMode(
      options.jwksRotationActive === undefined ? jwksRotationActive : options.jwksRotationActive,
      onError,
    ),
  };
  const respond = (method: string, ifNoneMatch?: string | null, asked?: PreflightHeaders): JwksResponse =>
    respondTo(state, method, ifNoneMatch, asked);
  const look = createFirstLook(routes, onError);
  const listener = (req: NodeRequest, res: NodeResponse): void => {
    look(() => requestedPath(req));
    const asked = req.method === "OPTIONS" ? askedOf((name) => req.headers[name]?.toString()) : undefined;
    writeResponse(res, respond(req.method ?? "", req.headers["if-none-match"], asked));
  };
  return Object.freeze({
    ...routes,
    matches: (requestTarget: string | undefined) => requestPath(requestTarget) === routes.pathname,
    metadata: Object.freeze({
      jwks_uri: routes.jwksUri,
      id_token_signing_alg_values_supported: Object.freeze(["ES256"]) as ["ES256"],
    }),
    respond,
    fetch: (request: Request) => {
      look(() => new URL(request.url).pathname);
      const asked = request.method === "OPTIONS" ? askedOf((name) => request.headers.get(name)) : undefined;
      const { status, headers, body } = respond(request.method, request.headers.get("If-None-Match"), asked);
      return new Response(body, { status, headers });
    },
    listener,
    middleware: (req: NodeRequest, res: NodeResponse, next: () => void) => {
      if (requestedPath(req) === routes.pathname) listener(req, res);
      else next();
    },
  });
}

const DAY_MS = 86_400_000;
const DEFAULT_NOTICE_DAYS = 30;
const MAX_NOTICE_DAYS = 365;

const ENDPOINT_OPTIONS: OptionNames<JwksEndpointOptions> = {
  ...ROUTE_OPTIONS,
  keys: true,
  encryptionKeyset: true,
  legacyVerificationKeys: true,
  jwksRotationActive: true,
  weakIfNoneMatch: true,
  cors: true,
  onError: true,
  certificateNoticeDays: true,
  now: true,
};

function readKeys({ keys, encryptionKeyset, legacyVerificationKeys, now }: JwksEndpointOptions): ReadOwnKeys {
  if (Array.isArray(keys)) return readOwnKeys(keys, { encryptionKeyset, legacyVerificationKeys, now });
  for (const [name, value] of Object.entries({ encryptionKeyset, legacyVerificationKeys })) {
    if (value !== undefined) {
      throw new ConfigurationError(name, "only allowed if keys is a list of entries; pass it to createKeySet instead");
    }
  }
  return readOwnKeys(keys);
}

function createDocumentSource(
  source: KeySetSource,
  onError: ((error: unknown) => void) | undefined,
  reportCertificates: (set: KeySet) => void,
): () => JwksDocument | undefined {
  const report = createFailureReport(onError);
  const currentOrLast = (): KeySet | undefined => {
    try {
      const set = currentKeySet(source);
      report.recovered();
      return set;
    } catch (error) {
      report.failed(error);
      return lastKeySet(source);
    }
  };
  return () => {
    const set = currentOrLast();
    if (set === undefined) return undefined;
    reportCertificates(set);
    return serializeJwks(set);
  };
}
