import { openOp, type HttpEvent, type HttpResult } from "./op.ts";
import { readSettings } from "./settings.ts";

// Once for each execution environment, in its init phase: every request of it uses the same key and connections.
const op = await openOp(readSettings(process.env));

export function handler(event: HttpEvent): Promise<HttpResult> {
  return op.handle(event);
}
