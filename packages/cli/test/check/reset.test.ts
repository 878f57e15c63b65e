import { Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { send } from "../../src/check/probe/send.ts";

// The other side resets the connection before it is used: its socket has no address any more.
vi.mock("../../src/check/probe/connect.ts", () => ({
  connect: () => Promise.resolve({ socket: new Socket(), tls: undefined }),
}));

test.each([true, false])(
  "a connection that is reset at once says nothing about the network (%s)",
  async (isPublicOnly) => {
    const probe = { method: "GET", url: "https://keys.example/jwks", headers: {} };
    const bounds = { timeoutMs: 5000, maxBytes: 1000, signal: new AbortController().signal };
    await expect(send(probe, { ...bounds, isPublicOnly })).resolves.toMatchObject({
      exchange: { kind: "no-answer", reason: "connection", detail: "ECONNRESET" },
    });
  },
);
