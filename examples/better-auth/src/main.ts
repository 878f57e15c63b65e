import { createServer } from "node:http";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { toNodeHandler } from "better-auth/node";
import { createRotationSchedule, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { createAuth } from "./auth.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const issuer = process.env["ISSUER"] || `http://localhost:${port}`;
const secret = process.env["BETTER_AUTH_SECRET"] || randomBytes(32).toString("hex");

// A key that exists only in this process. Use key URIs of your KMS or HSM here, with their adapters.
const signer = await openSigner("local:", [local()]);
const since = "2026-01-01T00:00:00Z";
const keys = createRotationSchedule([{ signer, announcedFrom: since, activeFrom: since }], {
  maxTokenLifetimeSeconds: 3600,
});

const respond = toNodeHandler(createAuth(issuer, secret, keys));
const server = createServer((request, response) => void respond(request, response)).listen(Number(port));
await once(server, "listening");
console.log(`listening as ${issuer}`);

process.once("SIGTERM", () => {
  server.close(() => void signer.close());
  server.closeIdleConnections();
  // Node does not count a connection without a request as idle, and would wait for it forever.
  setTimeout(() => server.closeAllConnections(), 5000).unref();
});
