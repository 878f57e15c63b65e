import { createJwksEndpoint } from "@signpost/core";
import { RECOMMENDED_CONF, startNginx, type NginxConf } from "@signpost/test-backends/nginx";
import { expect, onTestFinished, test } from "vitest";
import { OLD_SET, defaultCache, proxyOnly } from "./support/cached-replicas.ts";
import { signpostCheck, type Checked } from "./support/check.ts";
import { startLoopbackServer } from "./support/loopback-server.ts";

// What `signpost check` says of a Signpost endpoint behind nginx, by its configuration.

const GZIP = "gzip on; gzip_types application/jwk-set+json; gzip_min_length 1; gzip_proxied any;";

/** With `gzip_vary`, nginx sends `Vary` in a 200 and not in a 304. RFC 9110 section 15.4.5 says that it must. */
const VARY = { "304-headers": "must" };
const WEAK = { "304-weak": "note" };

async function behind(conf: NginxConf, ...args: readonly string[]): Promise<Checked> {
  const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: OLD_SET });
  const op = await startLoopbackServer(endpoint.listener);
  onTestFinished(() => op.close());
  const nginx = await startNginx({ conf, upstreams: [op.port] });
  onTestFinished(() => nginx.stop());
  return signpostCheck(`${nginx.origin}/jwks`, ...args);
}

test.each<readonly [string, NginxConf, readonly string[], Checked]>([
  // nginx compares weakly, and answers from its copy.
  ["the recommended cache", RECOMMENDED_CONF, ["--strict"], { code: 0, verdicts: { "signpost-weak": "note" } }],
  ["a proxy", proxyOnly(), ["--strict"], { code: 0, verdicts: WEAK }],
  // The ETag becomes weak, and the endpoint then answers 200.
  [
    "a proxy that compresses",
    proxyOnly(`${GZIP} gzip_vary on;`),
    [],
    { code: 1, verdicts: { ...WEAK, ...VARY, compression: "should" } },
  ],
  ["a cache that compresses", defaultCache(`${GZIP} gzip_vary on;`), [], { code: 1, verdicts: VARY }],
  ["a cache that compresses without Vary", defaultCache(GZIP), [], { code: 1, verdicts: { compression: "should" } }],
  [
    "a proxy with its own lifetime",
    proxyOnly("expires 30d;"),
    [],
    { code: 1, verdicts: { ...WEAK, announcement: "should" } },
  ],
  [
    "a proxy that adds a lifetime",
    proxyOnly("add_header Cache-Control max-age=60;"),
    [],
    { code: 1, verdicts: { ...WEAK, lifetime: "must" } },
  ],
  [
    "a proxy that lets only GET through",
    proxyOnly("limit_except GET { deny all; }"),
    [],
    { code: 1, verdicts: { ...WEAK, method: "should" } },
  ],
  ["a proxy that drops the ETag", proxyOnly("proxy_hide_header ETag;"), [], { code: 1, verdicts: { etag: "should" } }],
])("%s", async (_name, conf, args, expected) => {
  await expect(behind(conf, ...args)).resolves.toEqual(expected);
});
