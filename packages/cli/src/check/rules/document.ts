import { headerOf, isRepeated } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { repeatedNames } from "../json-names.ts";
import { excerpt, quoted } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, SEND_ONCE, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";

/** The largest set that Nimbus reads by default, in bytes. */
const COMMON_LIMIT = 51_200;
const MANY_KEYS = 64;

/** The body of the set and its media type. */
export const DOCUMENT_RULES: readonly Rule[] = [
  { id: "media-type", title: "The media type is that of a JWK Set", clause: "RFC 7517 §8.5.2", judge: mediaType },
  {
    id: "jwks-json",
    title: 'A JSON object with an array "keys"',
    clause: "RFC 7517 §5, RFC 8259 §8.1",
    judge: jwksJson,
  },
  { id: "member-names", title: "No name twice in one object", clause: "RFC 7517 §4, §5", judge: memberNames },
  { id: "size", title: "Small enough for every relying party", clause: "usual limits", judge: size },
];

function mediaType({ ok }: Facts): Outcome {
  if (ok === undefined) return skipped("no set");
  const value = headerOf(ok, "content-type");
  if (value === undefined) {
    return found("should", "no Content-Type", "Send Content-Type: application/jwk-set+json (RFC 9110 §8.3).");
  }
  const [type = "", ...parameters] = value.split(";").map((part) => part.trim().toLowerCase());
  const seen = excerpt(value);
  if (isRepeated(ok, "content-type")) return found("must", `${seen}, more than once`, SEND_ONCE);
  if (type === "application/jwk-set+json") {
    if (parameters.length === 0) return fine(seen);
    return found("note", seen, "The media type has no parameters. A client that compares the whole value fails.");
  }
  if (type === "application/json") {
    return found("note", seen, "Every relying party reads it. The registered type is application/jwk-set+json.");
  }
  return found("should", seen, "Some relying parties refuse it. Send application/jwk-set+json.");
}

function jwksJson({ ok, document }: Facts): Outcome {
  if (ok === undefined || document === undefined) return skipped("no set");
  if ("fault" in document)
    return found("must", document.fault, 'Serve {"keys":[…]} as UTF-8 without a byte order mark.');
  return fine(`${ok.body.length} bytes, ${document.entries.length} ${document.entries.length === 1 ? "key" : "keys"}`);
}

function memberNames({ document }: Facts): Outcome {
  if (document === undefined || "fault" in document) return skipped("no set");
  const advice = "Parsers keep one of the two, and not all keep the same. Send each name once.";
  return findings(
    repeatedNames(document.text)
      .slice(0, 5)
      .map((name): CheckFinding => ({ severity: "must", seen: `${quoted(name, 40)} is there twice`, advice })),
  );
}

function size({ ok, document }: Facts): Outcome {
  if (ok === undefined || document === undefined) return skipped("no set");
  if (ok.isTruncated || ok.body.length > COMMON_LIMIT) {
    const seen = ok.isTruncated ? `more than ${ok.body.length} bytes` : `${ok.body.length} bytes`;
    return found("note", seen, `Some relying parties read at most ${COMMON_LIMIT} bytes. Publish fewer keys.`);
  }
  const count = "fault" in document ? 0 : document.entries.length;
  if (count > MANY_KEYS)
    return found("note", `${count} keys`, "Some relying parties refuse more than 64. Withdraw old keys.");
  return fine();
}
