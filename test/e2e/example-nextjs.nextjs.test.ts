import { createHash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { createNextApp, type NextApp, type RunningNextApp } from "@signpost/test-backends/nextjs";
import { createRemoteKeySet } from "@signpost/verify";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { askNextApp, headersOf } from "./support/next-app.ts";

const ISSUER = "https://op.example/oidc";
const PATH = "/oidc/jwks";
const LONG_CACHE = "public, max-age=3600, stale-while-revalidate=3600";
// Next.js adds it to every response of the app router.
const VARY = "rsc, next-router-state-tree, next-router-prefetch, next-router-segment-prefetch";

/** A module that runs first, and sets the server's clock ahead by what a file says. */
const CLOCK = `
  import { readFileSync } from "node:fs";
  const real = Date.now;
  Date.now = () => real() + Number(readFileSync(process.env.CLOCK_FILE, "utf8"));
`;

async function readKeySet(port: number): Promise<{ readonly text: string; readonly etag: string }> {
  const response = await fetch(`http://127.0.0.1:${port}${PATH}`);
  const text = await response.text();
  return { text, etag: `"${createHash("sha256").update(text).digest("hex")}"` };
}

describe("the Next.js example", () => {
  let app: NextApp;
  let server: RunningNextApp;
  const folder = mkdtempSync(join(tmpdir(), "signpost-nextjs-"));
  const clockFile = join(folder, "clock");
  const cleanUps: (() => Promise<void>)[] = [() => rm(folder, { recursive: true })];

  beforeAll(async () => {
    app = await createNextApp("nextjs");
    cleanUps.push(() => app.remove());
    await writeFile(clockFile, "0");
    await app.write("clock.mjs", CLOCK);
    // A build opens no keys: this issuer would be refused.
    await app.build({ ISSUER: "http://op.example" });
    const env = { ISSUER, CLOCK_FILE: clockFile, NODE_OPTIONS: "--import ./clock.mjs" };
    server = await app.start({ env });
    cleanUps.push(() => server.stop());
  }, 150_000);
  afterAll(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("serves the exact bytes with our headers, without Content-Length and with Next's Vary", async () => {
    const { text, etag } = await readKeySet(server.port);
    const full = {
      allow: "GET, HEAD",
      "cache-control": LONG_CACHE,
      "content-type": "application/jwk-set+json",
      etag,
      vary: VARY,
    };
    for (const method of ["GET", "HEAD"]) {
      const response = await askNextApp(server.port, { method, headers: [["Accept-Encoding", "gzip, br"]] });
      expect([response?.status, headersOf(response)]).toEqual([200, full]);
    }
    expect(text).toMatch(
      /^\{"keys":\[\{"kty":"EC","crv":"P-256","x":"[^"]+","y":"[^"]+","kid":"[^"]+","alg":"ES256","use":"sig"\}\]\}$/,
    );
    for (const method of ["GET", "HEAD"]) {
      const response = await askNextApp(server.port, { method, headers: [["If-None-Match", `"other", ${etag}`]] });
      const headers = { "cache-control": LONG_CACHE, etag, vary: VARY };
      expect([response?.status, headersOf(response), response?.body.toString()]).toEqual([304, headers, ""]);
    }
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s gets our 405", async (method) => {
    const response = await fetch(`http://127.0.0.1:${server.port}${PATH}`, { method });
    expect([response.status, response.headers.get("allow"), response.headers.get("cache-control")]).toEqual([
      405,
      "GET, HEAD",
      "no-store",
    ]);
    expect(await response.text()).toBe("method not allowed\n");
  });

  test("serves the discovery document, and redirects a trailing slash to the key set", async () => {
    const discovery = await fetch(`http://127.0.0.1:${server.port}/oidc/.well-known/openid-configuration`);
    expect(await discovery.json()).toEqual({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/jwks`,
      id_token_signing_alg_values_supported: ["ES256"],
    });
    expect((await askNextApp(server.port, { target: `${PATH}/` }))?.status).toBe(308);
    expect((await askNextApp(server.port, { target: "/OIDC/jwks" }))?.status).toBe(404);
  });

  test("none of 1,000 tokens is wrong through a rotation: both routes share one set of keys", async () => {
    const url = new URL(`http://127.0.0.1:${server.port}${PATH}`);
    const parties = [createRemoteKeySet(url, { allowInsecureLoopback: true }), createRemoteJWKSet(url)];
    const kids = new Set<string | undefined>();
    const sets = new Set<string>();
    const wrong: string[] = [];
    // The second key is published from January 1, 2030, and signs from January 2.
    const start = Date.parse("2029-12-31T18:00:00Z");
    const rounds = 40;
    for (let round = 0; round < rounds; round += 1) {
      const now = start + round * 3_600_000;
      vi.useRealTimers();
      await writeFile(clockFile, String(now - Date.now()));
      vi.useFakeTimers({ toFake: ["Date"], now });
      const tokens = await Promise.all(
        Array.from({ length: 1000 / rounds }, async () => {
          const response = await fetch(new URL("/oidc/token", url), { method: "POST" });
          return ((await response.json()) as { id_token: string }).id_token;
        }),
      );
      for (const token of tokens) {
        kids.add(decodeProtectedHeader(token).kid);
        for (const keys of parties) {
          await jwtVerify(token, keys, { issuer: ISSUER, audience: "rp", algorithms: ["ES256"] }).catch(
            (error: unknown) => wrong.push(`${new Date(now).toISOString()} ${String(error)}`),
          );
        }
      }
      sets.add((await readKeySet(server.port)).text);
    }
    expect(wrong).toEqual([]);
    expect(kids.size).toBe(2);
    // One key; two keys; the other one first; and the other one alone.
    expect(sets.size).toBe(4);
    expect(server.output()).not.toMatch(/error/i);
  });

  test("a custom server sends the exact response of node:http", async () => {
    await app.write(
      "server.js",
      `
        import { createServer } from "node:http";
        import next from "next";
        import { openOpKeys } from "./op-keys.js";

        const { endpoint } = await openOpKeys();
        const app = next({ dev: false, dir: import.meta.dirname });
        await app.prepare();
        const handle = app.getRequestHandler();
        createServer((req, res) => endpoint.middleware(req, res, () => handle(req, res))).listen(Number(process.env.PORT));
      `,
    );
    const custom = await app.start({ file: "server.js", env: { ISSUER } });
    onTestFinished(() => custom.stop());
    const { text, etag } = await readKeySet(custom.port);
    const response = await askNextApp(custom.port);
    expect([response?.status, headersOf(response), response?.body.toString()]).toEqual([
      200,
      {
        allow: "GET, HEAD",
        "cache-control": LONG_CACHE,
        "content-length": String(text.length),
        "content-type": "application/jwk-set+json",
        etag,
      },
      text,
    ]);
    // The rest is still Next's, and signs with the same keys.
    const token = (await (await fetch(`http://127.0.0.1:${custom.port}/oidc/token`, { method: "POST" })).json()) as {
      id_token: string;
    };
    expect(text).toContain(`"kid":"${decodeProtectedHeader(token.id_token).kid}"`);
  });
});
