import { generateKeyPairSync } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { ServerOptions } from "./endpoint-server.ts";
import { runBench } from "./harness.ts";
import type { Pairing } from "./harness.ts";
import { openRawClient } from "./raw-client.ts";
import type { RawClient, RawRequest } from "./raw-client.ts";

/** Enough that the server never waits for the client. */
const CONNECTIONS = 16;
const REQUESTS_PER_SAMPLE = 1_000;
const PAIRS = 100;
/** 95 % of the requests per second that a bare server answers. */
const TARGET_RATIO = 1 / 0.95;

const privateKeys = Array.from({ length: 2 }, newPrivateKey);

interface Row {
  readonly name: string;
  readonly method: string;
  readonly conditional?: boolean;
}

const ROWS: readonly Row[] = [
  { name: "GET, 200", method: "GET" },
  { name: "GET, 304", method: "GET", conditional: true },
  { name: "HEAD, 200", method: "HEAD" },
  { name: "POST, 405", method: "POST" },
];

await runBench({
  name: "endpoint",
  title: "The JWKS endpoint beside a bare node:http server that sends the same bytes",
  packages: ["@signpost/core"],
  setUp: async () => {
    const ends: (() => Promise<unknown>)[] = [];
    const pairings: Pairing[] = [];
    for (const row of ROWS) pairings.push(await pairingOf(row, ends));
    return {
      pairings,
      tearDown: async () => {
        await Promise.all(ends.map((end) => end()));
      },
    };
  },
});

async function pairingOf(row: Row, ends: (() => Promise<unknown>)[]): Promise<Pairing> {
  const ifNoneMatch = row.conditional === true ? await currentEtag() : undefined;
  const request: RawRequest = {
    method: row.method,
    path: "/jwks",
    headers: ifNoneMatch === undefined ? {} : { "If-None-Match": ifNoneMatch },
  };
  const open = (kind: ServerOptions["kind"]): Promise<RawClient> =>
    openServer({ kind, privateKeys, method: row.method, ifNoneMatch }, request, ends);
  const [ours, bare] = await Promise.all([open("signpost"), open("bare")]);
  if (withoutDate(ours.answer) !== withoutDate(bare.answer))
    throw new Error(`${row.name}: the servers send different bytes`);
  return {
    name: row.name,
    ours: { name: "listener in node:http", run: (operations) => ours.send(operations) },
    peer: { name: "bare node:http", run: (operations) => bare.send(operations) },
    operations: REQUESTS_PER_SAMPLE,
    pairs: PAIRS,
    target: { ratio: TARGET_RATIO },
  };
}

async function openServer(
  options: ServerOptions,
  request: RawRequest,
  ends: (() => Promise<unknown>)[],
): Promise<RawClient> {
  const worker = new Worker(new URL("./endpoint-server.js", import.meta.url), { workerData: options });
  ends.push(() => worker.terminate());
  const [port] = (await once(worker, "message")) as [number];
  const client = await openRawClient(port, request, CONNECTIONS);
  ends.unshift(async () => client.close());
  return client;
}

async function currentEtag(): Promise<string> {
  const ends: (() => Promise<unknown>)[] = [];
  try {
    const client = await openServer(
      { kind: "signpost", privateKeys, method: "GET" },
      { method: "GET", path: "/jwks" },
      ends,
    );
    const etag = /^ETag: (.+)$/im.exec(client.answer)?.[1];
    if (etag === undefined) throw new Error("the endpoint sent no ETag");
    return etag;
  } finally {
    await Promise.all(ends.map((end) => end()));
  }
}

function newPrivateKey(): JsonWebKey {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
}

function withoutDate(answer: string): string {
  return answer.replace(/^Date: .*\r\n/im, "");
}
