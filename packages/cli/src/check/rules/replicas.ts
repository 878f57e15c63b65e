import { answerOf, headerOf } from "../exchange.ts";
import type { Answer, Exchange } from "../exchange.ts";
import { excerpt } from "../excerpt.ts";
import { isObject, readJsonObject } from "../facts.ts";
import { readKey, valueOf } from "../key-facts.ts";
import type { CheckFinding, CheckRow } from "../report.ts";
import { limited, verdictOf } from "../report.ts";

/** A replica and its key set. */
export interface ReplicaExchange {
  readonly name: string;
  readonly exchange: Exchange;
}

interface Answered {
  readonly name: string;
  readonly answer: Answer;
}

/** Compares the replicas. No rows if there are none. */
export function judgeReplicas(replicas: readonly ReplicaExchange[]): readonly CheckRow[] {
  if (replicas.length === 0) return [];
  const answered = answeredOf(replicas);
  return [
    row("replica-answers", "Every replica answers 200", "RFC 9110 §15.3.1", silent(replicas), `${answered.length}`),
    row("replica-keys", "Every replica publishes the same keys", "OIDC Core §10.1", otherKeys(answered)),
    row("replica-bytes", "Every replica sends the same bytes", "RFC 9110 §8.8.1", otherBytes(answered)),
    row("replica-etag", "Every replica sends the same ETag", "RFC 9110 §8.8.3", otherHeader(answered, "etag")),
    row(
      "replica-lifetime",
      "Every replica states the same lifetime",
      "RFC 9111 §5.2.2",
      otherHeader(answered, "cache-control"),
    ),
  ];
}

/** Whether a second look is worth it. */
export function differ(replicas: readonly ReplicaExchange[]): boolean {
  return judgeReplicas(replicas).some(({ verdict }) => verdict !== "ok");
}

function row(rule: string, title: string, clause: string, findings: readonly CheckFinding[], seen = ""): CheckRow {
  return { rule, title, clause, verdict: verdictOf(findings), seen, findings: limited(findings) };
}

function answeredOf(replicas: readonly ReplicaExchange[]): readonly Answered[] {
  return replicas.flatMap(({ name, exchange }) => {
    const answer = answerOf(exchange);
    return answer?.status === 200 ? [{ name: excerpt(name, 60), answer }] : [];
  });
}

function silent(replicas: readonly ReplicaExchange[]): readonly CheckFinding[] {
  return replicas.flatMap(({ name, exchange }): readonly CheckFinding[] => {
    if (exchange.kind === "answer" && exchange.status === 200) return [];
    const seen = exchange.kind === "answer" ? `status ${exchange.status}` : `no answer (${excerpt(exchange.detail)})`;
    return [
      { severity: "must", seen: `${excerpt(name, 60)}: ${seen}`, advice: "Take it out of the balancer, or repair it." },
    ];
  });
}

/** The keys that a replica publishes, by name. */
function keysOf({ answer }: Answered): ReadonlyMap<string, ReadonlySet<string>> {
  const read = readJsonObject(answer);
  const keys = "fault" in read ? undefined : read.json["keys"];
  const byName = new Map<string, Set<string>>();
  for (const [index, entry] of (Array.isArray(keys) ? keys : []).entries()) {
    if (!isObject(entry)) continue;
    const { label, kid, members } = readKey(entry, index);
    // Without a kid, the name is only a position.
    const value = kid === undefined ? "" : valueOf(members);
    byName.set(label, (byName.get(label) ?? new Set()).add(value));
  }
  return byName;
}

function otherKeys(answered: readonly Answered[]): readonly CheckFinding[] {
  const sets = answered.map((one) => ({ name: one.name, keys: keysOf(one) }));
  const all = new Set(sets.flatMap(({ keys }) => [...keys.keys()]));
  return [...all].flatMap((key): readonly CheckFinding[] => {
    const [first, ...others] = sets.filter(({ keys }) => keys.has(key));
    const without = sets.filter(({ keys }) => !keys.has(key)).map(({ name }) => name);
    const different = others.filter((other) => !isSame(first?.keys.get(key), other.keys.get(key)));
    return [
      ...(without.length === 0 ? [] : [must(`${key} is not at ${without.join(", ")}`, MISSING)]),
      ...different.map(({ name }) => must(`${key} is another key at ${name} than at ${first?.name}`, REBOUND)),
    ];
  });
}

const MISSING =
  "A token of this key fails where the set came from such a replica. Roll the same entries out everywhere.";
const REBOUND =
  "A token of one fails where the set came from the other. Roll the same entries out, and give each key its own kid.";

function must(seen: string, advice: string): CheckFinding {
  return { severity: "must", seen, advice };
}

function isSame(some: ReadonlySet<string> = new Set(), others: ReadonlySet<string> = new Set()): boolean {
  return some.size === others.size && [...some].every((value) => others.has(value));
}

function otherBytes(answered: readonly Answered[]): readonly CheckFinding[] {
  const [first, ...others] = answered;
  return others.flatMap((other): readonly CheckFinding[] => {
    if (first === undefined || Buffer.compare(first.answer.body, other.answer.body) === 0) return [];
    const tag = headerOf(first.answer, "etag");
    const isSameTag = tag !== undefined && !tag.startsWith("W/") && tag === headerOf(other.answer, "etag");
    const seen = `${first.name} and ${other.name} differ${isSameTag ? " under one ETag" : ""}`;
    const advice = isSameTag
      ? "A cache keeps the wrong keys. Compute the ETag from the bytes."
      : "Revalidations transfer the set each time. Publish the same bytes everywhere.";
    return [{ severity: isSameTag ? "must" : "should", seen, advice }];
  });
}

function otherHeader(answered: readonly Answered[], name: string): readonly CheckFinding[] {
  const [first, ...others] = answered;
  return others.flatMap((other): readonly CheckFinding[] => {
    const values = [first, other].map((one) => (one === undefined ? undefined : headerOf(one.answer, name)));
    if (values[0] === values[1]) return [];
    const [ours, theirs] = values.map((value) => (value === undefined ? "none" : excerpt(value)));
    const advice =
      name === "etag"
        ? "A revalidation at the other replica gets the whole set. Compute the ETag from the bytes."
        : "A replica with other settings, or another clock. Roll the same entries out everywhere.";
    return [{ severity: "should", seen: `${first?.name}: ${ours}; ${other.name}: ${theirs}`, advice }];
  });
}
