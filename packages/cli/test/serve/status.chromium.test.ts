import type { Chromium, Page } from "@signpost/test-backends/chromium";
import { startChromium } from "@signpost/test-backends/chromium";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { startReady, type Served } from "./support/serve.ts";

// The status page in a real browser.

const HOSTILE_KID = '"><img src=x onerror="document.title=1"><script>document.title=2</script>\u202Egnp';
let folder: KeyFolder;
let served: Served;
let browser: Chromium;
const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();

beforeAll(async () => {
  [browser, folder] = await Promise.all([startChromium(), createKeyFolder()]);
  await Promise.all(["old.pem", "now.pem", "next.pem"].map((name) => folder.addKey(name)));
  await folder.write("signpost.config.json", {
    issuer: "https://op.example/a-tenant-with-a-rather-long-name-that-has-to-fit-on-a-phone",
    keys: {
      maxTokenLifetimeSeconds: 3600,
      entries: [
        { keyId: HOSTILE_KID, signer: "local:old.pem", announcedFrom: hours(-500), activeFrom: hours(-500) },
        { keyId: "k".repeat(256), signer: "local:now.pem", announcedFrom: hours(-10), activeFrom: hours(-0.5) },
        { keyId: "sig-next", signer: "local:next.pem", announcedFrom: hours(-1), activeFrom: hours(5) },
      ],
    },
  });
  served = await startReady([], { cwd: folder.path });
});
afterAll(async () => {
  await browser.stop();
  await served[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** The page on a screen, with what the browser had to say about it. */
async function open(
  width: number,
  colorScheme: "light" | "dark",
): Promise<{ page: Page; said: string[]; asked: string[] }> {
  const page = await browser.newPage();
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme });
  const [said, asked]: [string[], string[]] = [[], []];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${served.admin}/`);
  return { page, said, asked };
}

/** Luminance by WCAG 2.2. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((channel) => {
    const share = Number(channel) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

interface Measured {
  readonly page: number;
  /** Elements that reach beyond the right edge. */
  readonly beyond: number;
  readonly body: string;
  /** Of each text: its color, the one behind it, and its size in pixels. */
  readonly colors: readonly (readonly [string, string, number])[];
  readonly chart: number;
  readonly bars: number;
}

/** Runs in the browser. */
const MEASURE = `(() => {
  const visible = [...document.querySelectorAll("main *")].filter((element) => element.getClientRects().length > 0);
  const background = (element) => {
    const { backgroundColor } = getComputedStyle(element);
    return backgroundColor === "rgba(0, 0, 0, 0)" ? background(element.parentElement) : backgroundColor;
  };
  const hasText = ({ childNodes }) => [...childNodes].some((node) => node.nodeType === 3 && node.nodeValue.trim() !== "");
  const isBeyond = (element) =>
    element.closest("svg, thead") === null && element.getBoundingClientRect().right > innerWidth;
  return {
    page: document.documentElement.scrollWidth,
    beyond: visible.filter(isBeyond).length,
    body: getComputedStyle(document.body).backgroundColor,
    colors: visible
      .filter((element) => hasText(element) && element.closest("svg") === null)
      .map((element) => [
        getComputedStyle(element).color, background(element), parseFloat(getComputedStyle(element).fontSize),
      ]),
    chart: document.querySelector(".plan").getBoundingClientRect().width,
    bars: document.querySelectorAll(".plan .bar").length,
  };
})()`;

test.each([
  [360, "light"],
  [360, "dark"],
  [1200, "light"],
  [1200, "dark"],
] as const)("at %i px in %s, it fits, is readable, and loads nothing", async (width, scheme) => {
  const { page, said, asked } = await open(width, scheme);
  expect(said).toEqual([]);
  expect(asked).toEqual([`${served.admin}/`]);
  const measured: Measured = await page.evaluate(MEASURE);
  expect(measured).toMatchObject({ page: width, beyond: 0 });
  expect(luminance(measured.body) > 0.5).toBe(scheme === "light");
  expect(measured.chart).toBeGreaterThan(width / 2);
  expect(measured.bars).toBeGreaterThan(3);
  for (const [color, back, size] of measured.colors) {
    const [a = 0, b = 0] = [luminance(color), luminance(back)].toSorted((x, y) => y - x);
    expect((a + 0.05) / (b + 0.05), `${color} on ${back}`).toBeGreaterThanOrEqual(4.5);
    expect(size).toBeGreaterThanOrEqual(12);
  }
});

test("text from the configuration stays text, and no script runs, not even one that is put in", async () => {
  const { page, said } = await open(800, "light");
  expect(await page.title()).toMatch(/^https:\/\/op\.example\/.*: signpost$/);
  expect(await page.locator("script, img, iframe, link, object, embed, form").count()).toBe(0);
  // The character that turns the direction of text is shown by its code.
  expect(await page.locator("tbody code").allTextContents()).toContain(HOSTILE_KID.replace("\u202E", "\\u202e"));
  await page.evaluate(`
    const script = document.createElement("script");
    script.textContent = "document.title = 'broken into'";
    document.body.append(script);
  `);
  expect(await page.title()).not.toBe("broken into");
  expect(said.join()).toContain("Content Security Policy");
});

test("it says in words what the picture shows, for people who do not see it", async () => {
  const { page } = await open(800, "light");
  const items = await page.locator("ol.changes li").allInnerTexts();
  expect(items.some((text) => /in 4 h 59 min|in 5 h/.test(text) && text.includes("sig-next signs"))).toBe(true);
  expect(await page.locator("svg.plan").getAttribute("role")).toBe("img");
  expect(await page.locator("h1").innerText()).toContain("ready");
  expect(await page.locator("h2").allInnerTexts()).toEqual(["Key set", "Plan", "Keys", "Configuration"]);
});
