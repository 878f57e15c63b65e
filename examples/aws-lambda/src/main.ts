import { openOp, type HttpEvent, type HttpResult } from "./op.ts";
import { readSettings } from "./settings.ts";

// Runs once for each execution environment, in its init phase. All requests there use the same key and connections.
const op = await openOp(readSettings(process.env));

export function handler(event: HttpEvent): Promise<HttpResult> {
  return op.handle(event);
}
