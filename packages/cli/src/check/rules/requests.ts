import { codingOf } from "../content-coding.ts";
import { answerOf, headerOf } from "../exchange.ts";
import type { Exchange } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";
import { noAnswer } from "./transport.ts";

/** Requests of other kinds. */
export const REQUEST_RULES: readonly Rule[] = [
  { id: "method", title: "Other methods: 405 with Allow", clause: "RFC 9110 §9.1, §15.5.6", judge: method },
  { id: "accept", title: "Every Accept gets the set", clause: "RFC 9110 §12.5.1", judge: accept },
  {
    id: "compression",
    title: "Compression keeps the ETag usable",
    clause: "RFC 9110 §8.8.3.3, §12.5.3, §12.5.5",
    judge: compression,
  },
  { id: "cookies", title: "No cookies", clause: "RFC 9111 §7.3", judge: cookies },
];

function method({ ok, recording, whyNotAsked }: Facts): Outcome {
  const { post } = recording.probes;
  if (ok === undefined || post === undefined) return skipped(whyNotAsked);
  const answer = answerOf(post);
  if (answer?.status !== 405) {
    return found("should", `POST: ${noAnswer(post)}`, "Answer 405 with Allow: GET, HEAD.");
  }
  const allow = headerOf(answer, "allow");
  if (allow === undefined) return found("must", "405 without Allow", "Send Allow: GET, HEAD.");
  const methods = allow.split(",").map((one) => one.trim());
  const missing = ["GET", "HEAD"].filter((one) => !methods.includes(one));
  if (missing.length === 0) return fine(excerpt(allow));
  return found("should", `Allow: ${excerpt(allow)}, without ${missing.join(" and ")}`, "Send Allow: GET, HEAD.");
}

function accept({ ok, recording, whyNotAsked }: Facts): Outcome {
  const { acceptJwkSet, acceptJson } = recording.probes;
  if (ok === undefined || acceptJwkSet === undefined || acceptJson === undefined) return skipped(whyNotAsked);
  const asked: readonly (readonly [string, Exchange])[] = [
    ["application/jwk-set+json", acceptJwkSet],
    ["application/json", acceptJson],
  ];
  return findings(
    asked.flatMap(([type, exchange]): readonly CheckFinding[] => {
      if (answerOf(exchange)?.status === 200) return [];
      const advice = "Relying parties ask for either type. Ignore Accept, and send the set.";
      return [{ severity: "should", seen: `Accept: ${type}: ${noAnswer(exchange)}`, advice }];
    }),
  );
}

function compression({ ok, etag, recording, whyNotAsked }: Facts): Outcome {
  const forced = ok === undefined ? undefined : codingOf(ok);
  if (forced !== undefined) {
    const advice = "A client that does not decode it cannot read the keys (RFC 9110 §12.5.3). Send the set as it is.";
    return found("should", `compressed with ${excerpt(forced, 20)} although identity was asked for`, advice);
  }
  const coded = answerOf(recording.probes.gzip);
  if (ok === undefined || coded?.status !== 200) return skipped(whyNotAsked);
  const coding = headerOf(coded, "content-encoding");
  if (coding === undefined || coding === "identity") return fine("not compressed");
  return findings([
    ...varies(headerOf(coded, "vary")),
    ...codedTag(etag?.value, headerOf(coded, "etag"), answerOf(recording.probes.gzipExact)?.status),
  ]);
}

function varies(vary = ""): readonly CheckFinding[] {
  const names = vary.split(",").map((name) => name.trim().toLowerCase());
  if (names.includes("accept-encoding") || names.includes("*")) return [];
  return [
    {
      severity: "should",
      seen: "compressed without Vary: Accept-Encoding",
      advice: "Send it, or do not compress the set.",
    },
  ];
}

function codedTag(
  plain: string | undefined,
  coded: string | undefined,
  revalidated: number | undefined,
): readonly CheckFinding[] {
  if (plain === undefined) return [];
  if (coded === undefined) {
    return [
      { severity: "should", seen: "compression removes the ETag", advice: "Do not compress the set: it is small." },
    ];
  }
  if (coded === plain && !coded.startsWith("W/")) {
    const seen = "the compressed body has the same strong ETag";
    return [{ severity: "must", seen, advice: "Two bodies need two ETags. Do not compress the set: it is small." }];
  }
  if (revalidated === 304) return [];
  const seen = `compression changes the ETag to ${excerpt(coded)}, which then gets ${revalidated ?? "no answer"}`;
  return [
    { severity: "should", seen, advice: "Do not compress the set, or compare weakly (Signpost: weakIfNoneMatch)." },
  ];
}

function cookies({ ok }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  if (headerOf(ok, "set-cookie") === undefined) return fine();
  return found("note", "the answer sets a cookie", "Shared caches store the cookie with the set. Send none.");
}
