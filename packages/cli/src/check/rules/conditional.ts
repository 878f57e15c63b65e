import { answerOf, headerOf } from "../exchange.ts";
import type { ProbeName } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";
import { noAnswer } from "./transport.ts";

const CLAUSE = "RFC 9110 §13.1.2";

/** Headers of the 200 that a 304 must repeat (RFC 9110 section 15.4.5). `Date` is the server's own. */
const REPEATED = ["etag", "cache-control", "content-location", "expires", "vary"] as const;

/** What to do about one that is missing. */
const ADVICE: Readonly<Record<(typeof REPEATED)[number], string>> = {
  etag: "Send it as in the 200. Without it, a cache cannot tell which of its copies is valid.",
  "cache-control": "Send it as in the 200. A warm cache learns of a rotation only from here.",
  expires: "Send it as in the 200. A warm cache learns of a rotation only from here.",
  vary: "Send it as in the 200, or turn compression off for the set (nginx: gzip off).",
  "content-location": "Send it as in the 200.",
};

const NO_BODY = "A 304 has no body. The next answer on the connection is read wrongly.";

/** Headers that describe a body, which a 304 does not have. */
const OF_A_BODY = ["content-type", "content-length", "content-encoding"] as const;

const WARM = "Answer 304. A warm cache asks like this, and gets the whole set each time.";

/** Conditional requests. */
export const CONDITIONAL_RULES: readonly Rule[] = [
  { id: "304-exact", title: "If-None-Match with the ETag: 304", clause: CLAUSE, judge: matches("exact") },
  {
    id: "304-star",
    title: "If-None-Match: * is a match: 304",
    clause: CLAUSE,
    judge: matches("star", "Answer 304. Caches rarely ask like this, but the standard leaves no choice."),
  },
  { id: "304-list", title: "If-None-Match with a list: 304", clause: CLAUSE, judge: matches("list") },
  { id: "304-weak", title: "If-None-Match with the weak form", clause: `${CLAUSE}, §8.8.3.2`, judge: weak },
  { id: "304-head", title: "HEAD with If-None-Match: 304", clause: CLAUSE, judge: matches("headExact") },
  { id: "304-other", title: "Another ETag gets the set", clause: CLAUSE, judge: other },
  { id: "304-headers", title: "A 304 has the ETag and the lifetime", clause: "RFC 9110 §15.4.5", judge: repeated },
];

function matches(name: ProbeName, advice = WARM): (facts: Facts) => Outcome {
  return ({ ok, etag, recording, whyNotAsked }) => {
    const exchange = recording.probes[name];
    if (ok !== undefined && etag === undefined && name !== "star") return skipped("no ETag");
    if (ok === undefined || exchange === undefined) return skipped(whyNotAsked);
    const answer = answerOf(exchange);
    if (answer?.status === 304) return fine();
    if (answer?.status === 200 && headerOf(answer, "etag") !== etag?.value) {
      // A set that changed in between, or a replica with another ETag, which has its own rule.
      return skipped("the ETag changed during the check");
    }
    const seen = answer?.status === 200 ? "200 with the set" : noAnswer(exchange);
    return found("must", seen, advice);
  };
}

function weak({ ok, etag, recording, whyNotAsked }: Facts): Outcome {
  const exchange = recording.probes.weak;
  if (ok !== undefined && etag?.kind !== "strong")
    return skipped(etag === undefined ? "no ETag" : "the ETag is weak itself");
  if (ok === undefined || exchange === undefined) return skipped(whyNotAsked);
  const answer = answerOf(exchange);
  if (answer?.status === 304) return fine("304");
  if (answer?.status === 200) {
    const advice = "Safe: the client gets the set. Behind a proxy that weakens the ETag, no revalidation gets a 304.";
    return found("note", "200 with the set. The RFC compares weakly", advice);
  }
  return found("must", noAnswer(exchange), "Answer 304, or 200 with the set.");
}

function other({ ok, recording, whyNotAsked }: Facts): Outcome {
  const exchange = recording.probes.other;
  if (ok === undefined || exchange === undefined) return skipped(whyNotAsked);
  const answer = answerOf(exchange);
  if (answer?.status === 200) return fine();
  const advice =
    answer?.status === 304
      ? "A cache keeps withdrawn keys for good. Compare the ETag."
      : "Answer 200 with the set when the ETag does not match.";
  return found("must", noAnswer(exchange), advice);
}

function repeated({ ok, recording }: Facts): Outcome {
  const notModified = answerOf(recording.probes.exact);
  if (ok === undefined || notModified?.status !== 304) return skipped("no 304");
  const again = answerOf(recording.probes.again) ?? ok;
  const missing = REPEATED.filter(
    (name) => headerOf(ok, name) !== undefined && headerOf(notModified, name) === undefined,
  );
  const changed = REPEATED.flatMap((name): readonly CheckFinding[] => {
    const value = headerOf(notModified, name);
    // Expires moves with the clock.
    if (name === "expires" || value === undefined) return [];
    if ([headerOf(ok, name), headerOf(again, name)].includes(value)) return [];
    const seen = `${name}: ${excerpt(value)} instead of ${excerpt(headerOf(ok, name) ?? "nothing")}`;
    return [{ severity: "should", seen, advice: "Send the value of the 200." }];
  });
  const superfluous = OF_A_BODY.filter((name) => headerOf(notModified, name) !== undefined);
  const stray: readonly CheckFinding[] =
    notModified.strayBytes === 0
      ? []
      : [{ severity: "must", seen: `${notModified.strayBytes} bytes after the header`, advice: NO_BODY }];
  return findings([
    ...stray,
    ...missing.map((name): CheckFinding => {
      return {
        severity: "must",
        seen: `no ${name}`,
        advice: ADVICE[name],
      };
    }),
    ...changed,
    ...superfluous.map((name): CheckFinding => {
      return { severity: "note", seen: `has ${name}`, advice: "A 304 has no body, so it should not describe one." };
    }),
  ]);
}
