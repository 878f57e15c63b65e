import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Chromium, startChromium } from "@signpost/test-backends/chromium";
import { afterAll, beforeAll, expect, test } from "vitest";

// The plots of figures, as a phone shows them.

const IMAGES = fileURLToPath(new URL("../../docs/img/", import.meta.url));
const plots = readdirSync(IMAGES).filter((name) => /^(?:bench|faults)-.*\.svg$/.test(name));

let browser: Chromium;
beforeAll(async () => {
  browser = await startChromium();
});
afterAll(() => browser.stop());

/** What is wrong with the texts of the open SVG: one is cut off, too small, or behind another. */
const LOOK = `(() => {
  const texts = [...document.querySelectorAll("text")].map((element) => ({
    words: element.textContent,
    box: element.getBoundingClientRect(),
    height: parseFloat(getComputedStyle(element).fontSize) * element.getScreenCTM().a,
  }));
  const paper = document.querySelector("svg").getBoundingClientRect();
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  return texts.flatMap(({ words, box, height }, index) => [
    ...(box.left < paper.left || box.right > paper.right ? [words + ": is cut off"] : []),
    ...(height < 9 ? [words + ": has letters of " + height + " pixels"] : []),
    ...texts.slice(index + 1).filter((other) => overlap(box, other.box)).map((other) => words + ": is behind " + other.words),
  ]);
})()`;

test.each(plots)("every text of %s can be read on a phone of 360 pixels, in light and dark", async (name) => {
  const page = await browser.newPage();
  await page.setViewportSize({ width: 360, height: 740 });
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    // As wide as the text of a page.
    await page.setContent(`<body style="margin: 0 24px">${readFileSync(`${IMAGES}${name}`, "utf8")}</body>`);
    expect(await page.evaluate(`document.querySelectorAll("text").length`)).toBeGreaterThan(3);
    expect(await page.evaluate<string[]>(LOOK)).toEqual([]);
  }
  await page.context().close();
});
