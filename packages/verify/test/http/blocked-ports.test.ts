import type { Dispatcher } from "undici";
import { fetch } from "undici";
import { expect, it } from "vitest";
import { isBlockedPort } from "../../src/http/blocked-ports.ts";

// The ports that the Fetch standard blocks, as undici's own fetch knows them.

const HIGH = [1719, 1721, 1723, 2049, 3659, 4045, 4190, 5060, 6000, 6566, 6667, 6679, 6697, 10_080];
const PORTS = [
  ...Array.from({ length: 1000 }, (_, index) => index + 1),
  ...HIGH.flatMap((port) => [-3, -2, -1, 0, 1, 2, 3].map((distance) => port + distance)),
];

it("blocks the ports that fetch blocks, and no others", async () => {
  const reached: number[] = [];
  const dispatcher = {
    dispatch({ origin }: Dispatcher.DispatchOptions) {
      // Undici leaves out the port of the scheme.
      reached.push(Number(new URL(String(origin)).port) || 80);
      throw new Error("not sent");
    },
  } as unknown as Dispatcher;
  for (const port of PORTS) await fetch(`http://127.0.0.1:${port}/`, { dispatcher }).catch(() => {});
  const allowed = PORTS.filter((port) => !isBlockedPort(new URL(`http://127.0.0.1:${port}/`)));
  expect(allowed).toEqual(reached);
  expect(PORTS.length - allowed.length).toBeGreaterThan(80);
});

it.each(["https://op.example/jwks", "http://op.example/jwks", "https://op.example:65535/jwks"])("allows %s", (url) => {
  expect(isBlockedPort(new URL(url))).toBe(false);
});
