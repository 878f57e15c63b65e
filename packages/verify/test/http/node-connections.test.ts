import http from "node:http";
import https from "node:https";
import net from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { attemptTimeoutMs } from "../../src/http/attempt-timeout.ts";
import { nodeConnections } from "../../src/http/node-connections.ts";

// The connections that all sets of a thread share.

afterEach(() => {
  vi.restoreAllMocks();
});

/** Node documents them for subclasses, and its types leave them out. */
function optionsOf(agent: http.Agent): unknown {
  return (agent as unknown as { readonly options: unknown }).options;
}

it.each([
  ["http:", http.Agent],
  ["https:", https.Agent],
] as const)(
  "%s has an agent that keeps four connections for four seconds, and one that keeps none",
  (scheme, Agent) => {
    const { kept, single } = nodeConnections(new URL(`${scheme}//op.example/jwks`));
    const connecting = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1000 };
    expect(kept).toBeInstanceOf(Agent);
    expect(optionsOf(kept)).toMatchObject({
      ...connecting,
      keepAlive: true,
      timeout: 4000,
      maxFreeSockets: 4,
      scheduling: "lifo",
    });
    expect(single).toBeInstanceOf(Agent);
    expect(optionsOf(single)).toMatchObject({ ...connecting, keepAlive: false });
  },
);

it("both schemes have one pair of agents each", () => {
  const [plain, secure] = ["http://a.example", "https://a.example"].map((url) => nodeConnections(new URL(url)));
  expect(nodeConnections(new URL("http://b.example/jwks"))).toBe(plain);
  expect(nodeConnections(new URL("https://b.example/jwks"))).toBe(secure);
  expect(plain).not.toBe(secure);
});

it.each([
  [250, 1000],
  [1000, 1000],
  [1001, 1001],
  [3000, 3000],
])("where Node gives an address %d ms, it has %d ms", (ofNode, expected) => {
  vi.spyOn(net, "getDefaultAutoSelectFamilyAttemptTimeout").mockReturnValue(ofNode);
  expect(attemptTimeoutMs()).toBe(expected);
});
