import { createJwksEndpoint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { ServerOptions } from "./endpoint-server.ts";
import { newPrivateKeys, startServer } from "./endpoint-process.ts";
import { runBench } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { openRawClient } from "./raw-client.ts";
import type { RawClient, RawRequest } from "./raw-client.ts";

/** Enough that the server never waits for the client. */
const CONNECTIONS = 16;
const REQUESTS_PER_SAMPLE = 1_000;
const PAIRS = 40;
/** 95 % of the requests per second that a bare server answers. */
const TARGET_RATIO = 1 / 0.95;
/** For one call of `respond`. Milliseconds. */
const RESPOND_TARGET_MS = 0.002;

const privateKeys = newPrivateKeys(2);

interface Row {
  readonly name: string;
  readonly method: string;
  readonly conditional?: boolean;
  readonly peer?: { readonly kind: ServerOptions["kind"]; readonly name: string };
}

const ROWS: readonly Row[] = [
  { name: "GET, 200", method: "GET" },
  { name: "GET, 304", method: "GET", conditional: true },
  { name: "HEAD, 200", method: "HEAD" },
  { name: "POST, 405", method: "POST" },
  { name: "GET, 200", method: "GET", peer: { kind: "express", name: "Express, static file" } },
  { name: "GET, 200", method: "GET", peer: { kind: "hono", name: "our fetch in Hono" } },
  { name: "GET, 200", method: "GET", peer: { kind: "oidc-provider", name: "oidc-provider's /jwks" } },
];

await runBench({
  name: "endpoint",
  title: "The JWKS endpoint against a bare node:http server that sends the same bytes, and against other servers",
  packages: ["@signpost/core", "express", "hono", "oidc-provider"],
  setUp: async () => {
    const ends: (() => unknown)[] = [];
    const etag = /^ETag: (.+)$/im.exec((await open("signpost", { method: "GET" })).answer)?.[1];
    if (etag === undefined) throw new Error("the endpoint sent no ETag");
    const pairings: Pairing[] = [];
    for (const row of ROWS) pairings.push(await pairingOf(row));
    return {
      pairings: [...pairings, await growingWithKeys(10), await growingWithKeys(100), ...(await inProcess())],
      tearDown: async () => {
        await Promise.all(ends.map((end) => end()));
      },
    };

    async function open(
      kind: ServerOptions["kind"],
      { method, ifNoneMatch }: { method: string; ifNoneMatch?: string | undefined },
      keys = privateKeys,
    ): Promise<RawClient> {
      const server = await startServer({ kind, privateKeys: keys, method, ifNoneMatch });
      const headers: Record<string, string> = ifNoneMatch === undefined ? {} : { "If-None-Match": ifNoneMatch };
      const request: RawRequest = { method, path: "/jwks", headers };
      const client = await openRawClient(server.port, request, CONNECTIONS);
      ends.push(() => client.close(), server.stop);
      return client;
    }

    async function pairingOf(row: Row): Promise<Pairing> {
      const request = { method: row.method, ifNoneMatch: row.conditional === true ? etag : undefined };
      const { kind, name } = row.peer ?? { kind: "bare" as const, name: "bare node:http" };
      const ours = await open("signpost", request);
      const peer = await open(kind, request);
      if (kind === "bare" && withoutDate(ours.answer) !== withoutDate(peer.answer))
        throw new Error(`${row.name}: the servers send different bytes`);
      return {
        name: `${row.name}, against ${name}`,
        ours: served("listener in node:http", ours),
        peer: served(name, peer),
        operations: REQUESTS_PER_SAMPLE,
        pairs: PAIRS,
        ...(row.peer === undefined ? { target: { ratio: TARGET_RATIO } } : {}),
      };
    }

    /** HEAD, so that all rows send the same bytes. */
    async function growingWithKeys(count: number): Promise<Pairing> {
      const request = { method: "HEAD" };
      return {
        name: `HEAD, 200, with ${count} keys against 1`,
        ours: served(`${count} keys`, await open("signpost", request, newPrivateKeys(count))),
        peer: served("1 key", await open("signpost", request, newPrivateKeys(1))),
        operations: REQUESTS_PER_SAMPLE,
        pairs: PAIRS,
        target: { ratio: TARGET_RATIO },
      };
    }
  },
});

function served(name: string, client: RawClient): Contender {
  return { name, run: (operations) => client.send(operations) };
}

/** The time of `respond` minus that of a function that only returns an object. */
async function inProcess(): Promise<Pairing[]> {
  const respondOf = async (count: number): Promise<ReturnType<typeof createJwksEndpoint>["respond"]> => {
    const signers = await Promise.all(newPrivateKeys(count).map((privateKey) => openLocalSigner({ privateKey })));
    return createJwksEndpoint({ issuer: "https://op.example", keys: signers.map((signer) => ({ signer })) }).respond;
  };
  const [one, ten, hundred] = [await respondOf(1), await respondOf(10), await respondOf(100)];
  const nothing = { status: 200, headers: {}, body: null };
  const etag = one("GET").headers["ETag"] ?? "";
  const repeated = (name: string, respond: () => unknown): Contender => ({
    name,
    run: async (operations) => {
      let answered = 0;
      for (let done = 0; done < operations; done += 1) if (respond() !== undefined) answered += 1;
      if (answered !== operations) throw new Error("no answer");
    },
  });
  const added = (name: string, respond: () => unknown): Pairing => ({
    name: `respond in process, ${name}`,
    ours: repeated("respond", respond),
    peer: repeated("nothing", () => nothing),
    operations: 20_000,
    pairs: PAIRS,
    target: { addedMs: RESPOND_TARGET_MS },
  });
  return [
    added("200, 1 key", () => one("GET")),
    added("200, 10 keys", () => ten("GET")),
    added("200, 100 keys", () => hundred("GET")),
    added("304, 1 key", () => one("GET", etag)),
    added("HEAD, 1 key", () => one("HEAD")),
    added("405, 1 key", () => one("POST")),
  ];
}

function withoutDate(answer: string): string {
  return answer.replace(/^Date: .*\r\n/im, "");
}
