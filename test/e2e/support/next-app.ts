import { expect } from "vitest";
import { exchange, type RawRequest, type RawResponse } from "./raw-http.ts";

/** Headers by lower-case name. Two lines of one name are a failure. */
export function headersOf(response: RawResponse | undefined): Record<string, string> {
  const lines = (response?.headers ?? [])
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !["date", "connection", "keep-alive", "transfer-encoding"].includes(name));
  expect(new Set(lines.map(([name]) => name)).size).toBe(lines.length);
  return Object.fromEntries(lines);
}

/** Asks for the key set, unless the request has another target. */
export const askNextApp = async (port: number, request: Partial<RawRequest> = {}): Promise<RawResponse | undefined> =>
  (await exchange(port, [{ method: "GET", target: "/oidc/jwks", ...request }]))[0];
