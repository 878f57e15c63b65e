import { createHash } from "node:crypto";
import { createRotationSchedule, type RotationSchedule, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRemoteKeySet } from "@signpost/verify";
import { createRemoteJWKSet, decodeProtectedHeader, type JWTVerifyGetKey, jwtVerify } from "jose";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { FRAMEWORKS } from "./support/frameworks.ts";

// A rotation in the middle of 1,000 tokens, in every framework, for two relying parties. All of them have the clock of the test.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-07-01T00:00:00Z");
const ANNOUNCED = START + HOUR;
const ACTIVE = ANNOUNCED + 4 * HOUR + 5 * MINUTE;
const END = START + 12 * HOUR;
const TOKENS = 1000;
const ISSUER = "https://op.example/tenant/a";
const AUDIENCE = "rp";

const [first, next] = await Promise.all([openLocalSigner(), openLocalSigner()]);
const createSchedule = (): RotationSchedule =>
  createRotationSchedule(
    [
      { keyId: "first", signer: first, announcedFrom: new Date(START - HOUR), activeFrom: new Date(START - HOUR) },
      { keyId: "next", signer: next, announcedFrom: new Date(ANNOUNCED), activeFrom: new Date(ACTIVE) },
    ],
    { maxTokenLifetimeSeconds: 300 },
  );

interface Issued {
  readonly token: string;
  readonly at: number;
}
let issued: readonly Issued[] | undefined;

/** The same tokens for every framework. Each was signed at its moment of the schedule. */
async function issueTokens(): Promise<readonly Issued[]> {
  const keys = createSchedule();
  const tokens: Issued[] = [];
  for (let index = 0; index < TOKENS; index += 1) {
    const at = START + Math.floor((index * (END - START)) / TOKENS);
    vi.setSystemTime(at);
    const exp = Math.floor(at / 1000) + 300;
    tokens.push({ at, token: await signJwt(keys, { iss: ISSUER, aud: AUDIENCE, sub: "248289", exp }) });
  }
  return tokens;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(FRAMEWORKS)("%s: none of 1,000 tokens is wrong, and the ETag follows the set", async (_name, start) => {
  issued ??= await issueTokens();
  vi.setSystemTime(START);
  const server = await start({ issuer: ISSUER, port: 0, keys: createSchedule() });
  onTestFinished(() => server.close());
  const url = new URL(`http://127.0.0.1:${server.port}/tenant/a/jwks`);
  const parties: readonly JWTVerifyGetKey[] = [
    createRemoteKeySet(url, { allowInsecureLoopback: true }),
    createRemoteJWKSet(url),
  ];
  const client = createConditionalClient(url);

  const wrong: string[] = [];
  for (const [index, { token, at }] of issued.entries()) {
    vi.setSystemTime(at);
    if (index % 10 === 0) await client.revalidate();
    for (const keys of parties) {
      await jwtVerify(token, keys, { issuer: ISSUER, audience: AUDIENCE, algorithms: ["ES256"] }).catch(
        (error: unknown) => wrong.push(`${new Date(at).toISOString()} ${String(error)}`),
      );
    }
  }

  expect(wrong).toEqual([]);
  expect(new Set(issued.map(({ token }) => decodeProtectedHeader(token).kid))).toEqual(new Set(["first", "next"]));
  // One set before the next key is announced, one with both keys, one after the change, and one without the first key.
  expect(client.kids()).toEqual(["first", "first next", "next first", "next"]);
  expect(client.unchanged()).toBe(TOKENS / 10 - client.kids().length);
});

/** Revalidates with the last ETag, and checks that GET and HEAD say the same. */
function createConditionalClient(url: URL) {
  let etag = "";
  let unchanged = 0;
  const kids: string[] = [];
  return {
    kids: (): readonly string[] => kids,
    unchanged: (): number => unchanged,
    revalidate: async (): Promise<void> => {
      const headers = { "If-None-Match": etag };
      const head = await fetch(url, { method: "HEAD", headers });
      const response = await fetch(url, { headers });
      const body = Buffer.from(await response.arrayBuffer());
      expect(head.status).toBe(response.status);
      for (const name of ["etag", "cache-control", "content-length", "content-type"]) {
        expect(head.headers.get(name)).toBe(response.headers.get(name));
      }
      if (response.status === 304) {
        unchanged += 1;
        expect(response.headers.get("etag")).toBe(etag);
        return;
      }
      etag = response.headers.get("etag") ?? "";
      expect(etag).toBe(`"${createHash("sha256").update(body).digest("hex")}"`);
      const { keys } = JSON.parse(body.toString()) as { keys: readonly { kid: string }[] };
      kids.push(keys.map(({ kid }) => kid).join(" "));
    },
  };
}
