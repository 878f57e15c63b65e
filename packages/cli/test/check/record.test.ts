import { describe, expect, test } from "vitest";
import type { Answer, Exchange, ProbeRequest } from "../../src/check/exchange.ts";
import { record } from "../../src/check/probe/record.ts";
import { readTarget } from "../../src/check/probe/target.ts";

// Which requests a check makes of a key set, by what the first ones are answered.

const URL_OF_SET = "https://op.example/jwks";

type Headers = Readonly<Record<string, string>>;
type Reply = { readonly status?: number; readonly headers?: Headers } | "none";

function exchangeOf(request: ProbeRequest, reply: Reply): Exchange {
  if (reply === "none") return { kind: "no-answer", request, reason: "time", detail: "timeout" };
  const { status = 200, headers = {} } = reply;
  const body = Buffer.from('{"keys":[]}');
  const more = { body, isTruncated: false, strayBytes: 0, sentAt: 0, tookMs: 0, tls: undefined };
  return { kind: "answer", request, status, headers: Object.entries(headers), ...more } satisfies Answer;
}

/** Makes the requests of a check of a key set. */
async function recorded(reply: (request: ProbeRequest) => Reply, isStrict = false) {
  let [waiting, most] = [0, 0];
  const ask = async (request: ProbeRequest): Promise<Exchange> => {
    waiting += 1;
    most = Math.max(most, waiting);
    await Promise.resolve();
    waiting -= 1;
    return exchangeOf(request, reply(request));
  };
  const follow = async (request: ProbeRequest) => ({ redirects: [], exchange: await ask(request) });
  const recording = await record(readTarget(URL_OF_SET, true), { ask, follow, askAt: ask }, isStrict);
  return { names: Object.keys(recording.probes).toSorted(), probes: recording.probes, most };
}

const isCoded = ({ headers }: ProbeRequest): boolean => headers["accept-encoding"] === "gzip";
const ALWAYS = ["acceptJson", "acceptJwkSet", "again", "get", "gzip", "head", "other", "post", "star"];
const WITH_TAG = ["exact", "headExact", "list"];

describe("after a first answer", () => {
  test.each<[what: string, reply: Reply, more: readonly string[]]>([
    ["with an entity tag, conditions are tried", { headers: { ETag: '"a"' } }, [...WITH_TAG, "weak"]],
    ["with a weak one, its strong form is not", { headers: { ETag: 'W/"a"' } }, WITH_TAG],
    ["with a malformed one, none is", { headers: { ETag: "a" } }, []],
    ["without one, none is", {}, []],
  ])("%s", async (_what, reply, more) => {
    expect((await recorded(() => reply)).names).toEqual([...ALWAYS, ...more].toSorted());
  });

  test.each<Reply>([{ status: 304 }, { status: 404 }, "none"])("of %j, nothing else is asked", async (reply) => {
    expect((await recorded(() => reply)).names).toEqual(["get"]);
  });

  test("a strict check asks for more", async () => {
    const { names, probes } = await recorded(() => ({}), true);
    expect(names).toEqual([...ALWAYS, "options", "patch", "query"].toSorted());
    expect(probes.query?.request.url).toBe(`${URL_OF_SET}?signpost-check=1`);
  });

  test("at most four requests are on their way at a time", async () => {
    expect((await recorded(() => ({}), true)).most).toBe(4);
  });
});

describe("a compressed answer", () => {
  const coded = { "Content-Encoding": "gzip" };
  test.each<[what: string, reply: Reply, isAsked: boolean]>([
    ["with an entity tag is asked for again with it", { headers: { ...coded, ETag: '"z"' } }, true],
    ["without one is not", { headers: coded }, false],
    ["that was not compressed is not", { headers: { ETag: '"z"' } }, false],
    ["that did not come is not", "none", false],
  ])("%s", async (_what, reply, isAsked) => {
    const { probes } = await recorded((request) => (isCoded(request) ? reply : {}));
    expect(probes.gzipExact?.request.headers).toEqual(
      isAsked ? expect.objectContaining({ "accept-encoding": "gzip", "if-none-match": '"z"' }) : undefined,
    );
    expect(probes.again?.kind).toBe("answer");
  });
});
