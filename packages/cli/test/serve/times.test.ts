import { expect, test } from "vitest";
import { html, NOTHING } from "../../src/serve/status/html.ts";
import { timeOf, timeWithDistance } from "../../src/serve/status/times.ts";

const NOW = new Date("2026-07-01T08:00:30.500Z");

test("a time has its minute in words, and its exact value for programs", () => {
  expect(timeOf(NOW).markup).toBe('<time datetime="2026-07-01T08:00:30.500Z">2026-07-01 08:00 UTC</time>');
});

test.each([
  [0, "now"],
  [999, "now"],
  [-999, "now"],
  [1000, "in 1 s"],
  [-1000, "1 s ago"],
  [7_800_000, "in 2 h 10 min"],
  [-7_800_000, "2 h 10 min ago"],
])("%d ms away is %s", (ms, words) => {
  const time = new Date(NOW.getTime() + ms);
  expect(timeWithDistance(time, NOW).markup).toBe(`${timeOf(time).markup} <span class="soft">(${words})</span>`);
});

test("text in a template is escaped, and markup is not", () => {
  const inner = html`<b>${"a"}</b>`;
  expect(html`${"<&>\"'"} ${7} ${inner} ${[inner, inner]}`.markup).toBe(
    "&lt;&amp;&gt;&quot;&#39; 7 <b>a</b> <b>a</b><b>a</b>",
  );
});

test("nothing is no part of a page", () => {
  expect(html`<p>${NOTHING}${[NOTHING, NOTHING]}${""}</p>`.markup).toBe("<p></p>");
});
