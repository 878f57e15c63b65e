import { answerOf, headerOf, isRepeated } from "../exchange.ts";
import type { Answer } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, SEND_ONCE, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";
import { noAnswer } from "./transport.ts";

/** Headers that describe the representation, and so are the same for GET and HEAD. */
const SAME_FOR_HEAD = ["content-type", "etag", "cache-control", "last-modified", "content-encoding", "vary"] as const;

/** The ETag, and whether HEAD equals GET. */
export const VALIDATOR_RULES: readonly Rule[] = [
  { id: "etag", title: "A strong ETag", clause: "RFC 9110 §8.8.3", judge: etag },
  {
    id: "stable",
    title: "The same bytes have the same ETag, other bytes another",
    clause: "RFC 9110 §8.8.1",
    judge: stable,
  },
  { id: "head", title: "HEAD equals GET", clause: "RFC 9110 §9.1, §9.3.2", judge: head },
];

function etag({ ok, etag }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  if (etag === undefined) {
    return found("should", "no ETag", "Without one, every revalidation transfers the set. Send a strong ETag.");
  }
  const shown = excerpt(etag.value);
  if (isRepeated(ok, "etag")) return found("must", `${shown}, more than once`, SEND_ONCE);
  if (etag.kind === "strong") return fine(shown);
  if (etag.kind === "malformed")
    return found("must", shown, "Put the tag in double quotes. Caches cannot use it like this.");
  const advice = "It is weak. A proxy that compresses often weakens it, and some servers then never answer 304.";
  return found("note", shown, advice);
}

function stable({ ok, etag, recording, whyNotAsked }: Facts): Outcome {
  const again = answerOf(recording.probes.again);
  if (ok === undefined || again?.status !== 200) return skipped(whyNotAsked);
  const isSame = Buffer.compare(ok.body, again.body) === 0;
  const tag = headerOf(again, "etag");
  if (isSame && tag === etag?.value) return fine();
  if (isSame) {
    const seen = `the same bytes, but ${shownTag(etag?.value)} and ${shownTag(tag)}`;
    return found("should", seen, "Revalidations fail between replicas. Compute the ETag from the bytes alone.");
  }
  if (etag?.kind === "strong" && tag === etag.value) {
    return found(
      "must",
      `two bodies under ${shownTag(tag)}`,
      "Caches keep the old keys. Compute the ETag from the bytes.",
    );
  }
  const advice = "Check again. If it stays, replicas publish different sets, or the order of the keys changes.";
  return found("note", "two requests got two different sets", advice);
}

function shownTag(tag: string | undefined): string {
  return tag === undefined ? "no ETag" : `ETag ${excerpt(tag)}`;
}

function head({ ok, recording, whyNotAsked }: Facts): Outcome {
  const exchange = recording.probes.head;
  if (ok === undefined || exchange === undefined) return skipped(whyNotAsked);
  const answer = answerOf(exchange);
  if (answer?.status !== 200) {
    return found(
      "must",
      `HEAD: ${noAnswer(exchange)}`,
      "Every server must support HEAD. Answer as for GET, without the body.",
    );
  }
  // The set may change, or its lifetime, between the requests. So HEAD must be like one of the two GETs.
  const gets = [ok, answerOf(recording.probes.again) ?? ok] as const;
  return findings([...differentHeaders(gets, answer), ...differentLength(gets, answer), ...strayBody(answer)]);
}

function differentHeaders(gets: readonly [Answer, Answer], answer: Answer): readonly CheckFinding[] {
  return SAME_FOR_HEAD.filter((name) => gets.every((get) => headerOf(get, name) !== headerOf(answer, name))).map(
    (name) => ({
      severity: "should",
      seen: `${name}: ${shown(headerOf(answer, name))} for HEAD, ${shown(headerOf(gets[0], name))} for GET`,
      advice: "Send the headers of GET. A cache that revalidates by HEAD takes these for the new ones.",
    }),
  );
}

function differentLength(gets: readonly [Answer, Answer], answer: Answer): readonly CheckFinding[] {
  const length = headerOf(answer, "content-length");
  if (length === undefined || gets.some(({ isTruncated, body }) => isTruncated || Number(length) === body.length))
    return [];
  const seen = `Content-Length ${excerpt(length)} for HEAD, ${gets[0].body.length} bytes for GET`;
  return [{ severity: "must", seen, advice: "Send the length of the GET body, or no Content-Length (RFC 9110 §8.6)." }];
}

function strayBody({ strayBytes }: Answer): readonly CheckFinding[] {
  if (strayBytes === 0) return [];
  const advice = "An answer to HEAD has no body. The next answer on the connection is read wrongly.";
  return [{ severity: "must", seen: `${strayBytes} bytes after the header`, advice }];
}

function shown(value: string | undefined): string {
  return value === undefined ? "not sent" : excerpt(value);
}
