import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { newPrivateKeys, startServer } from "./endpoint-process.ts";
import type { ServerOptions } from "./endpoint-server.ts";
import { runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

const TARGET_RATIO = 1 / 0.95;
const privateKeys = newPrivateKeys(2);

await runBench({
  name: "endpoint-wrk",
  title: "The JWKS endpoint by wrk over loopback, beside a bare node:http server that sends the same bytes",
  packages: ["@signpost/core"],
  setUp: async (quick) => {
    const ends: (() => Promise<unknown>)[] = [];
    const contender = async (kind: ServerOptions["kind"], name: string): Promise<Contender> => {
      const { port, stop } = await startServer({ kind, privateKeys, method: "GET" });
      ends.push(stop);
      return { name, run: () => millisecondsByWrk(port, quick ? 1 : 2) };
    };
    const pairing: Pairing = {
      name: "GET, 200, 16 connections",
      ours: await contender("signpost", "listener in node:http"),
      peer: await contender("bare", "bare node:http"),
      pairs: 10,
      target: { ratio: TARGET_RATIO },
    };
    return {
      pairings: [pairing],
      tearDown: async () => {
        await Promise.all(ends.map((end) => end()));
      },
    };
  },
});

/** Per request, from the requests per second that wrk counted. */
async function millisecondsByWrk(port: number, seconds: number): Promise<number> {
  const args = ["-t1", "-c16", `-d${seconds}s`, `http://127.0.0.1:${port}/jwks`];
  const { stdout } = await promisify(execFile)("wrk", args);
  const perSecond = Number(/^Requests\/sec:\s+([\d.]+)/m.exec(stdout)?.[1]);
  if (!(perSecond > 0) || stdout.includes("Non-2xx")) throw new Error(`wrk was not answered:\n${stdout}`);
  return 1000 / perSecond;
}
