import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { newPrivateKeys, startServer } from "./endpoint-process.ts";
import type { ServerOptions } from "./endpoint-server.ts";
import { runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

const TARGET_RATIO = 1 / 0.95;
const SECONDS = 1;
const privateKeys = newPrivateKeys(2);

interface Row {
  readonly name: string;
  readonly method: "GET" | "POST";
  readonly conditional?: boolean;
}

// No HEAD, because wrk waits for the body that Content-Length announces.
const ROWS: readonly Row[] = [
  { name: "GET, 200", method: "GET" },
  { name: "GET, 304", method: "GET", conditional: true },
  { name: "POST, 405", method: "POST" },
];

await runBench({
  name: "endpoint-wrk",
  title: "The JWKS endpoint measured with wrk over loopback, against a bare node:http server that sends the same bytes",
  packages: ["@signpost/core"],
  setUp: async () => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-wrk-"));
    const ends: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true })];
    const etag = await etagOf();
    const pairings: Pairing[] = [];
    for (const row of ROWS) pairings.push(await pairingOf(row));
    return {
      pairings,
      tearDown: async () => {
        await Promise.all(ends.map((end) => end()));
      },
    };

    async function etagOf(): Promise<string> {
      const { port, stop } = await startServer({ kind: "signpost", privateKeys, method: "GET" });
      const { headers } = await fetch(`http://127.0.0.1:${port}/jwks`);
      await stop();
      return headers.get("ETag") ?? "";
    }

    async function pairingOf({ name, method, conditional }: Row): Promise<Pairing> {
      const ifNoneMatch = conditional === true ? etag : undefined;
      const script = join(folder, `${method}.lua`);
      await writeFile(script, `wrk.method = "${method}"\n`);
      const contender = async (kind: ServerOptions["kind"], server: string): Promise<Contender> => {
        const { port, stop } = await startServer({ kind, privateKeys, method, ifNoneMatch });
        ends.push(stop);
        const headers = ifNoneMatch === undefined ? [] : ["-H", `If-None-Match: ${ifNoneMatch}`];
        const args = ["-t1", "-c16", `-d${SECONDS}s`, "-s", script, ...headers, `http://127.0.0.1:${port}/jwks`];
        return { name: server, run: () => millisecondsByWrk(args) };
      };
      return {
        name: `${name}, 16 connections`,
        ours: await contender("signpost", "listener in node:http"),
        peer: await contender("bare", "bare node:http"),
        pairs: 10,
        target: { ratio: TARGET_RATIO },
      };
    }
  },
});

/** Per request, from the requests per second that wrk counted. */
async function millisecondsByWrk(args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)("wrk", args);
  const perSecond = Number(/^Requests\/sec:\s+([\d.]+)/m.exec(stdout)?.[1]);
  if (!(perSecond > 0) || stdout.includes("Socket errors")) throw new Error(`wrk was not answered:\n${stdout}`);
  return 1000 / perSecond;
}
