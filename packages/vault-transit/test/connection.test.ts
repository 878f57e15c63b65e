import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { planOpening } from "@signpost/core/adapter";
import { connect, type Connection } from "../src/connection.ts";
import type { Credentials, WaitForToken } from "../src/credentials.ts";
import type { HttpAnswer } from "../src/exchange.ts";
import type { Requester } from "../src/requester.ts";
import { readConnectionOptions } from "../src/client.ts";

// What follows a refused token, and what a connection says of itself, without a network.

const parts = vi.hoisted(() => ({
  events: [] as unknown[],
  statuses: [] as number[],
  trouble: undefined as string | undefined,
  another: async (): Promise<string | undefined> => "another",
  wait: undefined as WaitForToken | undefined,
}));
vi.mock("../src/requester.ts", () => ({
  createRequester: async (): Promise<Requester> => ({
    address: "https://vault.example:8200",
    namespace: "team",
    send: async (target, request, token) => {
      parts.events.push([target.action, request.path, token]);
      return { status: parts.statuses.shift() ?? 200 } as HttpAnswer;
    },
    close: async () => void parts.events.push("connections closed"),
  }),
}));
vi.mock("../src/credentials.ts", () => ({
  createCredentials: (_auth: unknown, _calls: unknown, wait: WaitForToken): Credentials => {
    parts.wait = wait;
    return {
      token: async () => "token",
      another: async (refused) => {
        parts.events.push(`${refused} refused`);
        return parts.another();
      },
      trouble: () => parts.trouble,
      close: async () => {
        await Promise.resolve();
        parts.events.push("credentials closed");
      },
    };
  },
}));
beforeEach(() => {
  parts.events.length = 0;
  parts.statuses.length = 0;
  parts.trouble = undefined;
  parts.another = async () => "another";
});

const open = (options: object = {}): Promise<Connection> =>
  connect(
    readConnectionOptions({ address: "https://vault.example:8200", auth: { method: "none" }, ...options }),
    planOpening({}),
  );
const { signal } = new AbortController();
const call = async (connection: Connection, ending = signal): Promise<number> => {
  const target = { action: "read op", address: connection.address };
  return (await connection.call(target, { method: "GET", path: "transit/keys/op" }, { signal: ending })).status;
};
const SENT = ["read op", "transit/keys/op", "token"];
const SENT_AGAIN = ["read op", "transit/keys/op", "another"];

test.each<[status: number, events: readonly unknown[]]>([
  [200, [SENT]],
  [400, [SENT]],
  [401, [SENT]],
  [404, [SENT]],
  [403, [SENT, "token refused", SENT_AGAIN]],
])("an answer with status %i leads to %j", async (status, events) => {
  parts.statuses.push(status);
  expect(await call(await open())).toBe(status === 403 ? 200 : status);
  expect(parts.events).toEqual(events);
});

test("a call is made at most twice", async () => {
  parts.statuses.push(403, 403);
  expect(await call(await open())).toBe(403);
  expect(parts.events).toEqual([SENT, "token refused", SENT_AGAIN]);
});

test("without another token, the refusal is the answer", async () => {
  parts.statuses.push(403);
  parts.another = async () => undefined;
  expect(await call(await open())).toBe(403);
  expect(parts.events).toEqual([SENT, "token refused"]);
});

test("a call that was aborted while it waited for another token is not made again", async () => {
  const caller = new AbortController();
  const reason = new Error("gone");
  parts.statuses.push(403);
  parts.another = async () => {
    caller.abort(reason);
    return "another";
  };
  await expect(call(await open(), caller.signal)).rejects.toBe(reason);
  expect(parts.events).toEqual([SENT, "token refused"]);
});

test("closing ends the credentials before their connections", async () => {
  await (await open()).close();
  expect(parts.events).toEqual(["credentials closed", "connections closed"]);
});

test("a connection says where it leads, and what is wrong with its token", async () => {
  vi.stubEnv("VAULT_NAMESPACE", "team");
  const connection = await open({ address: "https://vault.example:8200" });
  vi.unstubAllEnvs();
  expect(connection).toMatchObject({ address: "https://vault.example:8200", namespace: "team" });
  expect([connection.status(), connection.notes()]).toEqual(["ready", ["namespace team, from VAULT_NAMESPACE"]]);
  parts.trouble = "the token cannot be renewed";
  expect([connection.status(), connection.notes()]).toEqual([
    "degraded",
    ["namespace team, from VAULT_NAMESPACE", "the token cannot be renewed"],
  ]);
});

test("a call that gets no token says so before its attempt ends, and how and where the token was asked for", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await open({ auth: { method: "approle", roleId: "r" } });
  const errors: unknown[] = [];
  parts.wait?.(new Promise<string>(() => {}), signal).catch((error: unknown) => errors.push(error));
  await vi.advanceTimersByTimeAsync(1799);
  expect(errors).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  const message = "no token within 1800 ms (auth.method approle, https://vault.example:8200)";
  expect(errors).toMatchObject([{ code: "timeout", message }]);
});
