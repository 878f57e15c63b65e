import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import type { Client } from "../bench/peers/clients.ts";
import { MORE_CLIENTS } from "../bench/peers/clients.ts";
import type { Op } from "../bench/peers/op.ts";
import { startOp } from "../bench/peers/op.ts";
import { shiftTime } from "../bench/peers/shifted-time.ts";

// For how long RPs trust a key that was revoked, and refuse the key in its place: the rows of docs/emergency.md for libraries
// that run on Node. A token of the revoked key comes every 30 s.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const STEP = 30;
/** Longer than a set lives by our headers, and by the defaults of these libraries where they have one. */
const PATIENCE = { obeysHeaders: HOUR + 5 * MINUTE, other: 13 * MINUTE };
const FOREVER = Number.POSITIVE_INFINITY;

interface Row {
  /** As the page has it in its first column. */
  readonly library: string;
  readonly trusted: { readonly alone: number; readonly withNewTokens: number };
  readonly refusesNewFor: number;
}

const ROWS: Readonly<Record<string, Row>> = {
  "@signpost/verify": {
    library: "`@signpost/verify`",
    trusted: { alone: HOUR + STEP, withNewTokens: 0 },
    refusesNewFor: 0,
  },
  jose: {
    library: "jose 6 (`createRemoteJWKSet`)",
    trusted: { alone: 10 * MINUTE, withNewTokens: 30 },
    refusesNewFor: 30,
  },
  "express-oauth2-jwt-bearer": {
    library: "express-oauth2-jwt-bearer",
    trusted: { alone: 10 * MINUTE, withNewTokens: 30 },
    refusesNewFor: 30,
  },
  oauth4webapi: {
    library: "oauth4webapi",
    trusted: { alone: 5 * MINUTE, withNewTokens: 60 },
    refusesNewFor: 60,
  },
  "jwks-rsa": {
    library: "jwks-rsa for Node",
    trusted: { alone: 10 * MINUTE, withNewTokens: 10 * MINUTE },
    refusesNewFor: 0,
  },
  "get-jwks": { library: "get-jwks", trusted: { alone: FOREVER, withNewTokens: FOREVER }, refusesNewFor: 0 },
  "fast-jwt with get-jwks": {
    library: "fast-jwt with get-jwks",
    trusted: { alone: FOREVER, withNewTokens: FOREVER },
    refusesNewFor: 0,
  },
  "aws-jwt-verify": {
    library: "aws-jwt-verify",
    trusted: { alone: FOREVER, withNewTokens: 0 },
    refusesNewFor: 0,
  },
};

const page = readFileSync(new URL("../../docs/emergency.md", import.meta.url), "utf8");

it.each(MORE_CLIENTS)("$name trusts a revoked key for as long as docs/emergency.md says", async (client) => {
  const row = ROWS[client.name];
  expect({
    library: row?.library,
    trusted: {
      alone: await trustInRevoked(client, { newTokens: false }),
      withNewTokens: await trustInRevoked(client, { newTokens: true }),
    },
    refusesNewFor: await refusalOfNew(client),
  }).toEqual(row);
  expect(pageRow(row?.library)).toEqual([
    inWords(row?.trusted.alone, client),
    inWords(row?.trusted.withNewTokens, client),
    `${row?.refusesNewFor} s`,
  ]);
});

it("get-jwks trusts it even after a pause of a day", async () => {
  const { op, verify } = await warm(clientNamed("get-jwks"));
  const stolen = await op.token();
  await op.revoke();
  await expect(at(23 * HOUR, () => isAccepted(verify(stolen)))).resolves.toBe(true);
});

/** Seconds until a token of the revoked key is refused. */
async function trustInRevoked(client: Client, { newTokens }: { readonly newTokens: boolean }): Promise<number> {
  const { op, verify } = await warm(client);
  const stolen = await op.token();
  await op.revoke();
  const fresh = await op.token();
  const longest = client.name === "@signpost/verify" ? PATIENCE.obeysHeaders : PATIENCE.other;
  for (let seconds = 0; seconds <= longest; seconds += STEP) {
    const accepted = await at(seconds, async () => {
      if (newTokens) await isAccepted(verify(fresh));
      return isAccepted(verify(stolen));
    });
    if (!accepted) return seconds;
    // The fetch in the background, which the headers allow after an hour.
    if (seconds >= HOUR)
      await vi.waitFor(() => expect(op.requests()).toBeGreaterThan(1), { interval: 5, timeout: 5000 });
    // Room for its answer, and for the timer after which lru-cache looks at the clock again.
    await delay(seconds >= HOUR ? 20 : 3);
  }
  return FOREVER;
}

/** Seconds until a token of the replacement is accepted, where one comes every two seconds. */
async function refusalOfNew(client: Client): Promise<number> {
  const { op, verify } = await warm(client);
  const startedAt = performance.now();
  await op.revoke();
  const fresh = await op.token();
  for (let seconds = 0; seconds <= 2 * MINUTE; seconds += 2) {
    if (!(await at(seconds, () => isAccepted(verify(fresh))))) continue;
    if (seconds === 0) return 0;
    // What passed in truth was added to the shifted clocks: seconds, on a busy machine.
    const passed = seconds + (performance.now() - startedAt) / 1000;
    return Math.round(passed / 2) * 2;
  }
  return FOREVER;
}

/** An RP that has just fetched the set with the key that will be revoked. */
async function warm(client: Client): Promise<{ op: Op; verify: (token: string) => Promise<unknown> }> {
  const op = await startOp();
  onTestFinished(() => op.stop());
  const verify = client.open(op);
  await verify(await op.token());
  return { op, verify };
}

/** A second later than said, so that no lifetime ends at the very moment. */
async function at<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  const restore = shiftTime(seconds + 1);
  try {
    return await work();
  } finally {
    restore();
  }
}

function isAccepted(verification: Promise<unknown>): Promise<boolean> {
  return verification.then(
    () => true,
    () => false,
  );
}

function clientNamed(name: string): Client {
  const client = MORE_CLIENTS.find((one) => one.name === name);
  if (client === undefined) throw new Error(`there is no client ${name}`);
  return client;
}

/** What the page says of a library, without its name and what helps. */
function pageRow(library: string | undefined): readonly string[] | undefined {
  const rows = page.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return rows.find(([, name, ...cells]) => name === library && cells.length === 5)?.slice(2, 5);
}

function inWords(seconds = Number.NaN, client: Client): string {
  if (seconds === FOREVER)
    return client.name === "aws-jwt-verify" ? "until a restart" : "as long as the key is used once a minute";
  if (seconds === 0) return "until the first one";
  if (seconds >= HOUR) {
    return "1 h, as the headers say. The next token after that hour is also accepted if it arrives within 2 h of the fetch";
  }
  return seconds > MINUTE ? `${seconds / MINUTE} min` : `${seconds} s`;
}
