import { startOp } from "./op.ts";
import { readSettings } from "./settings.ts";

const op = await startOp(readSettings(process.env));
console.log(JSON.stringify({ severity: "INFO", message: `listening on ${op.port}` }));

// Cloud Run sends SIGTERM and waits ten seconds.
process.once("SIGTERM", () => {
  void op.close();
});
