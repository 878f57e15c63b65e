import type { IncomingMessage, ServerResponse } from "node:http";
import { ConfigurationError } from "../errors.ts";
import { readKeySet } from "../keyset/create-key-set.ts";
import { serializeJwks } from "../keyset/serialize.ts";
import { currentKeySet, lastKeySet, requireSource } from "../keyset/source.ts";
import type { EncryptionKey, JwksDocument, KeySetEntry, KeySetSource, LegacyKey } from "../keyset/types.ts";
import { requireObject } from "../options.ts";
import { createCacheMode } from "./cache-mode.ts";
import { createFailureReport } from "./failure-report.ts";
import type { WeakIfNoneMatch } from "./if-none-match.ts";
import { respondTo } from "./respond.ts";
import type { JwksResponse } from "./respond.ts";
import { readFlag, resolveRoutes } from "./routes.ts";
import type { RouteOptions } from "./routes.ts";
import { writeResponse } from "./write-response.ts";

export interface JwksEndpointOptions extends RouteOptions {
  /**
   * A set made by `createKeySet`, a function that returns the one of this moment (the same object until something
   * changed), or the list of entries itself.
   */
  readonly keyset: KeySetSource | readonly KeySetEntry[];
  /** Only beside a list of entries: a set has its own. */
  readonly encryptionKeyset?: readonly EncryptionKey[] | undefined;
  /** Only beside a list of entries: a set has its own. */
  readonly legacyVerificationKeys?: readonly LegacyKey[] | undefined;
  /**
   * Asked on every GET and HEAD; `true` puts the short cache lifetime on that response. Anything else, no predicate,
   * or one that throws or returns a promise means the long one.
   */
  readonly jwksRotationActive?: (() => boolean) | null | undefined;
  /**
   * `"ignore"` (default): a weak `If-None-Match` never matches. `"match"`: the weak comparison of RFC 9110 section
   * 13.1.2, for deployments behind a proxy that weakens entity tags.
   */
  readonly weakIfNoneMatch?: WeakIfNoneMatch | undefined;
  /** Lets browsers of any origin read the set. Default false. */
  readonly cors?: boolean | undefined;
  /**
   * Told when the key source or the predicate fails, once until it works again. What it throws is dropped.
   */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface JwksMetadata {
  jwks_uri: string;
  id_token_signing_alg_values_supported: ["ES256"];
}

/** The members are bound, and none looks at the URL of a request: mounting is the router's. */
export interface JwksEndpoint {
  /** Mount prefix and path, for the router: `/jwks`. */
  readonly path: string;
  /** The absolute URL that RPs fetch. */
  readonly jwksUri: string;
  /**
   * To be spread into the OP's own discovery document. ES256 is the one algorithm that this OP signs with; OpenID
   * Connect Discovery 1.0 section 3 asks OPs to support RS256 as well, and Signpost decides against it.
   */
  readonly metadata: Readonly<JwksMetadata>;
  /** The response to a method, which is case-sensitive, and an `If-None-Match` value (joined, when it came more than once). */
  respond(method: string, ifNoneMatch?: string | null): JwksResponse;
  /** For servers in the style of the Fetch standard: Hono, Next, Deno, Bun and others. */
  fetch(request: Request): Response;
  /** For `node:http`, Express, Fastify (raw, after `reply.hijack()`) and Koa (raw, with `ctx.respond = false`). */
  listener(req: IncomingMessage, res: ServerResponse): void;
}

/**
 * Makes the endpoint that publishes the OP's keys (RFC 7517 section 5), with its caching contract.
 *
 * A key source that throws, or gives a set that is refused, leaves the endpoint with the last set that it accepted;
 * until there was one, the answer is `500` with `Cache-Control: no-store`.
 *
 * @throws ConfigurationError naming the option.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createJwksEndpoint, requestPath, type Signer } from "@signpost/core";
 *
 * export function servePublicKey(signer: Signer): void {
 *   const jwks = createJwksEndpoint({ issuer: "https://op.example", keyset: [{ keyId: "sig-2026", signer }] });
 *   createServer((req, res) => {
 *     if (requestPath(req.url) === jwks.path) jwks.listener(req, res);
 *     else res.writeHead(404).end();
 *   }).listen(8080);
 * }
 * ```
 */
export function createJwksEndpoint(options: JwksEndpointOptions): JwksEndpoint {
  requireObject("options", options);
  const { path, jwksUri } = resolveRoutes(options);
  const { onError, weakIfNoneMatch = "ignore" } = options;
  if (onError !== undefined && typeof onError !== "function") {
    throw new ConfigurationError("onError", "expected a function, or nothing");
  }
  if (weakIfNoneMatch !== "ignore" && weakIfNoneMatch !== "match") {
    throw new ConfigurationError("weakIfNoneMatch", 'expected "ignore" or "match"');
  }
  const state = {
    weakIfNoneMatch,
    cors: readFlag("cors", options.cors),
    document: createDocumentSource(readKeys(options), onError),
    cacheControl: createCacheMode(options.jwksRotationActive, onError),
  };
  const respond = (method: string, ifNoneMatch?: string | null): JwksResponse => respondTo(state, method, ifNoneMatch);
  return Object.freeze({
    path,
    jwksUri,
    metadata: Object.freeze({
      jwks_uri: jwksUri,
      id_token_signing_alg_values_supported: Object.freeze(["ES256"]) as ["ES256"],
    }),
    respond,
    fetch: (request: Request) => {
      const { status, headers, body } = respond(request.method, request.headers.get("If-None-Match"));
      return new Response(body, { status, headers });
    },
    listener: (req: IncomingMessage, res: ServerResponse) => {
      writeResponse(res, respond(req.method ?? "", req.headers["if-none-match"]));
    },
  });
}

function readKeys(options: JwksEndpointOptions): KeySetSource {
  const { keyset, encryptionKeyset, legacyVerificationKeys } = options;
  if (isEntryList(keyset)) return readKeySet("keyset", keyset, { encryptionKeyset, legacyVerificationKeys });
  for (const [name, value] of Object.entries({ encryptionKeyset, legacyVerificationKeys })) {
    if (value !== undefined) {
      throw new ConfigurationError(name, "expected only beside a list of entries; give it to createKeySet instead");
    }
  }
  requireSource(keyset);
  return keyset;
}

function isEntryList(keyset: JwksEndpointOptions["keyset"]): keyset is readonly KeySetEntry[] {
  return Array.isArray(keyset);
}

function createDocumentSource(
  source: KeySetSource,
  onError: ((error: unknown) => void) | undefined,
): () => JwksDocument | undefined {
  const report = createFailureReport(onError);
  return () => {
    try {
      const document = serializeJwks(currentKeySet(source));
      report.recovered();
      return document;
    } catch (error) {
      report.failed(error);
      const last = lastKeySet(source);
      return last === undefined ? undefined : serializeJwks(last);
    }
  };
}
