import { freePort } from "@signpost/test-backends/process";
import { describe, expect, test } from "vitest";
import type { CheckFlags } from "../../src/check/run.ts";
import { runCheck } from "../../src/check/run.ts";
import { recordingContext } from "../support/recording-context.ts";
import type { Op } from "./support/op.ts";
import { EC_KEY, ED_KEY, op } from "./support/op.ts";
import { serve } from "./support/serve.ts";

// A check and a watch in this process: what they print, and how they end.

interface Run {
  readonly code: number | undefined;
  readonly printed: string;
  readonly error: unknown;
}

async function check(url: string, flags: CheckFlags = {}, signal?: AbortSignal): Promise<Run> {
  const context = recordingContext("/");
  const outcome = runCheck({ ...context, ...(signal === undefined ? {} : { signal }) }, flags, url);
  const [code, error] = await outcome.then(
    (value) => [value, undefined] as const,
    (thrown: unknown) => [undefined, thrown] as const,
  );
  return { code, printed: context.printed(), error };
}

/** An OP whose set is another one after it was read once. */
function changing(first: readonly unknown[], next: readonly unknown[], cacheControl: string | undefined) {
  return serve((metadata): Op => {
    let keys = first;
    return (request) => {
      const reply = op({ metadata, keys, headers: { "cache-control": cacheControl } })(request);
      if (request.url.endsWith("/jwks")) keys = next;
      return reply;
    };
  });
}

describe("a check", () => {
  test("of an endpoint without a fault ends with 0, and says what was checked", async () => {
    const { origin, jwksUri } = await serve();
    const { code, printed } = await check(origin);
    expect(code).toBe(0);
    expect(printed).toContain(jwksUri);
    expect(printed).toContain("The key set answers a GET with 200");
    const { printed: findings } = await check(origin, { findings: true });
    expect(findings).not.toContain("The key set answers a GET with 200");
  });

  test("of an endpoint with a fault ends with 1", async () => {
    const { origin } = await serve((metadata) => op({ metadata, headers: { etag: undefined } }));
    expect(await check(origin)).toMatchObject({ code: 1, printed: expect.stringContaining("no ETag") });
  });

  test("prints its report as JSON", async () => {
    const { origin, jwksUri } = await serve();
    const { code, printed } = await check(origin, { json: true });
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({ target: origin, jwksUrl: jwksUri, isOk: true, isStrict: false });
    const strict = await check(origin, { json: true, strict: true });
    expect(JSON.parse(strict.printed)).toMatchObject({ isStrict: true });
  });

  test("of a key set asks for no document", async () => {
    const { jwksUri, requests } = await serve();
    expect(await check(jwksUri, { jwks: true })).toMatchObject({ code: 0 });
    expect(requests.filter(({ path }) => path.includes("well-known"))).toEqual([]);
  });

  test("compares replicas", async () => {
    const [one, other] = [await serve(), await serve((metadata) => op({ metadata, keys: [EC_KEY, ED_KEY] }))];
    const replicas = `${one.origin},${other.origin}`;
    const { code, printed } = await check(one.origin, { replicas });
    expect(code).toBe(1);
    expect(printed.replaceAll(/\s+/g, " ")).toContain(`key ed-1 is not at ${one.origin}`);
  });

  test.each<[what: string, flags: CheckFlags]>([
    ["", {}],
    [" that is watched", { watch: true }],
  ])("of a host%s where nothing listens ends with 3", async (_what, flags) => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { error, printed } = await check(url, flags);
    expect(error).toMatchObject({
      exitCode: 3,
      code: "unreachable",
      message: `${url}: no connection (ECONNREFUSED)`,
    });
    expect(printed).toBe("");
  });
});

describe("a watch", () => {
  const WATCH: CheckFlags = { watch: true, interval: 0.1 };
  const eventsOf = ({ printed }: Run): readonly Record<string, unknown>[] =>
    printed
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  test("for a key ends when no cache is in its way", async () => {
    const { origin } = await changing([EC_KEY], [EC_KEY, ED_KEY], "max-age=0");
    const run = await check(origin, { ...WATCH, until: "ed-1", json: true });
    expect(run.code).toBe(0);
    const [first, ...others] = eventsOf(run);
    expect(first).toMatchObject({ event: "watching", keys: ["sig-1"] });
    expect(others[0]).toMatchObject({ event: "announced", key: "ed-1" });
    expect(others.at(-1)).toMatchObject({ event: "may-sign", key: "ed-1", behindSharedCache: true });
  });

  test("that saw a fault meanwhile ends with 1", async () => {
    const rebound = { ...EC_KEY, x: EC_KEY.y, y: EC_KEY.x };
    const { origin } = await changing([EC_KEY], [rebound, ED_KEY], "max-age=0");
    const run = await check(origin, { ...WATCH, until: "ed-1", json: true });
    expect(run.code).toBe(1);
    expect(eventsOf(run).map(({ event }) => event)).toContain("fault");
  });

  test("tells people too", async () => {
    const { origin } = await changing([EC_KEY], [EC_KEY, ED_KEY], "max-age=0");
    const { code, printed } = await check(origin, { ...WATCH, until: "ed-1" });
    expect(code).toBe(0);
    expect(printed).toMatch(/ {2}watching sig-1\n[^]* {2}ed-1 is announced\n/);
  });

  test("for a key that was there before is a mistake", async () => {
    const { origin } = await serve();
    const { error, printed } = await check(origin, { ...WATCH, until: "sig-1" });
    expect(error).toMatchObject({
      exitCode: 2,
      code: "announced_before",
      message: "sig-1 was published before the watch began",
      hint: "Start the watch before the key is announced: only then it knows what caches were told.",
    });
    expect(printed).toContain("watching sig-1");
  });

  test("for a key whose lifetime is not told does not wait for it", async () => {
    const { origin } = await changing([EC_KEY], [EC_KEY, ED_KEY], undefined);
    expect((await check(origin, { ...WATCH, until: "ed-1" })).error).toMatchObject({
      exitCode: 1,
      code: "no_lifetime",
      message: "It is not known when ed-1 may sign: the key set states no lifetime",
    });
  });

  test("goes on after an answer that was lost, and ends with the command", async () => {
    const ending = new AbortController();
    let looks = 0;
    const { origin } = await serve((metadata): Op => {
      const good = op({ metadata });
      return (request) => {
        if (!request.url.endsWith("/jwks")) return good(request);
        looks += 1;
        if (looks === 4) ending.abort(new Error("stopped"));
        return looks === 2 ? { reason: "connection", detail: "" } : good(request);
      };
    });
    const run = await check(origin, { ...WATCH, json: true }, ending.signal);
    expect(run.error).toMatchObject({ message: expect.stringMatching(/stopped|aborted/) });
    expect(eventsOf(run).map(({ event }) => event)).toEqual(["watching", "away", "back"]);
  });
});
