import { createPrivateKey } from "node:crypto";
import { createKeySet, createJwksEndpoint } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { changesBetween, segmentAt, type Segment } from "../../src/serve/live/timeline.ts";
import { collectMetrics } from "../../src/serve/metrics/collect.ts";
import { createCounters } from "../../src/serve/metrics/counters.ts";
import { exposition } from "../../src/serve/metrics/exposition.ts";
import { isReady, type ServerState } from "../../src/serve/state.ts";
import { statusPage } from "../../src/serve/status/page.ts";
import { planList, planPicture, viewAt } from "../../src/serve/status/picture.ts";
import { RFC_KEY } from "../support/key-folder.ts";

// The status page and the metrics of a server that serves, to the last place.

const NOW = new Date("2026-07-01T08:00:00Z");
const HOUR = 3_600_000;
const at = (hours: number): number => NOW.getTime() + hours * HOUR;

function segment(
  from: number,
  until: number,
  roles: Readonly<Record<string, string>>,
  isCachedShortly = false,
): Segment {
  return { from, until, roles: new Map(Object.entries(roles)) as never, isCachedShortly };
}

const LONG = "k".repeat(35);
const PLAN: readonly Segment[] = [
  segment(-Infinity, at(-10), { a: "active" }),
  segment(at(-10), at(-2), { a: "active", [LONG]: "announced" }, true),
  segment(at(-2), at(6), { a: "retiring", [LONG]: "active" }, true),
  segment(at(6), at(7), { a: "withdrawn", [LONG]: "active" }, true),
  segment(at(7), at(100), { a: "withdrawn", [LONG]: "active" }),
  segment(at(100), at(200), { [LONG]: "active" }),
  segment(at(200), at(300), { [LONG]: "active", c: "announced" }),
  segment(at(300), at(400), { [LONG]: "retiring", c: "active" }),
  segment(at(400), Infinity, { c: "active" }),
];

describe("the plan", () => {
  test.each([
    ["its beginning", -20],
    ["its first change", -10],
    ["its middle", 0],
    ["the end of a span", 5.999],
    ["its last span", 500],
  ])("at %s is a picture and a list", (_what, hours) => {
    const now = new Date(at(hours));
    const view = viewAt(PLAN, now);
    const place = `${view.current} of ${view.segments.length}`;
    expect([place, planPicture(view, now).markup, planList(view, now).markup].join("\n")).toMatchSnapshot();
  });

  test("of one span has no change, and now is in its middle", () => {
    const view = { segments: PLAN.slice(0, 1), current: 0 };
    expect(planPicture(view, NOW).markup).toContain('class="now" x1="50%" x2="50%"');
    expect(planList(view, NOW).markup).toBe("<p>No change is planned.</p>");
  });

  test("cuts names of more than 34 characters", () => {
    const of = (kid: string): string =>
      planPicture({ segments: [segment(0, 1, { [kid]: "active" })], current: 0 }, NOW).markup;
    expect(of("é".repeat(34))).toContain(`>${"é".repeat(34)}</text>`);
    expect(of("é".repeat(35))).toContain(`>${"é".repeat(34)}…</text>`);
  });

  test("says what changes", () => {
    const changes = PLAN.slice(1).map((after, index) => changesBetween(PLAN[index] ?? after, after));
    expect(changes).toEqual([
      [`${LONG} is published`, "caches keep the set for 5 minutes"],
      ["a stops signing", `${LONG} signs`],
      ["a leaves the set"],
      ["caches keep the set for 1 hour"],
      ["a is dropped"],
      ["c is published"],
      [`${LONG} stops signing`, "c signs"],
      [`${LONG} is dropped`],
    ]);
    expect([at(-10) - 1, at(-10), at(-2)].map((time) => segmentAt(PLAN, time))).toEqual([0, 1, 2]);
    expect(segmentAt(PLAN.slice(0, 2), at(9))).toBe(-1);
  });
});

async function serving(
  more: { readonly isRotation?: boolean; readonly next?: Date | null } = {},
): Promise<ServerState> {
  const key = createPrivateKey({ key: RFC_KEY, format: "jwk" }).export({ type: "pkcs8", format: "pem" }).toString();
  const signer = await openLocalSigner({ privateKey: key } as never);
  onTestFinished(() => signer.close());
  const set = createKeySet([{ keyId: "sig-1", signer }]);
  const issuer = "https://op.example";
  const endpoint = createJwksEndpoint({ issuer, keys: set });
  const loaded = { name: "op.json", config: { issuer } };
  return {
    version: "1.2.3",
    configName: "op.json",
    startedAt: new Date(at(-1)),
    live: {
      serving: () => ({ loaded, endpoint, segments: PLAN, since: new Date(at(-0.5)) }),
      published: () => set,
      isRotationActive: () => more.isRotation ?? false,
      nextChange: () => (more.next === undefined ? new Date(at(6)) : more.next),
    },
    reloader: { last: () => ({ at: new Date(at(-0.5)), reason: "start", failure: undefined, retryMs: undefined }) },
    counters: createCounters(),
    pathname: "/jwks",
    isStopping: false,
    listeners: { public: { connections: () => 3 }, admin: { connections: () => 1 } },
  } as unknown as ServerState;
}

test.each<[what: string, more: object]>([
  ["with a rotation", { isRotation: true }],
  ["without one", { next: null }],
])("the status page %s", async (_what, more) => {
  const { text } = statusPage(await serving(more), NOW);
  const page = text.replace(/<style>.*<\/style>/s, "").replace(process.versions.node, "NODE");
  expect(page).toMatchSnapshot();
});

test.each<[what: string, more: object]>([
  ["with a rotation", { isRotation: true }],
  ["without one", { next: null }],
])("the metrics %s", async (_what, more) => {
  vi.spyOn(process, "cpuUsage").mockReturnValue({ user: 1_500_000, system: 250_000 });
  vi.spyOn(process.memoryUsage, "rss").mockReturnValue(12_345);
  onTestFinished(() => void vi.restoreAllMocks());
  const state = await serving(more);
  state.counters.requests.add({ port: "public", route: "jwks", status: "200" });
  state.counters.requests.add({ port: "public", route: "jwks", status: "200" });
  state.counters.evicted.add({ port: "admin" });
  state.counters.loads.add({ result: "success" });
  state.counters.keyFailures.add({ code: "unavailable" });
  const text = exposition(collectMetrics(state)).replaceAll(process.versions.node, "NODE");
  expect(text).toMatchSnapshot();
});

test("the metrics of a server that serves nothing have no time and no set", async () => {
  const state = await serving();
  const idle = {
    ...state,
    live: { serving: () => undefined, published: () => undefined },
    reloader: { last: () => undefined },
    listeners: {},
  } as unknown as ServerState;
  const text = exposition(collectMetrics(idle))
    .replaceAll(process.versions.node, "NODE")
    .replaceAll(/^(process_(?:resident|cpu)\S+) .*/gm, "$1 N");
  expect(text).toMatchSnapshot();
  expect([isReady(idle), isReady(state), isReady({ ...state, isStopping: true })]).toEqual([false, true, false]);
});
