import { createKeySet, type JwksDocument, type JwksEndpointOptions, type KeySet, serializeJwks } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Nginx, type NginxConf, startNginx } from "@signpost/test-backends/nginx";
import { onTestFinished } from "vitest";
import { endpointWith, type Replicas, startReplicas } from "./jwks-replicas.ts";

const START = Date.parse("2026-07-01T00:00:00Z");
export const LONG_CACHE = "public, max-age=3600, stale-while-revalidate=3600";
export const ROTATION_CACHE = "public, max-age=300, must-revalidate";

const CACHE_PATH = "proxy_cache_path any-cache keys_zone=any:1m inactive=3h;";
/** A cache as nginx's manual begins it, with more directives where a test wants them. */
export const defaultCache = (more = ""): NginxConf => ({
  http: CACHE_PATH,
  server: `location = /jwks { proxy_pass http://op; proxy_cache any; ${more} }`,
});
/** A reverse proxy that stores nothing. */
export const proxyOnly = (more = ""): NginxConf => ({ server: `location = /jwks { proxy_pass http://op; ${more} }` });

const [older, newer] = [await openLocalSigner(), await openLocalSigner()];
export const OLD_SET = createKeySet([{ keyId: "old", signer: older }]);
export const NEW_SET = createKeySet([
  { keyId: "new", signer: newer },
  { keyId: "old", signer: older },
]);
export const OLD: JwksDocument = serializeJwks(OLD_SET);
export const NEW: JwksDocument = serializeJwks(NEW_SET);

export interface CachedReplicas {
  readonly nginx: Nginx;
  readonly replicas: Replicas;
  /** What all replicas publish. */
  publish(keys: KeySet | undefined): void;
  rotating(on: boolean): void;
  /** Seconds since the start. */
  at(seconds: number): Promise<void>;
}

/** Everything is stopped at the end of the test. */
export async function startCachedReplicas(
  conf: NginxConf,
  options: Pick<JwksEndpointOptions, "weakIfNoneMatch" | "cors"> = {},
): Promise<CachedReplicas> {
  let keys: KeySet | undefined = OLD_SET;
  let rotation = false;
  const published = (): KeySet => {
    if (keys === undefined) throw new Error("no keys yet");
    return keys;
  };
  const endpoint = () => endpointWith({ keys: published, jwksRotationActive: () => rotation, ...options });
  const replicas = await startReplicas([endpoint(), endpoint(), endpoint()]);
  onTestFinished(() => replicas[Symbol.asyncDispose]());
  const nginx = await startNginx({ conf, upstreams: replicas.ports, faketime: new Date(START) });
  onTestFinished(() => nginx.stop());
  return {
    nginx,
    replicas,
    publish: (next) => {
      keys = next;
    },
    rotating: (on) => {
      rotation = on;
    },
    at: (seconds) => nginx.setClock(new Date(START + seconds * 1000)),
  };
}

export const textOf = ({ body }: { readonly body: Uint8Array }): string => Buffer.from(body).toString();
