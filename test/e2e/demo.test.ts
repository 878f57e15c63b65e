import { expect, onTestFinished, test } from "vitest";
import { sectionsOf } from "./support/demo-sections.ts";
import { startExample } from "./support/example-program.ts";

test("without a token the demo says why, tells the same story with a local key, and ends with 0", async () => {
  const demo = await startExample("demo", { env: { SIGNPOST_DEMO_WITHOUT_TOKEN: "no compiler here" } });
  onTestFinished(() => demo.remove());
  expect(await demo.ended()).toBe(0);
  const [first, ...story] = sectionsOf(demo.output());
  expect(first?.title).toBe("1. A P-256 key in software");
  expect(first?.text).toContain("There is no token: no compiler here.");
  expect(story.map(({ title }) => title)).toHaveLength(10);
  expect(demo.output()).not.toContain("pkcs11:");
  expect(await demo.leftovers()).toEqual([]);
});
