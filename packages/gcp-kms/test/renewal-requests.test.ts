import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type * as adapter from "@signpost/core/adapter";
import { createEarlyRenewal } from "../src/early-renewal.ts";
import type { OpenRequests, RequestRecord } from "../src/credential-requests.ts";

/** What an early renewal did, in order. */
const state = vi.hoisted(() => ({ done: [] as string[], records: [] as unknown[], dropped: [] as unknown[] }));
vi.mock("@signpost/core/adapter", async (load) => ({
  ...(await load<typeof adapter>()),
  readRegularFile: async (_argument: string, path: string) => void state.done.push(`read ${path}`),
}));
vi.mock("../src/credential-requests.ts", async (load) => {
  const real = await load<typeof import("../src/credential-requests.ts")>();
  return {
    ...real,
    recordRequests: <Answer>(record: RequestRecord, search: () => Answer): Answer => {
      state.done.push("record");
      state.records.push(record);
      return real.recordRequests(record, search);
    },
    dropRequests: (open: OpenRequests) => {
      state.done.push("drop");
      state.dropped.push(open);
      real.dropRequests(open);
    },
  };
});
beforeEach(() => {
  state.done.length = 0;
  state.records.length = 0;
  state.dropped.length = 0;
});

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
};
/** Credentials whose token ends soon, and what they are asked for. */
function authThat(answer: () => Promise<unknown>): object {
  return {
    jsonContent: { credential_source: { file: "/run/token" } },
    cachedCredential: {
      eagerRefreshThresholdMillis: 300_000,
      credentials: { access_token: "t", expiry_date: Date.now() + 60_000 },
      getRequestHeaders: () => {
        state.done.push("ask");
        return answer();
      },
    },
  };
}
const token = async (): Promise<object> => ({ Authorization: "Bearer next" });
function newRenewal(renewalMs?: number): ReturnType<typeof createEarlyRenewal> {
  const renewal = createEarlyRenewal(renewalMs);
  onTestFinished(() => renewal.close());
  return renewal;
}

describe("an early renewal", () => {
  test("reads the file of the platform first, and drops nothing if it succeeds", async () => {
    const renewal = newRenewal();
    renewal.check(authThat(token));
    await turns();
    expect(state.done).toEqual(["read /run/token", "record", "ask"]);
    expect(state.records).toMatchObject([{ last: undefined, open: { dropped: false } }]);
    expect(renewal.trouble()).toBeUndefined();
  });

  test.each<[what: string, answer: () => Promise<unknown>]>([
    ["fails", () => Promise.reject(new Error("no"))],
    ["brings no token", async () => ({ Authorization: "Bearer undefined" })],
  ])("that %s drops its requests", async (_what, answer) => {
    const renewal = newRenewal();
    renewal.check(authThat(answer));
    await turns();
    expect(state.done.at(-1)).toBe("drop");
    expect(state.records).toMatchObject([{ open: state.dropped[0] }]);
    expect(state.dropped).toMatchObject([{ dropped: true }]);
    expect(renewal.trouble()).toBeDefined();
  });

  test("that hangs drops its requests after its time, and when the signer is closed", async () => {
    const hanging = () => new Promise<never>(() => undefined);
    newRenewal(5).check(authThat(hanging));
    await vi.waitFor(() => expect(state.dropped).toHaveLength(1), { timeout: 30_000 });
    const renewal = newRenewal();
    renewal.check(authThat(hanging));
    await turns();
    expect(state.dropped).toHaveLength(1);
    renewal.close();
    await vi.waitFor(() => expect(state.dropped).toHaveLength(2), { timeout: 30_000 });
  });
});
