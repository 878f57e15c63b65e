import { createHash } from "node:crypto";
import { answerOf, headerOf } from "../exchange.ts";
import type { Answer, ProbeName } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import type { KeyFacts } from "../key-facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";
import { noAnswer } from "./transport.ts";

const CLAUSE = "Signpost, docs/endpoint.md";

const LIFETIMES = ["public, max-age=3600, stale-while-revalidate=3600", "public, max-age=300, must-revalidate"];
const MEDIA_TYPE = "application/jwk-set+json";
const ALLOW = "GET, HEAD";
const BETWEEN = "A proxy or a framework changes the answer of the endpoint. See docs/endpoint.md.";

/** What Signpost's endpoint promises beyond the RFCs. Only with `--strict`. */
export const CONTRACT_RULES: readonly Rule[] = [
  { id: "signpost-headers", title: "Exact headers of the set", clause: CLAUSE, judge: headers },
  { id: "signpost-etag", title: "The ETag is the SHA-256 of the body", clause: CLAUSE, judge: hash },
  { id: "signpost-body", title: "ES256 keys first, exact members, compact JSON", clause: CLAUSE, judge: body },
  { id: "signpost-304", title: "Exact headers of a 304", clause: CLAUSE, judge: notModified },
  { id: "signpost-weak", title: "A weak If-None-Match gets the set", clause: CLAUSE, judge: weak },
  { id: "signpost-405", title: "Exact 405 for POST, OPTIONS and PATCH", clause: CLAUSE, judge: notAllowed },
  { id: "signpost-query", title: "A query changes nothing", clause: CLAUSE, judge: query },
];

function must(seen: string, advice = BETWEEN): CheckFinding {
  return { severity: "must", seen, advice };
}

function expected(answer: Answer, name: string, values: readonly (string | undefined)[]): readonly CheckFinding[] {
  const value = headerOf(answer, name);
  if (values.includes(value)) return [];
  const wanted = values.map((one) => one ?? "none").join(" or ");
  return [must(`${name}: ${value === undefined ? "not sent" : excerpt(value)}, expected ${wanted}`)];
}

function headers({ ok }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  return findings([
    ...expected(ok, "content-type", [MEDIA_TYPE]),
    ...expected(ok, "cache-control", LIFETIMES),
    ...expected(ok, "allow", [ALLOW]),
    ...expected(ok, "content-length", [String(ok.body.length)]),
  ]);
}

function hash({ ok }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  return findings(expected(ok, "etag", [`"${createHash("sha256").update(ok.body).digest("hex")}"`]));
}

/** The members of each kind of entry, in their order. */
const MEMBERS: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ["EC", ["kty", "crv", "x", "y", "kid", "alg", "use"]],
  ["RSA", ["kty", "n", "e", "kid", "alg", "use"]],
  ["OKP", ["kty", "crv", "x", "kid", "alg", "use"]],
]);
const LEGACY: ReadonlySet<unknown> = new Set(["RS256", "PS256", "EdDSA"]);

function body({ document, keys }: Facts): Outcome {
  if (document === undefined || "fault" in document) return skipped("no set");
  const ranks = keys.map(rankOf);
  const legacy = keys.filter((key) => rankOf(key) === 1);
  const isSorted = ranks.every((rank, index) => rank >= (ranks[index - 1] ?? 0));
  return findings([
    ...(isCompact(document.json, document.text) ? [] : [must("the JSON is not compact")]),
    ...(Object.keys(document.json).join(",") === "keys" ? [] : [must('the set has other members than "keys"')]),
    ...(ranks[0] === 0 ? [] : [must("the first key is not an ES256 signing key")]),
    ...(isSorted ? [] : [must("the keys are not in the order: ES256, legacy, encryption")]),
    ...keys.flatMap(exactMembers),
    ...legacy.map(({ label, alg }): CheckFinding => {
      const advice = "Withdraw it when the move to ES256 has ended.";
      return { severity: "note", seen: `${label}: a legacy ${String(alg)} key`, advice };
    }),
  ]);
}

/** Values that are nested deeper than JSON can be written are none of ours. */
function isCompact(json: object, text: string): boolean {
  try {
    return JSON.stringify(json) === text;
  } catch {
    return false;
  }
}

/** ES256 keys first, then legacy keys, then encryption keys, then strangers. */
function rankOf({ alg, use, members }: KeyFacts): number {
  if (use === "sig" && alg === "ES256" && members["crv"] === "P-256") return 0;
  if (use === "sig" && LEGACY.has(alg)) return 1;
  return use === "enc" ? 2 : 3;
}

function exactMembers(key: KeyFacts): readonly CheckFinding[] {
  const { label, kty, kid, members } = key;
  const order = MEMBERS.get(kty) ?? [];
  return [
    ...(rankOf(key) === 3 ? [must(`${label} is none of the keys that Signpost publishes`)] : []),
    ...(Object.keys(members).join(",") === order.join(",")
      ? []
      : [must(`${label}: expected the members ${order.join(", ")}`)]),
    ...(kid !== undefined && kid.length > 256 ? [must(`${label}: the kid has more than 256 characters`)] : []),
  ];
}

function notModified({ ok, recording }: Facts): Outcome {
  const answer = answerOf(recording.probes.exact);
  if (ok === undefined || answer?.status !== 304) return skipped("no 304");
  return findings(["content-type", "content-length"].flatMap((name) => expected(answer, name, [undefined])));
}

function weak({ recording, whyNotAsked }: Facts): Outcome {
  const answer = answerOf(recording.probes.weak);
  if (answer === undefined) return skipped(whyNotAsked);
  if (answer.status === 200) return fine("200");
  return found(
    "note",
    String(answer.status),
    'Right with weakIfNoneMatch: "match", or behind a cache that answers itself.',
  );
}

const OTHER_METHODS = ["post", "options", "patch"] as const;

function notAllowed({ ok, recording }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  return findings(
    OTHER_METHODS.flatMap((name: ProbeName): readonly CheckFinding[] => {
      const exchange = recording.probes[name];
      if (exchange === undefined) return [];
      const answer = answerOf(exchange);
      if (answer?.status !== 405) return [must(`${name.toUpperCase()}: ${noAnswer(exchange)}, expected 405`)];
      return [...expected(answer, "allow", [ALLOW]), ...expected(answer, "cache-control", ["no-store"])];
    }),
  );
}

function query({ ok, etag, recording, whyNotAsked }: Facts): Outcome {
  const exchange = recording.probes.query;
  if (ok === undefined || exchange === undefined) return skipped(whyNotAsked);
  const answer = answerOf(exchange);
  if (answer?.status !== 200) return findings([must(`with a query: ${noAnswer(exchange)}`)]);
  const again = answerOf(recording.probes.again) ?? ok;
  return findings(expected(answer, "etag", [etag?.value, headerOf(again, "etag")]));
}
