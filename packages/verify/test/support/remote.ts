import { createHash } from "node:crypto";
import { createRemoteKeySet } from "@signpost/verify";
import type { RemoteKeyFunction, RemoteKeySetOptions } from "@signpost/verify";
import type { Answer, CountingJwksServer, Reply, SeenRequest } from "@signpost/test-backends/counting-jwks-server";
import { startCountingJwksServer } from "@signpost/test-backends/counting-jwks-server";
import { jwtVerify } from "jose";
import { onTestFinished } from "vitest";
import type { TestKey } from "./keys.ts";

/** Two clocks that only the test moves: it is the monotonic one, `now` the wall clock. */
export interface FakeClock {
  (): number;
  readonly now: () => number;
  /** Time passes on both. */
  advanceSeconds(seconds: number): void;
  /** The wall clock moves alone: time passes while the machine sleeps, or the clock is set, forward or back. */
  moveWallSeconds(seconds: number): void;
}

export function fakeClock(): FakeClock {
  let monotonic = 1000;
  let wall = Date.now();
  return Object.assign(() => monotonic, {
    now: () => wall,
    advanceSeconds: (seconds: number) => {
      monotonic += seconds * 1000;
      wall += seconds * 1000;
    },
    moveWallSeconds: (seconds: number) => {
      wall += seconds * 1000;
    },
  });
}

/** What an origin that follows the endpoint's contract answers for these test keys or raw entries: 200 with an ETag, or 304. */
export function origin(keys: readonly unknown[], headers: Record<string, string | string[]>): Answer {
  const body = JSON.stringify({ keys: keys.map((key) => (isTestKey(key) ? key.jwk : key)) });
  const etag = `"${createHash("sha256").update(body).digest("hex")}"`;
  return (request) => {
    const common = { etag, ...headers };
    if (request.headers["if-none-match"] === etag) return { status: 304, headers: common };
    return { headers: { "content-type": "application/jwk-set+json", ...common }, body };
  };
}

function isTestKey(key: unknown): key is TestKey {
  return typeof key === "object" && key !== null && "privateKey" in key;
}

export const LONG_CACHE = { "cache-control": "public, max-age=3600, stale-while-revalidate=3600" };
export const ROTATION_CACHE = { "cache-control": "public, max-age=300, must-revalidate" };

export interface Setup {
  readonly server: CountingJwksServer;
  readonly clock: FakeClock;
  readonly keySet: RemoteKeyFunction;
  /** Verifies by jose. */
  verify(token: string | Promise<string>): Promise<unknown>;
  /** Requests so far. */
  count(): number;
  last(): SeenRequest;
}

export async function setup(answer: Answer | Reply, options: RemoteKeySetOptions = {}): Promise<Setup> {
  const server = await startCountingJwksServer(typeof answer === "function" ? answer : () => answer);
  onTestFinished(() => server.stop());
  const clock = fakeClock();
  const keySet = createRemoteKeySet(server.jwksUri, {
    allowInsecureLoopback: true,
    clock,
    now: clock.now,
    ...options,
  });
  return {
    server,
    clock,
    keySet,
    verify: async (token) => jwtVerify(await token, keySet),
    count: () => server.requests.length,
    last: () => {
      const request = server.requests.at(-1);
      if (request === undefined) throw new Error("there was no request");
      return request;
    },
  };
}

/** Waits until something that happens in the background has happened. */
export async function eventually(condition: () => boolean): Promise<void> {
  for (let attempt = 0; !condition(); attempt += 1) {
    if (attempt > 3_000) throw new Error("it did not happen within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A promise that the test settles. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
