import { jwkThumbprint } from "@signpost/core";
import type { Facts } from "../facts.ts";
import type { KeyFacts } from "../key-facts.ts";
import { excerpt } from "../excerpt.ts";
import type { CheckFinding } from "../report.ts";
import { algorithmFits, isForKeys } from "../algorithms.ts";
import { perKey } from "./keys.ts";
import { findings, skipped } from "./rule.ts";
import type { Outcome, Rule } from "./rule.ts";

/** Names and purposes of the keys. */
export const PURPOSE_RULES: readonly Rule[] = [
  { id: "kid", title: "Every key has a kid", clause: "OIDC Core §10.1", judge: kids },
  { id: "kid-distinct", title: "No kid names two keys", clause: "RFC 7517 §4.5", judge: distinctKids },
  { id: "same-key", title: "No key under two names", clause: "good practice", judge: sameKeys },
  { id: "use", title: "use says sig or enc where both are published", clause: "OIDC Discovery §3", judge: uses },
  { id: "key-ops", title: "key_ops are those of a public key", clause: "RFC 7517 §4.3", judge: perKey(keyOperations) },
  { id: "alg", title: "alg fits the key", clause: "RFC 7517 §4.4, RFC 7518 §3.1", judge: perKey(algorithm) },
];

function judged(judge: (keys: readonly KeyFacts[]) => readonly CheckFinding[]): (facts: Facts) => Outcome {
  return ({ document, keys }) =>
    document === undefined || "fault" in document ? skipped("no set") : findings(judge(keys));
}

function kids(facts: Facts): Outcome {
  return judged((keys) => {
    const isAlone = keys.length < 2;
    return keys
      .filter(({ kid, members }) => members["kid"] === undefined || kid === "")
      .map(({ label, kid }): CheckFinding => {
        const seen = `${kid === "" ? "a key" : label} has ${kid === "" ? "an empty kid" : "no kid"}`;
        // With several keys in the set, of whatever use, a token must name its key.
        if (!isAlone)
          return { severity: "must", seen, advice: "Relying parties cannot select it. Give every key a kid." };
        return { severity: "should", seen, advice: "Give the key a kid. Without one, it cannot be rotated." };
      });
  })(facts);
}

function distinctKids(facts: Facts): Outcome {
  return judged((keys) =>
    groups(keys, ({ kid }) => kid).flatMap((same): readonly CheckFinding[] => {
      const types = new Set(same.map(({ kty }) => kty));
      const seen = `${same[0]?.label} is there ${same.length} times`;
      // RFC 7517 allows one kid for keys of different types that are alternatives.
      if (types.size === same.length) {
        return [
          { severity: "note", seen: `${seen}, as different types`, advice: "Some relying parties take the first one." },
        ];
      }
      return [
        {
          severity: "should",
          seen,
          advice: "Relying parties pick one of them, or refuse the set. Give each key its kid.",
        },
      ];
    }),
  )(facts);
}

function sameKeys(facts: Facts): Outcome {
  return judged((keys) =>
    groups(keys, ({ jwk }) => (jwk === undefined ? undefined : jwkThumbprint(jwk))).map((same): CheckFinding => ({
      severity: "note",
      seen: `${named(same)} are the same key`,
      advice: "A rotation to it changes nothing: if the old key was stolen, so was the new one.",
    })),
  )(facts);
}

function uses(facts: Facts): Outcome {
  return judged((keys) => {
    const isMixed = new Set(keys.map(isForEncryption)).size === 2;
    return keys.flatMap(({ label, use }): readonly CheckFinding[] => {
      if (use === undefined && isMixed) {
        return [
          {
            severity: "must",
            seen: `${label} has no use`,
            advice: 'Say "sig" or "enc" for every key: the set has both.',
          },
        ];
      }
      if (typeof use !== "string" || use === "sig" || use === "enc") return [];
      return [
        { severity: "note", seen: `${label}: use is ${excerpt(use, 20)}`, advice: "Only sig and enc are defined." },
      ];
    });
  })(facts);
}

/** What a key is for, by the first member that says it. A key that says nothing is one that signs: those are why there is a set. */
function isForEncryption({ use, alg, members }: KeyFacts): boolean {
  if (use !== undefined) return use === "enc";
  const operations: unknown = members["key_ops"];
  if (Array.isArray(operations)) return !operations.includes("verify") && !operations.includes("sign");
  return typeof alg === "string" && isForKeys(alg);
}

function keyOperations({ label, use, members }: KeyFacts): readonly CheckFinding[] {
  const operations: unknown = members["key_ops"];
  if (operations === undefined) return [];
  if (!Array.isArray(operations) || operations.some((one) => typeof one !== "string")) {
    return [
      {
        severity: "must",
        seen: `${label}: key_ops is not an array of strings`,
        advice: "Send an array, or leave it out.",
      },
    ];
  }
  const given: readonly unknown[] = operations;
  const secret = given.filter((one) => one === "sign" || one === "decrypt" || one === "unwrapKey");
  return [
    ...when(new Set(given).size < given.length, "must", `${label}: key_ops has a value twice`, "Send each value once."),
    ...when(use !== undefined, "should", `${label} has use and key_ops`, "Send one of the two."),
    ...when(
      secret.length > 0,
      "should",
      `${label}: key_ops has ${secret.join(", ")}`,
      "A public key verifies and encrypts.",
    ),
  ];
}

function when(
  holds: boolean,
  severity: CheckFinding["severity"],
  seen: string,
  advice: string,
): readonly CheckFinding[] {
  return holds ? [{ severity, seen, advice }] : [];
}

function algorithm({ label, alg, kty, use, members }: KeyFacts): readonly CheckFinding[] {
  // A symmetric key is no business of this rule.
  if (typeof alg !== "string" || kty === "oct") return [];
  const shown = `${label}: alg is ${excerpt(alg, 30)}`;
  switch (algorithmFits(alg, members, use)) {
    case "fits":
      return [];
    case "unknown":
      return when(
        true,
        "note",
        `${shown}, which is not known here`,
        "Relying parties that do not know it ignore the key.",
      );
    case "other-use":
      return when(true, "should", `${shown}, but use is ${String(use)}`, "Make alg and use agree.");
    case "other-key":
      return when(
        true,
        "must",
        `${shown}, which is not for this key`,
        "Publish the algorithm that the key is used with.",
      );
  }
}

/** A few keys by their names. */
function named(keys: readonly KeyFacts[]): string {
  const most = 5;
  const names = keys.slice(0, most).map(({ label }) => label);
  return [...names, ...(keys.length > most ? [`${keys.length - most} others`] : [])].join(" and ");
}

/** The keys that share a value, if two or more do. A stranger may publish thousands, so each is looked at once. */
function groups(
  keys: readonly KeyFacts[],
  valueOf: (key: KeyFacts) => string | undefined,
): readonly (readonly KeyFacts[])[] {
  const byValue = new Map<string, KeyFacts[]>();
  for (const key of keys) {
    const value = valueOf(key);
    if (value === undefined) continue;
    const same = byValue.get(value);
    if (same === undefined) byValue.set(value, [key]);
    else same.push(key);
  }
  return [...byValue.values()].filter((same) => same.length > 1);
}
