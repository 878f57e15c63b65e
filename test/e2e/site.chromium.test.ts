import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Chromium, Page } from "@signpost/test-backends/chromium";
import { startChromium } from "@signpost/test-backends/chromium";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { LoopbackServer } from "./support/loopback-server.ts";
import { startStaticServer } from "./support/static-server.ts";

// The documentation site, built and looked at in a real browser.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PHONE = { width: 360, height: 740 };
const DESK = { width: 1280, height: 900 };

let folder: string;
let server: LoopbackServer;
let browser: Chromium;
beforeAll(async () => {
  mkdirSync(join(ROOT, ".tmp"), { recursive: true });
  folder = mkdtempSync(join(ROOT, ".tmp/site-test-"));
  await promisify(execFile)(process.execPath, ["site/src/build.mjs", relative(ROOT, folder)], { cwd: ROOT });
  server = await startStaticServer(join(folder, "dist"));
  browser = await startChromium();
}, 900_000);
afterAll(async () => {
  await browser.stop();
  await server.close();
  rmSync(folder, { recursive: true });
});

/** A page of the browser that records every request to another host, and everything that goes wrong. */
async function openPage(viewport: { readonly width: number; readonly height: number }): Promise<{
  readonly page: Page;
  readonly trouble: string[];
}> {
  const page = await browser.newPage();
  onTestFinished(() => page.context().close());
  page.setDefaultTimeout(120_000);
  await page.setViewportSize(viewport);
  const trouble: string[] = [];
  page.on("pageerror", (error) => trouble.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") trouble.push(`${page.url()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(`${server.origin}/`) && !url.startsWith("data:")) trouble.push(`${page.url()} loads ${url}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) trouble.push(`${response.url()}: ${response.status()}`);
  });
  return { page, trouble };
}

/** What is wrong with the open page: it is wider than the window, or a picture did not load. */
const LOOK = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  const broken = [...document.images].filter((image) => !image.complete || image.naturalWidth === 0);
  return [
    ...(scrollWidth > clientWidth ? ["is " + scrollWidth + " pixels wide"] : []),
    ...broken.map((image) => image.src + " is no picture"),
  ];
})()`;

/** Resolves with the text of the page that was asked for, once it has this in it. Its address changes before that. */
async function textWith(page: Page, part: string): Promise<string> {
  await page.waitForFunction(`document.querySelector(".vp-doc")?.textContent.includes(${JSON.stringify(part)})`);
  return (await page.locator(".vp-doc").textContent()) ?? "";
}

/** What is wrong with the open page in this color scheme, at its width. */
async function lookAt(page: Page, colorScheme: "light" | "dark"): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme });
  await page.waitForFunction(`document.documentElement.classList.contains("dark") === ${colorScheme === "dark"}`);
  const width = page.viewportSize()?.width ?? 0;
  const problems = await page.evaluate<string[]>(LOOK);
  return problems.map((problem) => `${problem} (${colorScheme}, ${width} pixels)`);
}

/** The texts that the open page shows with too little contrast to what is behind them (WCAG 2.2, 1.4.3). */
const CONTRAST = `(() => {
  const channels = (color) => {
    const [r = 0, g = 0, b = 0, alpha = 1] = (color.match(/[\\d.]+/g) ?? []).map(Number);
    return { rgb: [r, g, b], alpha };
  };
  const over = (top, below) => top.rgb.map((value, index) => value * top.alpha + below[index] * (1 - top.alpha));
  const paperOf = (element) => {
    if (element === null) return [255, 255, 255];
    const color = channels(getComputedStyle(element).backgroundColor);
    return color.alpha === 1 ? color.rgb : over(color, paperOf(element.parentElement));
  };
  const light = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== "");
  const visible = { opacityProperty: true, visibilityProperty: true };
  return [...document.querySelectorAll(".VPContent *, .VPSidebar *, .VPNav *")]
    .filter((element) => hasText(element) && element.checkVisibility(visible) && element.closest(".clip") === null)
    .map((element) => {
      const paper = paperOf(element);
      const [low, high] = [luminance(paper), luminance(over(channels(getComputedStyle(element).color), paper))].sort((a, b) => a - b);
      return { ratio: (high + 0.05) / (low + 0.05), text: element.textContent.trim().slice(0, 40) };
    })
    .filter(({ ratio }) => ratio < 4.5)
    .map(({ ratio, text }) => text + ": " + ratio.toFixed(2));
})()`;

test(
  "every page fits a phone and a desk, in light and dark, with its pictures and nothing from elsewhere",
  { timeout: 900_000 },
  async () => {
    const files = readdirSync(join(folder, "dist"), { encoding: "utf8", recursive: true }).filter((file) =>
      file.endsWith(".html"),
    );
    expect(files.length).toBeGreaterThan(100);
    const queue = [...files];
    const found: string[] = [];
    const walk = async (): Promise<void> => {
      const { page, trouble } = await openPage(PHONE);
      for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
        await page.setViewportSize(PHONE);
        await page.goto(`${server.origin}/${file}`);
        const seen = [...(await lookAt(page, "light")), ...(await lookAt(page, "dark"))];
        await page.setViewportSize(DESK);
        seen.push(...(await lookAt(page, "dark")), ...(await lookAt(page, "light")));
        found.push(...[...new Set(seen)].map((problem) => `${file} ${problem}`));
      }
      found.push(...trouble.filter((line) => !line.includes("/404")));
    };
    await Promise.all([walk(), walk()]);
    expect(found).toEqual([]);
  },
);

test.each(["index.html", "rotation.html", "hosts.html", "api/core.html"])(
  "text on %s can be read, in light and dark",
  { timeout: 300_000 },
  async (file) => {
    const { page } = await openPage(DESK);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${server.origin}/${file}`);
      const faint = await page.evaluate<string[]>(CONTRAST);
      expect([...new Set(faint)], colorScheme).toEqual([]);
    }
  },
);

test.each([
  ["JWKS", DESK, "endpoint.html"],
  ["createJwksEndpoint", PHONE, "api/core.html"],
  ["rotate", DESK, "rotation.html"],
  ["private_key_jwt", PHONE, "client-keys.html"],
  ["throttled", DESK, "verify.html"],
])("the search finds %s among the first five", { timeout: 300_000 }, async (words, viewport, expected) => {
  const { page, trouble } = await openPage(viewport);
  await page.goto(`${server.origin}/`);
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator(".VPLocalSearchBox input").fill(words);
  const results = page.locator(".VPLocalSearchBox .result");
  await results.first().waitFor();
  const targets = await page.evaluate<string[]>(
    `[...document.querySelectorAll(".VPLocalSearchBox .result")].map((link) => link.getAttribute("href"))`,
  );
  expect(targets.slice(0, 5).map((target) => target.replace(/#.*/, ""))).toContain(`/${expected}`);
  await results.first().click();
  await page.waitForFunction(`document.querySelector(".VPLocalSearchBox") === null`);
  expect(await textWith(page, words)).toContain(words);
  expect(trouble).toEqual([]);
});

test.each([
  ["kubernetes", "kubernetes.html"],
  ["rotation", "rotation.html"],
  ["verify", "verify.html"],
  ["vault", "vault-transit.html"],
  ["pkcs11", "pkcs11.html"],
  ["emergency", "emergency.html"],
  ["azure", "azure-key-vault.html"],
  ["azure key vault", "azure-key-vault.html"],
  ["aws", "aws-kms.html"],
  ["gcp", "gcp-kms.html"],
  ["compare", "compare.html"],
  ["incident", "incidents.html"],
])("the search for %s finds the page about it first", { timeout: 300_000 }, async (words, expected) => {
  const { page } = await openPage(DESK);
  await page.goto(`${server.origin}/`);
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator(".VPLocalSearchBox input").fill(words);
  const first = page.locator(".VPLocalSearchBox .result").first();
  await first.waitFor();
  expect((await first.getAttribute("href"))?.replace(/#.*/, "")).toBe(`/${expected}`);
});

test("a page that says to install a package says that npm does not have it yet, and leads to what works", async () => {
  const { page } = await openPage(PHONE);
  await page.goto(`${server.origin}/vault-transit.html`);
  await page.locator(".vp-doc").getByText("get the packages from a clone").click();
  await page.waitForURL(`${server.origin}/start.html#1-install`);
  expect(await textWith(page, "npm run pack")).toContain("npm run pack");
});

test("a reader on a phone opens the menu, and gets to a guide and to the reference", { timeout: 300_000 }, async () => {
  const { page, trouble } = await openPage(PHONE);
  await page.goto(`${server.origin}/concepts.html`);
  await page.locator(".VPLocalNav button.menu").click();
  await page.locator(".VPSidebar").getByText("Rotating keys").click();
  await page.waitForURL(`${server.origin}/rotation.html`);
  await page.goto(`${server.origin}/api/`);
  await page.locator(".vp-doc a[href$='verify.html']").first().click();
  await page.waitForURL(`${server.origin}/api/verify.html`);
  expect(trouble).toEqual([]);
});
