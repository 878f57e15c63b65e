import type { Live } from "./live/serving.ts";
import type { Reloader } from "./live/reloader.ts";
import type { Counters } from "./metrics/counters.ts";
import type { Listener } from "./http/listener.ts";

/** What the routes answer from. Only `run.ts` changes it. */
export interface ServerState {
  readonly version: string;
  readonly configName: string;
  readonly startedAt: Date;
  readonly live: Live;
  readonly reloader: Pick<Reloader, "last">;
  readonly counters: Counters;
  /** The path of the key set, which is known before its keys are. */
  pathname: string;
  isStopping: boolean;
  listeners: Readonly<Partial<Record<"public" | "admin", Listener>>>;
}

/** Whether this server should get requests. */
export function isReady({ live, isStopping }: ServerState): boolean {
  return live.serving() !== undefined && !isStopping;
}
