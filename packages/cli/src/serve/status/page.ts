import { jwkThumbprint, serializeJwks, type JwkInput } from "@signpost/core";
import type { Answer } from "../http/answers.ts";
import type { Outcome } from "../live/reloader.ts";
import type { Serving } from "../live/serving.ts";
import { isReady, type ServerState } from "../state.ts";
import { html, NOTHING, type Html } from "./html.ts";
import { planList, planPicture, viewAt } from "./picture.ts";
import { contentSecurityPolicy, STYLE } from "./style.ts";
import { timeOf, timeWithDistance } from "./times.ts";

/** The page that shows people what is served, what changes next, and what is wrong. */
export function statusPage(state: ServerState, now: Date): Answer {
  const serving = state.live.serving();
  const title = serving?.loaded.config.issuer ?? state.configName;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}: signpost</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <h1>${title} ${stateOf(state)}</h1>
          ${serving === undefined ? NOTHING : servingSections(state, serving, now)} ${configSection(state, now)}
          <footer>
            signpost ${state.version}, Node ${process.versions.node}, started ${timeWithDistance(state.startedAt, now)}.
            As of ${timeOf(now)}. <a href="/metrics">metrics</a> <a href="/readyz">readyz</a>
            <a href="/livez">livez</a>
          </footer>
        </main>
      </body>
    </html> `;
  return {
    status: 200,
    type: "text/html; charset=utf-8",
    text: page.markup,
    headers: {
      "Content-Security-Policy": contentSecurityPolicy(),
      "Referrer-Policy": "no-referrer",
      "Cross-Origin-Resource-Policy": "same-origin",
    },
  };
}

/** By itself, because the policy of the page has the hash of exactly these characters. */
const STYLE_ELEMENT: Html = { markup: `<style>${STYLE}</style>` };

function stateOf(state: ServerState): Html {
  if (isReady(state)) return html`<span class="state good">ready</span>`;
  return html`<span class="state bad">${state.isStopping ? "stopping" : "not ready"}</span>`;
}

function servingSections({ live }: ServerState, { endpoint, segments }: Serving, now: Date): Html {
  const set = live.published();
  if (set === undefined) return NOTHING;
  const next = live.nextChange();
  const lifetime = live.isRotationActive()
    ? "5 minutes, because keys change"
    : "1 hour, and 1 hour more while they fetch it again";
  const view = viewAt(segments, now);
  return html`<section>
      <h2>Key set</h2>
      <dl>
        <dt>Address</dt>
        <dd><a href="${endpoint.jwksUri}">${endpoint.jwksUri}</a></dd>
        <dt>ETag</dt>
        <dd><code>${serializeJwks(set).etag}</code></dd>
        <dt>Caches keep it for</dt>
        <dd>${lifetime}</dd>
        <dt>Next change</dt>
        <dd>${next === null ? "none is planned" : timeWithDistance(next, now)}</dd>
      </dl>
    </section>
    <section>
      <h2>Plan</h2>
      ${planPicture(view, now)} ${LEGEND} ${planList(view, now)}
    </section>
    <section>
      <h2>Keys</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">kid</th>
            <th scope="col">role</th>
            <th scope="col">algorithm</th>
            <th scope="col">thumbprint</th>
          </tr>
        </thead>
        <tbody>
          ${set.keys.map(
            ({ keyId, role, alg, use, publicKey }) =>
              html`<tr>
                <td data-name="kid"><code>${keyId}</code></td>
                <td data-name="role">${role}</td>
                <td data-name="algorithm">${alg} <span class="soft">${use}</span></td>
                <td data-name="thumbprint"><code>${jwkThumbprint(publicKey as unknown as JwkInput)}</code></td>
              </tr> `,
          )}
        </tbody>
      </table>
    </section>`;
}

const LEGEND: Html = html`<ul class="legend">
  ${(
    [
      ["active", "active: signs", 0, 16],
      ["announced", "announced: published, does not sign yet", 0, 16],
      ["retiring", "retiring: published, no longer signs", 4, 8],
      ["withdrawn", "withdrawn: no longer published", 7, 2],
    ] as const
  ).map(
    ([kind, text, y, height]) =>
      html`<li>
        <svg aria-hidden="true"><rect class="${kind}" x="1" width="26" y="${y}" height="${height}" /></svg>${text}
      </li>`,
  )}
</ul>`;

function configSection({ configName, live, reloader }: ServerState, now: Date): Html {
  const since = live.serving()?.since;
  const last = reloader.last();
  return html`<section>
    <h2>Configuration</h2>
    <dl>
      <dt>File</dt>
      <dd><code>${configName}</code></dd>
      <dt>In use since</dt>
      <dd>${since === undefined ? "not yet" : timeWithDistance(since, now)}</dd>
      <dt>Last load</dt>
      <dd>${last === undefined ? "is running" : loadText(last, now)}</dd>
    </dl>
    ${last?.failure === undefined ? NOTHING : failureText(last)}
  </section>`;
}

const REASONS: Readonly<Record<Outcome["reason"], string>> = {
  start: "at the start",
  change: "because the file changed",
  signal: "because of SIGHUP",
  retry: "because the one before failed",
};

function loadText({ at, reason, failure }: Outcome, now: Date): Html {
  const state =
    failure === undefined ? html`<span class="state good">ok</span>` : html`<span class="state bad">failed</span>`;
  return html`${state} ${timeWithDistance(at, now)}, ${REASONS[reason]}`;
}

function failureText({ failure, retryMs }: Outcome): Html {
  const hint = failure?.hint === undefined ? "" : ` ${failure.hint}.`;
  const retry = retryMs === undefined ? "" : " It is tried again.";
  return html`<p class="error">${failure?.message ?? ""}${hint}${retry}</p>`;
}
