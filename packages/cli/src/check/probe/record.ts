import { readEntityTag } from "../entity-tag.ts";
import type { Exchange, ProbeRequest, Recording } from "../exchange.ts";
import { answerOf, headerOf } from "../exchange.ts";
import type { Prober } from "./prober.ts";
import { followUps, get } from "./requests.ts";
import { locate } from "./locate.ts";
import type { Target } from "./target.ts";

/** How many requests are sent at a time. */
const TOGETHER = 4;

/** Makes all requests of a check. */
export async function record(target: Target, prober: Prober, isStrict: boolean): Promise<Recording> {
  const { first, ...located } = await locate(target, prober);
  if (first === undefined) return { ...located, redirects: [], probes: {} };
  const { redirects, exchange } = first;
  const answer = answerOf(exchange);
  if (answer?.status !== 200) return { ...located, redirects, probes: { get: exchange } };

  const { url } = answer.request;
  const tag = readEntityTag(headerOf(answer, "etag"));
  const etag = tag?.kind === "malformed" ? undefined : tag?.value;
  const answers = await allOf(followUps(url, etag, isStrict), prober.ask);
  const coded = await revalidateCoded(url, answers["gzip"], prober);
  const again = await prober.ask(get(url));
  return { ...located, redirects, probes: { get: exchange, ...answers, ...coded, again } };
}

/** Asks again with the ETag of the compressed answer, as a relying party does that accepts compression. */
async function revalidateCoded(
  url: string,
  coded: Exchange | undefined,
  prober: Prober,
): Promise<Pick<Recording["probes"], "gzipExact">> {
  const answer = answerOf(coded);
  if (answer === undefined || headerOf(answer, "content-encoding") === undefined) return {};
  const tag = headerOf(answer, "etag");
  if (tag === undefined) return {};
  return { gzipExact: await prober.ask(get(url, { "accept-encoding": "gzip", "if-none-match": tag })) };
}

/** Sends several requests, a few at a time. */
async function allOf(
  probes: Readonly<Record<string, ProbeRequest>>,
  ask: (probe: ProbeRequest) => Promise<Exchange>,
): Promise<Readonly<Record<string, Exchange>>> {
  const waiting = Object.entries(probes);
  const answers: [string, Exchange][] = [];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      answers.push([next[0], await ask(next[1])]);
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
  return Object.fromEntries(answers);
}
