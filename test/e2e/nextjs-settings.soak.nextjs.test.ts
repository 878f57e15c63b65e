import { createNextApp } from "@signpost/test-backends/nextjs";
import { expect, onTestFinished, test } from "vitest";
import { askNextApp, headersOf } from "./support/next-app.ts";

test("Next's compression, trailingSlash and basePath change what relying parties get", async () => {
  const app = await createNextApp("nextjs");
  onTestFinished(() => app.remove());
  await app.write(
    "next.config.js",
    `export default {
      basePath: "/oidc",
      cacheComponents: true,
      partialPrefetching: true,
      trailingSlash: true,
      serverExternalPackages: ["@signpost/core", "@signpost/local"],
    };`,
  );
  const route = `
    import { opKeys } from "../../op-keys.js";
    export const GET = (request) => opKeys(request).endpoint.fetch(request);
  `;
  await app.write("app/jwks/route.js", route);
  await app.write("app/jwks.json/route.js", route);
  await app.build();
  const server = await app.start({ env: { ISSUER: "https://op.example/oidc" } });
  onTestFinished(() => server.stop());

  const redirect = await askNextApp(server.port);
  expect([redirect?.status, headersOf(redirect)["location"]]).toEqual([308, "/oidc/jwks/"]);
  // With an extension in its name, a path has no trailing slash.
  const plain = await askNextApp(server.port, { target: "/oidc/jwks.json" });
  const compressed = await askNextApp(server.port, {
    target: "/oidc/jwks.json",
    headers: [["Accept-Encoding", "gzip"]],
  });
  expect([plain?.status, headersOf(plain)["content-encoding"]]).toEqual([200, undefined]);
  expect([compressed?.status, headersOf(compressed)["content-encoding"]]).toEqual([200, "gzip"]);
  expect(headersOf(compressed)["etag"]).toBe(headersOf(plain)["etag"]);
  // The endpoint's hint on the first request: Next.js has stripped the base path from the URL.
  expect(server.output()).toContain('the first request had the path "/jwks.json"');
}, 180_000);
