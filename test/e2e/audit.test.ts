import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { SignEvent, SignerHealth } from "@signpost/core";
import type { KeySetEvent, RemoteKeySetStats } from "@signpost/verify";
import { expect, test } from "vitest";

// docs/audit.md explains every field of what Signpost reports, and no other. The compiler checks that the lists here are complete.

const SIGNING = {
  uri: true,
  place: true,
  attempts: true,
  queueMs: true,
  backendMs: true,
  hedges: true,
  hedgeWon: true,
  code: true,
} satisfies Record<keyof SignEvent, true>;

const KEY_SET = {
  url: true,
  reason: true,
  outcome: true,
  durationMs: true,
  code: true,
  status: true,
} satisfies Record<keyof KeySetEvent, true>;

const HEALTH = { status: true, since: true, lastCode: true, notes: true } satisfies Record<keyof SignerHealth, true>;

const COUNTERS = {
  requests: true,
  updated: true,
  notModified: true,
  superseded: true,
  older: true,
  failed: true,
  forced: true,
  throttled: true,
  keys: true,
  dropped: true,
  ageSeconds: true,
  freshForSeconds: true,
} satisfies Record<keyof RemoteKeySetStats, true>;

const REASONS = {
  first: true,
  revalidate: true,
  forced: true,
  refresh: true,
  throttled: true,
} satisfies Record<KeySetEvent["reason"], true>;

const OUTCOMES = {
  updated: true,
  not_modified: true,
  superseded: true,
  older: true,
  failed: true,
  refused: true,
} satisfies Record<KeySetEvent["outcome"], true>;

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(ROOT, "docs/audit.md"), "utf8");

/** The rows of the first table in a section, as cells. */
function tableOf(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [table = ""] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  return table
    .trimEnd()
    .split("\n")
    .slice(2)
    .map((line) => line.slice(2, -2).split(" | "));
}

const codeIn = (text = ""): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
const namesOf = (heading: string): readonly string[] => tableOf(heading).flatMap(([names]) => codeIn(names));

test.each([
  ["Signing events", SIGNING],
  ["Key set events", KEY_SET],
  ["Health", HEALTH],
  ["Counters of a key set", COUNTERS],
])("%s: the table has each field", (heading, fields) => {
  expect(namesOf(heading).toSorted()).toEqual(Object.keys(fields).toSorted());
});

test("the reasons and outcomes of a key set event are complete", () => {
  const cellOf = (name: string): string =>
    tableOf("Key set events").find(([field]) => field === `\`${name}\``)?.[1] ?? "";
  expect(codeIn(cellOf("reason")).toSorted()).toEqual(Object.keys(REASONS).toSorted());
  expect(codeIn(cellOf("outcome")).toSorted()).toEqual(Object.keys(OUTCOMES).toSorted());
});

test("the table of the log of signpost serve has each event with its details", () => {
  const folder = join(ROOT, "packages/cli/src/serve");
  const source = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(folder, name), "utf8"))
    .join("\n");
  const written = new Map<string, readonly string[]>();
  // log(level, "event", message, { details })
  for (const [, event = "", rest = ""] of source.matchAll(/\blog\([^,()]+, ("\w+"|code), ([\s\S]*?)\);\n/g)) {
    const [, details = ""] = /, \{([^{}]*)\}$/.exec(rest) ?? [];
    const names = [...details.matchAll(/(?:^|,)\s*(\w+)/g)].map(([, name = ""]) => name);
    const [, certificates = ""] = /CERTIFICATE_LEVELS[^{]*\{([^}]*)\}/.exec(source) ?? [];
    const events =
      event === "code"
        ? [...certificates.matchAll(/(\w+):/g)].map(([, name = ""]) => name)
        : [event.replaceAll('"', "")];
    for (const name of events) written.set(name, names);
  }
  expect(written.size).toBeGreaterThan(8);
  const told = new Map(
    tableOf("Log of signpost serve").flatMap(([events, details]) =>
      codeIn(events).map((event): [string, readonly string[]] => [event, codeIn(details)]),
    ),
  );
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(written));
});
