import { createHash } from "node:crypto";

/** The style of the status page. It loads nothing. */
export const STYLE = `
:root { color-scheme: light dark; --ink: #1b2430; --soft: #566273; --page: #f6f7f9; --card: #fff; --line: #d5dae1;
  --active: #1a6fd0; --retiring: #6f7f92; --short: #b35c00; --good: #17713a; --bad: #b3261e; --now: #b3261e }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa7b8; --page: #11161d; --card: #1a212b; --line: #364252;
    --active: #5aa2f5; --retiring: #8996a8; --short: #e39a4a; --good: #63c989; --bad: #ff8a80; --now: #ff8a80 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.25rem; margin: 0 0 1rem; overflow-wrap: anywhere }
h2 { font-size: 1rem; margin: 0 0 .5rem }
section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 0 0 1rem }
dl { margin: 0; display: grid; grid-template-columns: 10rem 1fr; gap: .25rem 1rem }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
code { font: .875em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; unicode-bidi: isolate }
a { color: var(--active) }
.soft { color: var(--soft) }
.state { font-weight: 600; white-space: nowrap }
.state::before { content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .4em; background: currentColor }
.good { color: var(--good) }
.good::before { border-radius: 50% }
.bad { color: var(--bad) }
.error { border-left: 4px solid var(--bad); margin: .5rem 0 0; padding: .25rem .75rem; overflow-wrap: anywhere }
table { width: 100%; border-collapse: collapse }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line) }
th { color: var(--soft); font-weight: normal; border-top: 0 }
.plan { display: block; overflow: visible; margin: .5rem 0 }
.plan text { font: 12px system-ui, sans-serif; fill: var(--ink) }
.plan .label { paint-order: stroke; stroke: var(--card); stroke-width: 4px; font-family: ui-monospace, monospace }
.plan .soft { fill: var(--soft); font-family: system-ui, sans-serif }
.boundary { stroke: var(--line) }
.plan .number { fill: var(--soft); font-weight: 600 }
.now { stroke: var(--now); stroke-width: 2; stroke-dasharray: 4 3 }
.plan .now-label { fill: var(--now); font-weight: 600 }
.hatch, .active { fill: var(--active) }
.announced { fill: url(#hatch); stroke: var(--active) }
.retiring, .withdrawn { fill: var(--retiring) }
.short { fill: var(--short) }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: 0 0 .75rem; padding: 0; list-style: none; font-size: .875rem }
.legend svg { width: 28px; height: 16px; vertical-align: -3px; margin-right: .35rem }
.changes { margin: 0; padding-left: 1.5rem }
.changes li { overflow-wrap: anywhere; margin-bottom: .35rem }
time, time + .soft { white-space: nowrap }
footer { color: var(--soft); font-size: .875rem; overflow-wrap: anywhere }
@media (max-width: 40rem) {
  dl { display: block }
  dd { margin-bottom: .5rem }
  thead { position: absolute; clip-path: inset(50%) }
  tr { display: block; border-top: 1px solid var(--line); padding: .5rem 0 }
  td { display: block; border: 0; padding: 0 }
  td::before { content: attr(data-name) " "; color: var(--soft) }
}
`;

/** Nothing but this style: no scripts, no pictures from elsewhere, no frames around the page. */
export function contentSecurityPolicy(): string {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  const rules = [
    "default-src 'none'",
    `style-src 'sha256-${hash}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ];
  return rules.join("; ");
}
