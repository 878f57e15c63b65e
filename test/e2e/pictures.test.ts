import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRotationSchedule } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { expect, test } from "vitest";
import { PICTURES } from "../../scripts/pictures/all.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const guides = [
  "docs/choose-a-backend.md",
  "docs/concepts.md",
  "docs/rotation.md",
  "docs/signer.md",
  "docs/threat-model.md",
  "docs/kubernetes.md",
  "docs/cli.md",
  "docs/cli-check.md",
  "docs/cli-bench.md",
  "docs/cli-csr.md",
  "docs/cli-rotate.md",
  "docs/cli-serve.md",
]
  .map((page) => read(page))
  .join("");

test.each(Object.entries(PICTURES))("%s is what `npm run pictures` draws, and a guide shows it", (path, svg) => {
  expect(read(path)).toBe(svg);
  expect(guides).toContain(`(img/${basename(path)})`);
});

test("the picture of a rotation has the moments of the schedule at the top of its guide", async () => {
  let now = Date.parse("2026-03-01T00:00:00Z");
  await using signer = await openLocalSigner();
  await using next = await openLocalSigner();
  const [first, second] = [
    ...read("docs/rotation.md").matchAll(/keyId: "([^"]+)".*announcedFrom: "([^"]+)", activeFrom: "([^"]+)"/g),
  ].map(([, keyId = "", announcedFrom = "", activeFrom = ""]) => ({ keyId, announcedFrom, activeFrom }));
  if (first === undefined || second === undefined) throw new Error("docs/rotation.md shows no two entries");
  const entries = [
    { ...first, signer },
    { ...second, signer: next },
  ];
  const schedule = createRotationSchedule(entries, { maxTokenLifetimeSeconds: 3600, now: () => now });
  const at = (time: string): string => {
    now = Date.parse(`${second.announcedFrom.slice(0, 10)}T${time}Z`);
    const { active, keys } = schedule.keySet();
    return [active.keyId, "signs,", ...keys.map(({ keyId }) => keyId)].join(" ").replaceAll("sig-2026-", "");
  };
  expect([at("07:59:59"), at("08:00:00"), at("13:59:59"), at("14:00:00"), at("15:01:59"), at("15:02:00")]).toEqual([
    "01 signs, 01",
    "01 signs, 01 07",
    "01 signs, 01 07",
    "07 signs, 07 01",
    "07 signs, 07 01",
    "07 signs, 07",
  ]);
});
