import { describe, expect, test } from "vitest";
import { createRotationSchedule } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { changesBetween, segmentAt, segmentsFrom, type Segment } from "../../src/serve/live/timeline.ts";
import { retryPauseMs } from "../../src/serve/live/retry-pause.ts";
import { html } from "../../src/serve/status/html.ts";
import { planList, planPicture, viewAt } from "../../src/serve/status/picture.ts";
import { exposition } from "../../src/serve/metrics/exposition.ts";
import { SignerError } from "@signpost/core";
import { CliError } from "../../src/program/cli-error.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

async function plan(): Promise<readonly Segment[]> {
  const [a, b] = await Promise.all([openLocalSigner(), openLocalSigner()]);
  const entries = [
    { keyId: "a", signer: a, announcedFrom: new Date(START), activeFrom: new Date(START) },
    { keyId: "b", signer: b, announcedFrom: "2026-07-01T08:00:00Z", activeFrom: "2026-07-01T14:00:00Z" },
  ];
  return segmentsFrom(START, async (now) => createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, now }));
}

describe("the plan of a schedule", () => {
  test("has a segment between each two changes, with the roles of that time", async () => {
    const segments = await plan();
    const shown = segments.map(({ from, roles, isCachedShortly }) => [
      Number.isFinite(from) ? new Date(from).toISOString().slice(0, 16) : "ever",
      [...roles].map(([kid, role]) => `${kid} ${role}`).join(", "),
      isCachedShortly,
    ]);
    expect(shown).toEqual([
      ["ever", "a active", false],
      ["2026-07-01T08:00", "a active, b announced", true],
      ["2026-07-01T14:00", "b active, a retiring", true],
      ["2026-07-01T15:02", "b active, a withdrawn", true],
      ["2026-07-02T14:00", "b active, a withdrawn", false],
      ["2026-07-15T15:02", "b active", false],
    ]);
  });

  test("says each change in words", async () => {
    const segments = await plan();
    const words = segments.slice(1).map((segment, index) => {
      const before = segments[index];
      return before === undefined ? "" : changesBetween(before, segment).join(", ");
    });
    expect(words).toEqual([
      "b is published, caches keep the set for 5 minutes",
      "a stops signing, b signs",
      "a leaves the set",
      "caches keep the set for 1 hour",
      "a is dropped",
    ]);
  });

  test("is shown from one change before now to five after it, with now at its place", async () => {
    const segments = await plan();
    const now = new Date("2026-07-01T11:00:00Z");
    expect(segmentAt(segments, now.getTime())).toBe(1);
    const view = viewAt(segments, now);
    expect(view).toMatchObject({ current: 1, segments: { length: 6 } });
    const { markup } = planPicture(view, now);
    // In the middle of the second of six columns.
    expect(markup).toContain('class="now" x1="25%"');
    expect(markup).toContain("<title>b: announced</title>");
    expect(planList(view, now).markup).toContain("(in 3 h)");
    expect(viewAt(segments, new Date("2026-08-01T00:00:00Z"))).toMatchObject({ current: 1, segments: { length: 2 } });
    expect(viewAt(segments, new Date("2025-01-01T00:00:00Z"))).toMatchObject({ current: 0 });
  });

  test("of a list is one segment without a change", async () => {
    const source = createRotationSchedule(
      [{ keyId: "a", signer: await openLocalSigner(), announcedFrom: new Date(START), activeFrom: new Date(START) }],
      { maxTokenLifetimeSeconds: 60 },
    ).keySet();
    const segments = await segmentsFrom(START, async () => source);
    expect(segments).toHaveLength(1);
    expect(planList(viewAt(segments, new Date()), new Date()).markup).toContain("No change is planned.");
  });
});

test("HTML templates escape text, and keep what they made themselves", () => {
  const inner = html`<b>${"<&>\"'"}</b>`;
  expect(html`<p title="${'"'}">${inner}${[inner]}${1}${"\u202Eabc"}</p>`.markup).toBe(
    '<p title="&quot;"><b>&lt;&amp;&gt;&quot;&#39;</b><b>&lt;&amp;&gt;&quot;&#39;</b>1\\u202eabc</p>',
  );
});

test("values of labels are escaped as Prometheus says", () => {
  const samples = [{ labels: { kid: 'a"b\\c\nd' }, value: 1 }];
  expect(exposition([{ name: "m", type: "gauge", help: "a\\b\nc", samples }])).toBe(
    '# HELP m a\\\\b\\nc\n# TYPE m gauge\nm{kid="a\\"b\\\\c\\nd"} 1\n',
  );
});

test("what may pass is tried again after pauses that grow to 30 seconds, and nothing else is", () => {
  const away = new CliError(3, "unavailable", "away", { cause: new SignerError("unavailable", "away") });
  const pauses = [1, 2, 3, 4, 5, 6, 60].map((failures) => retryPauseMs(away, failures) ?? 0);
  for (const [index, longest] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
    expect(pauses[index]).toBeLessThanOrEqual(longest);
    expect(pauses[index]).toBeGreaterThanOrEqual(longest * 0.8);
  }
  expect(retryPauseMs(new SignerError("pin_incorrect", "PIN"), 1)).toBe(30_000);
  for (const code of ["access_denied", "key_not_found", "pin_locked"] as const) {
    expect(retryPauseMs(new SignerError(code, "no"), 1)).toBeUndefined();
  }
  expect(retryPauseMs(new TypeError("a mistake"), 1)).toBeUndefined();
});
