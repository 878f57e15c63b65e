import { describe, expect, test, vi } from "vitest";
import type { GcpKmsClientLike } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";
import { ownConnection } from "../src/own-connection.ts";

const SUBJECT = { action: "read", name: "v" };
const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));
const UNAUTHENTICATED = Object.assign(new Error("16 UNAUTHENTICATED"), { code: 16 });

/** A connection of numbered clients, and the credentials that each was made with. */
function connected(initialize: () => Promise<unknown> = async () => ({ getChannel: () => undefined })): {
  readonly connection: Connection;
  readonly auths: unknown[];
  readonly forgetAbsence: ReturnType<typeof vi.fn<() => void>>;
} {
  const auths: unknown[] = [];
  const forgetAbsence = vi.fn<() => void>();
  const create = (auth?: GcpKmsClientLike["auth"]): GcpKmsClientLike => {
    const number = auths.push(auth);
    return {
      auth: { getRequestHeaders: async () => ({ Authorization: `Bearer token-${number}` }) },
      initialize,
      getPublicKey: refuse,
      asymmetricSign: refuse,
      getCryptoKeyVersion: refuse,
      listCryptoKeyVersions: refuse,
      close: async () => undefined,
    };
  };
  return { connection: ownConnection({ create, forgetAbsence }), auths, forgetAbsence };
}

/** A call that fails with these errors, one after the other, and then succeeds. */
async function ask(
  connection: Connection,
  errors: readonly Error[],
  caller = new AbortController(),
): Promise<{ readonly outcome: unknown; readonly calls: number }> {
  let calls = 0;
  const outcome: unknown = await connection
    .call({ timeoutMs: 60_000, signal: caller.signal }, SUBJECT, async () => {
      const error = errors[calls];
      calls += 1;
      if (error !== undefined) throw error;
      return "answer";
    })
    .catch((error: unknown) => error);
  return { outcome, calls };
}

describe("a call over a client of the adapter", () => {
  test("whose credentials are refused is made once more, with a client that searches for others", async () => {
    const { connection, auths } = connected();
    expect(await ask(connection, [UNAUTHENTICATED])).toEqual({ outcome: "answer", calls: 2 });
    expect(auths).toEqual([undefined, undefined]);
    expect(await ask(connection, [])).toEqual({ outcome: "answer", calls: 1 });
    // They were accepted, so that others are looked for at once.
    expect(await ask(connection, [UNAUTHENTICATED, UNAUTHENTICATED])).toEqual({ outcome: UNAUTHENTICATED, calls: 2 });
    expect(auths).toHaveLength(3);
  });

  test("that fails for another reason is made once", async () => {
    const { connection, auths } = connected();
    const error = Object.assign(new Error("7 PERMISSION_DENIED"), { code: 7 });
    expect(await ask(connection, [error])).toEqual({ outcome: error, calls: 1 });
    expect(auths).toHaveLength(1);
  });

  test("that was aborted meanwhile is not made again, and leaves the client in use", async () => {
    const { connection, auths } = connected();
    const caller = new AbortController();
    const aborting = Object.defineProperty(new Error("16"), "code", {
      get: () => {
        caller.abort(new Error("gone"));
        return 16;
      },
    });
    expect(await ask(connection, [aborting], caller)).toEqual({ outcome: aborting, calls: 1 });
    expect(auths).toHaveLength(1);
  });

  test("of a connection that was closed is not made again", async () => {
    const { connection, auths } = connected();
    await ask(connection, []);
    await connection.close();
    expect(await ask(connection, [UNAUTHENTICATED])).toMatchObject({ calls: 1 });
    expect(auths).toHaveLength(1);
  });
});

test("a search that failed is made by another client, and an absent metadata server is forgotten", async () => {
  const initialize = vi.fn<() => Promise<unknown>>(async () => ({ getChannel: () => undefined }));
  initialize.mockRejectedValueOnce(new Error("no credentials"));
  const { connection, auths, forgetAbsence } = connected(initialize);
  expect((await ask(connection, [])).outcome).toMatchObject({ code: "access_denied" });
  expect([auths.length, forgetAbsence.mock.calls.length]).toEqual([1, 1]);
  expect((await ask(connection, [])).outcome).toBe("answer");
  expect([auths.length, forgetAbsence.mock.calls.length]).toEqual([2, 1]);
});
