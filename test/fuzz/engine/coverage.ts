import { Session, type Profiler } from "node:inspector";

/** Which code of the packages inputs reach. */
export interface Coverage {
  /** Whether the code that ran since the last call has a part that never ran before. */
  reachedNew(): boolean;
  stop(): void;
}

/** Counts blocks of code with V8, which takes milliseconds for each input. So only long runs do it. */
export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  const post = (method: string, params?: object): unknown => {
    let answer: unknown;
    // In this thread, the answer is there when the call returns.
    session.post(method, params, (error, result) => {
      if (error !== null) throw error;
      answer = result;
    });
    return answer;
  };
  post("Profiler.enable");
  post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const seen = new Set<string>();
  return {
    reachedNew: () => {
      const { result } = post("Profiler.takePreciseCoverage") as Profiler.TakePreciseCoverageReturnType;
      const before = seen.size;
      for (const { url, functions } of result) {
        if (!/\/packages\/[a-z0-9-]+\/src\//.test(url)) continue;
        for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
          if (count > 0) seen.add(`${url}:${startOffset}-${endOffset}`);
        }
      }
      return seen.size > before;
    },
    stop: () => {
      post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}
