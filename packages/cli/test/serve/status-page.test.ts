import { describe, expect, test } from "vitest";
import type { Outcome } from "../../src/serve/live/reloader.ts";
import type { ServerState } from "../../src/serve/state.ts";
import { statusPage } from "../../src/serve/status/page.ts";

// What the page says of the last load of the configuration, while nothing is served yet.

const NOW = new Date("2026-07-01T08:00:00Z");
const START = new Date("2026-07-01T07:59:00Z");

function stateWith(last: Outcome | undefined, more: Partial<ServerState> = {}): ServerState {
  return {
    version: "1.2.3",
    configName: "op<1>.json",
    startedAt: START,
    live: { serving: () => undefined },
    reloader: { last: () => last },
    isStopping: false,
    ...more,
  } as unknown as ServerState;
}

/** The text of the page, with its marks left out. */
function textOf(state: ServerState): string {
  return statusPage(state, NOW)
    .text.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, "")
    .replaceAll(/\s+/g, " ");
}

const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  at: START,
  reason: "start",
  failure: undefined,
  retryMs: undefined,
  ...more,
});
const failure = (more: object = {}): Outcome["failure"] =>
  ({ code: "config", message: "The file cannot be read", ...more }) as unknown as Outcome["failure"];

test("a server without keys is not ready, or stopping, and names its file", () => {
  const text = textOf(stateWith(undefined));
  expect(text).toContain("op&lt;1&gt;.json not ready");
  expect(text).toContain("File op&lt;1&gt;.json In use since not yet Last load is running");
  expect(text).toContain("signpost 1.2.3, Node ");
  expect(text).toContain("started 2026-07-01 07:59 UTC (1 min ago). As of 2026-07-01 08:00 UTC.");
  expect(textOf(stateWith(undefined, { isStopping: true }))).toContain("op&lt;1&gt;.json stopping");
});

describe("the last load", () => {
  test.each([
    ["start", "at the start"],
    ["change", "because the file changed"],
    ["signal", "because of SIGHUP"],
    ["retry", "because the one before failed"],
  ] as const)("by %s was %s", (reason, words) => {
    const text = textOf(stateWith(outcome({ reason })));
    expect(text).toContain(`Last load ok 2026-07-01 07:59 UTC (1 min ago), ${words} `);
    expect(statusPage(stateWith(outcome({ reason })), NOW).text).not.toContain('class="error"');
  });

  test.each<[what: string, last: Partial<Outcome>, words: string]>([
    ["its message", { failure: failure() }, "The file cannot be read"],
    ["what to do", { failure: failure({ hint: "Look at its rights" }) }, "The file cannot be read Look at its rights."],
    ["that it is tried again", { failure: failure(), retryMs: 0 }, "The file cannot be read It is tried again."],
    [
      "all of it",
      { failure: failure({ hint: "Wait" }), retryMs: 1000 },
      "The file cannot be read Wait. It is tried again.",
    ],
  ])("that failed says %s", (_what, last, words) => {
    const { text } = statusPage(stateWith(outcome(last)), NOW);
    expect(text).toContain(`<p class="error">${words}</p>`);
    expect(text).toContain('<span class="state bad">failed</span>');
  });
});

test("the page may load nothing, and is not read from elsewhere", () => {
  const { status, type, headers } = statusPage(stateWith(undefined), NOW);
  expect([status, type]).toEqual([200, "text/html; charset=utf-8"]);
  expect(headers).toEqual({
    "Content-Security-Policy": expect.stringMatching(/^default-src 'none'/),
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
  });
});
