import { start } from "./server.ts";

// A variable that is an empty string counts as not set.
const port = process.env["PORT"] || "3000";
const issuer = process.env["ISSUER"] || `http://localhost:${port}`;
const server = await start({ issuer, port: Number(port) });
console.log(`listening on ${server.port}`);

process.once("SIGTERM", () => {
  void server.close();
});
