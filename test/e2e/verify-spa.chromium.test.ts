import { generateKeyPairSync } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { fileURLToPath } from "node:url";
import { CompactSign } from "jose";
import type { KeySet } from "@signpost/core";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import type { Chromium, Page } from "@signpost/test-backends/chromium";
import { startChromium } from "@signpost/test-backends/chromium";
import { startProcess } from "@signpost/test-backends/process";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startLoopbackServer } from "./support/loopback-server.ts";

// A single-page RP (examples/spa-rp) on one origin, the OP's endpoint on another, a real browser between them.

interface Exchange {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly status: number;
}

interface Op {
  readonly issuer: string;
  readonly jwksUri: string;
  /** What reached the server, and what it answered. */
  readonly exchanges: Exchange[];
  token(): Promise<string>;
  kid(): string;
  /** Signed by the first key, under a header and with claims of the test's own. */
  otherToken(header: { readonly kid?: unknown }, changes?: Readonly<Record<string, unknown>>): Promise<string>;
  rotate(): Promise<void>;
}

async function startOp(cors: boolean): Promise<Op> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let keys: KeySet = createKeySet([{ signer: await openLocalSigner({ privateKey }) }]);
  const exchanges: Exchange[] = [];
  const server = await startLoopbackServer((request, response) => {
    response.once("finish", () => {
      exchanges.push({ method: request.method ?? "", headers: request.headers, status: response.statusCode });
    });
    endpoint.listener(request, response);
  });
  onTestFinished(() => server.close());
  const issuer = server.origin;
  const endpoint = createJwksEndpoint({ issuer, keys: () => keys, cors });
  const claims = () => {
    const now = Math.floor(Date.now() / 1000);
    return { iss: issuer, aud: "spa", sub: "248289", iat: now, exp: now + 300 };
  };
  return {
    issuer,
    jwksUri: endpoint.jwksUri,
    exchanges,
    token: () => signJwt(() => keys, claims()),
    kid: () => keys.active.keyId,
    otherToken: (header, changes = {}) =>
      new CompactSign(new TextEncoder().encode(JSON.stringify({ ...claims(), ...changes })))
        .setProtectedHeader({ alg: "ES256", ...(header as { kid?: string }) })
        .sign(privateKey),
    async rotate() {
      const { active } = keys;
      keys = createKeySet([{ signer: await openLocalSigner() }, { keyId: active.keyId, signer: active.signer }]);
    },
  };
}

let browser: Chromium;
let spa: { readonly origin: string; stop(): Promise<void> };
beforeAll(async () => {
  const script = fileURLToPath(new URL("../../examples/spa-rp/server.mjs", import.meta.url));
  const server = startProcess({ command: process.execPath, args: [script], env: { PORT: "0" } });
  spa = { origin: (await server.firstLine()).trim(), stop: () => server.stop() };
  browser = await startChromium();
});
afterAll(async () => {
  await browser.stop();
  await spa.stop();
});

/** A page that has the RP's script and one key set for the OP, as `keySet`. */
async function openPage(op: Op): Promise<Page> {
  const page = await browser.newPage();
  onTestFinished(() => page.context().close());
  await page.goto(spa.origin);
  await page.evaluate(`import("/rp.js").then((rp) => {
    globalThis.rp = rp;
    globalThis.keySet = rp.createBrowserKeySet(${JSON.stringify(op.jwksUri)});
  })`);
  return page;
}

async function verify(page: Page, op: Op, token: string): Promise<unknown> {
  const options = `{ issuer: ${JSON.stringify(op.issuer)}, clientId: "spa", keySet }`;
  return page.evaluate(`rp.verifyIdToken(${JSON.stringify(token)}, ${options})`);
}

describe("a single-page RP on another origin", () => {
  it("verifies by jose, and the browser's cache keeps the set", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    expect(await verify(page, op, await op.token())).toMatchObject({ sub: "248289", iss: op.issuer });
    expect(await verify(page, op, await op.token())).toMatchObject({ sub: "248289" });
    expect(op.exchanges.map(({ method, status }) => [method, status])).toEqual([["GET", 200]]);
    expect(op.exchanges[0]?.headers).toMatchObject({ origin: spa.origin.slice(0, -1) });
  });

  it("verifies under a key that was rotated in after the set was cached", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    await verify(page, op, await op.token());
    await op.rotate();
    expect(await verify(page, op, await op.token())).toMatchObject({ sub: "248289" });
    expect(op.exchanges.map(({ status }) => status)).toEqual([200, 200]);
    expect(op.exchanges[1]?.headers).toMatchObject({ "cache-control": "no-cache" });
  });

  it("accepts the new key as soon as the OP answers again", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    await verify(page, op, await op.token());
    await op.rotate();
    const token = await op.token();
    await page.route(op.jwksUri, (route) => route.abort());
    await expect(verify(page, op, token)).rejects.toThrow("Failed to fetch");
    await page.unroute(op.jwksUri);
    expect(await verify(page, op, token)).toMatchObject({ sub: "248289" });
  });

  it("refuses a token that another key signed", async () => {
    const [op, other] = [await startOp(true), await startOp(true)];
    const page = await openPage(op);
    await expect(verify(page, op, await other.token())).rejects.toThrow("no applicable key found");
  });

  it("asks past the cache once in 20 s, whatever kids come", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    for (const kid of ["a", "b", "c"]) {
      const token = await op.otherToken({ kid });
      await expect(verify(page, op, token)).rejects.toThrow("no applicable key found");
    }
    expect(await verify(page, op, await op.token())).toMatchObject({ sub: "248289" });
    expect(op.exchanges.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("refuses a token that names no key, though only one is published and it signed", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    for (const header of [{}, { kid: null }, { kid: 5 }]) {
      await expect(verify(page, op, await op.otherToken(header))).rejects.toThrow("expected a kid");
    }
  });

  it.each([
    ["no end", { exp: undefined }, "exp"],
    ["another audience", { aud: "other" }, "aud"],
    ["another issuer", { iss: "https://other.example" }, "iss"],
    ["an end in the past", { exp: 1_700_000_000 }, "exp"],
  ])("refuses a token with %s", async (_name, changes, claim) => {
    const op = await startOp(true);
    const page = await openPage(op);
    const token = await op.otherToken({ kid: op.kid() }, changes);
    await expect(verify(page, op, token)).rejects.toThrow(`"${claim}"`);
  });

  it("has a page on which a person does it", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    const fields = { issuer: op.issuer, jwksUri: op.jwksUri, clientId: "spa", token: await op.token() };
    await page.evaluate(`for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
      document.querySelector("#form").elements[name].value = value;
    }
    document.querySelector("#form button").click();`);
    await page.waitForFunction(`document.querySelector("#result").textContent !== ""`);
    const shown = await page.evaluate(`document.querySelector("#result").textContent`);
    expect(JSON.parse(String(shown))).toMatchObject({ iss: op.issuer, aud: "spa", sub: "248289" });
  });

  it("revalidates with cache: no-cache: a 304 at the server, which the script sees as 200", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    await verify(page, op, await op.token());
    const seen = await page.evaluate(`fetch(${JSON.stringify(op.jwksUri)}, { cache: "no-cache" })
      .then(async (response) => [response.status, (await response.json()).keys.length])`);
    expect(seen).toEqual([200, 1]);
    await page.evaluate("keySet.refresh()");
    expect(op.exchanges.map(({ method, status }) => [method, status])).toEqual([
      ["GET", 200],
      ["GET", 304],
      ["GET", 304],
    ]);
    expect(op.exchanges[1]?.headers["if-none-match"]).toMatch(/^"[0-9a-f]{64}"$/);
  });

  it("may set If-None-Match itself: the preflight lets it through, and the script sees the 304", async () => {
    const op = await startOp(true);
    const page = await openPage(op);
    const seen =
      await page.evaluate(`fetch(${JSON.stringify(op.jwksUri)}, { cache: "no-store" }).then(async (first) => {
      const etag = first.headers.get("etag");
      const second = await fetch(${JSON.stringify(op.jwksUri)}, { headers: { "If-None-Match": etag, "Cache-Control": "no-cache" } });
      return [first.status, second.status, etag];
    })`);
    expect(seen).toEqual([200, 304, expect.stringMatching(/^"[0-9a-f]{64}"$/)]);
    expect(op.exchanges.map(({ method, status }) => [method, status])).toEqual([
      ["GET", 200],
      ["OPTIONS", 204],
      ["GET", 304],
    ]);
    expect(op.exchanges[1]?.headers).toMatchObject({
      "access-control-request-method": "GET",
      "access-control-request-headers": "cache-control,if-none-match",
    });
  });

  // What makes the tests above mean something: the browser does enforce it.
  it("reads nothing of an endpoint without cors", async () => {
    const op = await startOp(false);
    const page = await openPage(op);
    await expect(verify(page, op, await op.token())).rejects.toThrow("Failed to fetch");
    expect(op.exchanges.map(({ method, status }) => [method, status])).toEqual([["GET", 200]]);
  });
});
