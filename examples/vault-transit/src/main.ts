import { startOp } from "./op.ts";
import { readSettings } from "./settings.ts";

const op = await startOp(readSettings(process.env));
console.log(`listening on ${op.port}`);

process.once("SIGTERM", () => {
  void op.close();
});
