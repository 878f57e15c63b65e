import { duration } from "../../terminal/duration.ts";
import type { Answer } from "../exchange.ts";
import { headerOf } from "../exchange.ts";
import type { Facts } from "../facts.ts";
import { dateOf, directSeconds, lifetimeOf, sharedSeconds } from "../lifetime.ts";
import { excerpt, quoted } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { fine, findings, found, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";

const DAY = 86_400;
const CLOCK_TOLERANCE_MS = 300_000;

/** What caches are told. */
export const LIFETIME_RULES: readonly Rule[] = [
  { id: "lifetime", title: "The answer states its lifetime", clause: "RFC 9111 §4.2, §5.2.2", judge: withSet(stated) },
  {
    id: "announcement",
    title: "A new key can be announced within a day",
    clause: "OIDC Core §10.1.1",
    judge: withSet(announcement),
  },
  { id: "age", title: "The answer is within its lifetime", clause: "RFC 9111 §4.2.4, §5.2.2.2", judge: withSet(age) },
  { id: "vary", title: "One copy of the set for all", clause: "RFC 9110 §12.5.5", judge: withSet(vary) },
  { id: "clock", title: "The server's clock is right", clause: "RFC 9110 §6.6.1", judge: withSet(clock) },
];

function withSet(judge: (answer: Answer) => Outcome): (facts: Facts) => Outcome {
  return ({ ok }) => (ok === undefined ? skipped("no set") : judge(ok));
}

/** A sender must not quote these two (RFC 9111 sections 5.2.2.1 and 5.2.2.10). */
const QUOTED = /(?:^|[\s,])(max-age|s-maxage)\s*=\s*"/gi;

function stated(answer: Answer): Outcome {
  const value = headerOf(answer, "cache-control");
  const { freshFor, directives, unreadable } = lifetimeOf(answer);
  const shown = value === undefined ? "no Cache-Control" : excerpt(value);
  const faults = unreadable.map((part): CheckFinding => {
    const advice = "Caches ignore it. Send a comma after each directive, and no semicolon.";
    return { severity: "must", seen: `${quoted(part, 60)} is no directive`, advice };
  });
  if (freshFor === undefined) {
    const advice = "Every cache chooses its own lifetime. Send Cache-Control with max-age.";
    return findings([...faults, { severity: "should", seen: shown, advice }]);
  }
  for (const [name, values] of directives) {
    if (!/^(?:max-age|s-maxage|stale-while-revalidate)$/.test(name)) continue;
    if (new Set(values).size > 1 || !/^\d+$/.test(values[0] ?? "")) {
      const seen = `${name} is ${excerpt(values.join(" and "), 60)}`;
      faults.push({
        severity: "must",
        seen,
        advice: "Send one whole number of seconds. Caches read anything else as stale.",
      });
    }
  }
  for (const [, name = ""] of (value ?? "").matchAll(QUOTED)) {
    const seen = `${name.toLowerCase()} has quotes`;
    faults.push({ severity: "must", seen, advice: "Send the number alone. Many caches cannot read it in quotes." });
  }
  if (directives.has("immutable")) {
    const advice = "The set changes when keys rotate. Browsers do not ask again before the lifetime ends.";
    faults.push({ severity: "should", seen: "immutable", advice });
  }
  if (faults.length === 0 && freshFor === 0) {
    return found(
      "note",
      shown,
      "No cache keeps it, so each relying party asks for every token, or ignores the header.",
    );
  }
  return findings(faults, shown);
}

function announcement(answer: Answer): Outcome {
  const lifetime = lifetimeOf(answer);
  if (lifetime.freshFor === undefined) return skipped("no lifetime is stated");
  const direct = directSeconds(lifetime);
  const shared = sharedSeconds(lifetime);
  const behind = shared > direct ? `, ${duration(shared)} behind a shared cache` : "";
  const seen = `a new key may sign ${duration(direct)} after it is published${behind}`;
  if (direct <= DAY) return fine(seen);
  const advice =
    "Publish a new key that long before it signs, or shorten max-age. A revoked key stays trusted as long.";
  return found("should", seen, advice);
}

function age(answer: Answer): Outcome {
  const { age: seconds, isAgeStated, freshFor, sharedFreshFor, staleFor, directives } = lifetimeOf(answer);
  if (!isAgeStated) return fine("no Age");
  if (freshFor === undefined) return skipped("no lifetime is stated");
  const seen = `Age ${duration(seconds)}`;
  if (seconds <= Math.max(freshFor, sharedFreshFor ?? 0) + staleFor) return fine(seen);
  const isForbidden = ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage"].some((name) =>
    directives.has(name),
  );
  const advice =
    "A cache serves the set beyond its lifetime, so announced and withdrawn keys arrive late. Check its settings.";
  return found(
    isForbidden ? "must" : "should",
    `${seen}, but it may be used for ${duration(freshFor + staleFor)}`,
    advice,
  );
}

function vary(answer: Answer): Outcome {
  const value = headerOf(answer, "vary");
  if (value === undefined) return fine();
  const names = value.split(",").map((name) => name.trim().toLowerCase());
  if (names.includes("*")) {
    return found("should", "Vary: *", "No cache can reuse the set. Remove the header.");
  }
  const split = names.filter((name) => name !== "accept-encoding" && name !== "");
  if (split.length === 0) return fine(excerpt(value));
  const advice = "Shared caches keep one copy for each value. During a rotation they differ. Remove the header.";
  return found("note", `Vary: ${excerpt(value)}`, advice);
}

function clock(answer: Answer): Outcome {
  const date = dateOf(answer);
  if (date === undefined) return skipped("no Date");
  const { isAgeStated } = lifetimeOf(answer);
  // A cache sends the date of the origin's answer.
  const difference = isAgeStated ? 0 : date - answer.sentAt;
  if (Math.abs(difference) <= CLOCK_TOLERANCE_MS) return fine();
  const seen = `${duration(Math.abs(difference) / 1000)} ${difference > 0 ? "ahead of" : "behind"} this machine`;
  return found("note", seen, "Tokens and rotations follow the clock. Compare both with NTP.");
}
