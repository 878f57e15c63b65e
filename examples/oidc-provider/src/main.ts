import { createRotationSchedule, openSigner } from "@signpost/core";
import { local } from "@signpost/local";
import { startOp } from "./op.ts";

// A variable that is an empty string counts as not set.
const [issuer, port] = [process.env["ISSUER"] || undefined, process.env["PORT"] || "3000"];

// A key that exists only in this process. Use key URIs of your KMS or HSM here, with their adapters.
const signer = await openSigner("local:", [local()]);
const since = "2026-01-01T00:00:00Z";
const schedule = createRotationSchedule([{ signer, announcedFrom: since, activeFrom: since }], {
  // The lifetime of the ID token, which is the longest of all tokens here.
  maxTokenLifetimeSeconds: 3600,
});

const op = await startOp({
  issuer,
  port: Number(port),
  schedule,
  configuration: {
    // The host's login page for development accepts any name, and logs in a user of that name.
    clients: [{ client_id: "rp", redirect_uris: ["https://rp.example/callback"], token_endpoint_auth_method: "none" }],
  },
});
console.log(`listening as ${op.issuer}`);

process.once("SIGTERM", () => {
  void op.close().then(() => signer.close());
});
