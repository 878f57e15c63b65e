import { start } from "./server.ts";

const { PORT = "3000", ISSUER = `http://localhost:${PORT}` } = process.env;
const server = await start({ issuer: ISSUER, port: Number(PORT) });
console.log(`listening on ${server.port}`);

process.once("SIGTERM", () => {
  void server.close();
});
