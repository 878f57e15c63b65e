import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "@signpost/gcp-kms";
import type { Connection } from "../src/connection.ts";
import { ownConnection } from "../src/own-connection.ts";
import { rejection } from "./support/signatures.ts";

/** What a client waits for, by its number from 1. */
interface Waits {
  initialize?: (client: number) => Promise<void>;
  token?: (client: number) => Promise<void>;
  answer?: (client: number) => Promise<void>;
}

interface Clients {
  readonly connection: Connection;
  readonly waits: Waits;
  /** How many were made. */
  readonly made: () => number;
  /** The numbers of those that were closed. */
  readonly closed: number[];
}

/** A connection through made-up clients, which refuse calls after their end as the SDK's do. */
function madeUpClients(): Clients {
  const waits: Waits = {};
  let made = 0;
  const ended: number[] = [];
  const create = (): GcpKmsClientLike => {
    const number = (made += 1);
    let closed = false;
    const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));
    return {
      initialize: async () => {
        await waits.initialize?.(number);
        return { getChannel: () => undefined };
      },
      auth: { getRequestHeaders: async () => waits.token?.(number) },
      getPublicKey: async () => {
        if (closed) throw new Error("The client has already been closed.");
        await waits.answer?.(number);
        return [{ name: `client ${number}` }];
      },
      asymmetricSign: refuse,
      getCryptoKeyVersion: refuse,
      listCryptoKeyVersions: refuse,
      close: async () => {
        closed = true;
        ended.push(number);
      },
    };
  };
  return {
    connection: ownConnection({ create, forgetAbsence: () => undefined }),
    waits,
    made: () => made,
    closed: ended,
  };
}

/** One call whose signal ends it after a time, with a bound that may be longer. Tells which client answered. */
async function ask(connection: Connection, endsMs: number, timeoutMs = endsMs): Promise<unknown> {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(new SignerError("timeout", "no answer in time")), endsMs);
  const endsAfter = async (ms: number): Promise<never> =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => setTimeout(() => reject(signal.reason), ms), { once: true });
    });
  try {
    const subject = { action: "read", name: "v" };
    // The client lets go a little later than the caller.
    const call = connection.call({ timeoutMs, signal }, subject, (client, options) =>
      Promise.race([client.getPublicKey({ name: "v" }, options), endsAfter(20)]),
    );
    const [{ name }] = await Promise.race([call, endsAfter(0)]);
    return name;
  } finally {
    clearTimeout(timer);
  }
}

test("a search for credentials that hung while the process was frozen is given up, by the wall clock", async () => {
  const { connection, waits, made } = madeUpClients();
  waits.initialize = async (client) => (client === 1 ? never() : undefined);
  const first = rejection(ask(connection, 100, 60_000));
  const now = Date.now.bind(Date);
  const frozen = vi.spyOn(Date, "now").mockImplementation(() => now() + 3_600_000);
  await first;
  frozen.mockRestore();
  expect(made()).toBe(1);
  expect(await ask(connection, 5_000)).toBe("client 2");
});

const never = async (): Promise<never> => new Promise<never>(() => undefined);

describe("a call that waits for credentials while its client is left", () => {
  test("for a channel that is silent, is made through the next client", async () => {
    const { connection, waits } = madeUpClients();
    expect(await ask(connection, 5_000)).toBe("client 1");
    waits.answer = async (client) => (client === 1 ? never() : undefined);
    const last = rejection(ask(connection, 250));
    await pause(50);
    waits.token = async (client) => (client === 1 ? pause(400) : undefined);
    expect(await ask(connection, 5_000)).toBe("client 2");
    await last;
  });

  test("for a search that hung and came late, is made through the next client", async () => {
    const { connection, waits } = madeUpClients();
    waits.initialize = async (client) => (client === 1 ? pause(400) : undefined);
    const first = rejection(ask(connection, 200));
    await pause(100);
    const second = ask(connection, 5_000);
    await first;
    expect(await ask(connection, 5_000)).toBe("client 2");
    expect(await second).toBe("client 2");
  });

  test("for the signer was closed, is refused", async () => {
    const { connection, waits } = madeUpClients();
    await ask(connection, 5_000);
    waits.token = async () => pause(50);
    const waiting = rejection(ask(connection, 5_000));
    await connection.close();
    expect(await waiting).toMatchObject({ message: "The client has already been closed." });
  });
});

test("closing ends the channel of a client whose later search hangs", async () => {
  const { connection, waits, closed } = madeUpClients();
  await ask(connection, 5_000);
  waits.token = async (client) => (client === 1 ? never() : undefined);
  await rejection(ask(connection, 60));
  expect(await ask(connection, 5_000)).toBe("client 2");
  await connection.close();
  expect(new Set(closed)).toEqual(new Set([1, 2]));
});

describe("credentials that the service refuses, though the client takes them for good", () => {
  const refused = async (): Promise<never> =>
    Promise.reject(Object.assign(new Error("16 UNAUTHENTICATED: not valid"), { code: 16 }));

  test("are looked for again by the same call", async () => {
    const { connection, waits, made } = madeUpClients();
    await ask(connection, 5_000);
    waits.answer = async (client) => (client === 1 ? refused() : undefined);
    expect(await ask(connection, 5_000)).toBe("client 2");
    expect(made()).toBe(2);
  });

  test("are looked for once by calls that fail together", async () => {
    const { connection, waits, made } = madeUpClients();
    waits.answer = async (client) => (client === 1 ? pause(20).then(refused) : undefined);
    const asked = [ask(connection, 5_000), ask(connection, 5_000), ask(connection, 5_000)];
    expect(await Promise.all(asked)).toEqual(["client 2", "client 2", "client 2"]);
    expect(made()).toBe(2);
  });

  test("and are refused again, are looked for after a pause, by the wall clock as well", async () => {
    const { connection, waits, made } = madeUpClients();
    waits.answer = refused;
    for (const _call of [1, 2, 3]) expect(await rejection(ask(connection, 5_000))).toMatchObject({ code: 16 });
    expect(made()).toBe(2);
    waits.answer = async (client) => (client < 3 ? refused() : undefined);
    const now = Date.now.bind(Date);
    const frozen = vi.spyOn(Date, "now").mockImplementation(() => now() + 5_000);
    const answer = await ask(connection, 5_000).finally(() => frozen.mockRestore());
    expect(answer).toBe("client 3");
  });

  test("and are refused again after they were accepted are looked for at once", async () => {
    const { connection, waits } = madeUpClients();
    let oldest = 1;
    waits.answer = async (client) => (client < oldest ? refused() : undefined);
    for (const expected of ["client 1", "client 2", "client 3"]) {
      expect(await ask(connection, 5_000)).toBe(expected);
      oldest += 1;
    }
  });

  test("are not looked for by a signer that was closed", async () => {
    const { connection, waits, made } = madeUpClients();
    waits.answer = async () => pause(20).then(refused);
    const waiting = rejection(ask(connection, 5_000));
    await pause(5);
    await connection.close();
    expect(await waiting).toMatchObject({ code: 16 });
    expect(made()).toBe(1);
  });
});

describe("a channel that is silent", () => {
  test("is left after one attempt that a guard ended long before the bound of the call", async () => {
    const { connection, waits } = madeUpClients();
    await ask(connection, 5_000);
    waits.answer = async (client) => (client === 1 ? never() : undefined);
    await rejection(ask(connection, 250, 5_000));
    // The client has not yet let go of it.
    expect(await ask(connection, 5_000)).toBe("client 2");
  });

  test("is left once by attempts at the same time", async () => {
    const { connection, waits, made } = madeUpClients();
    await ask(connection, 5_000);
    waits.answer = async (client) => (client === 1 ? never() : undefined);
    await Promise.all([rejection(ask(connection, 250)), rejection(ask(connection, 250))]);
    expect(await ask(connection, 5_000)).toBe("client 2");
    expect(made()).toBe(2);
  });

  test("and answered another call just before is left too", async () => {
    const { connection, waits } = madeUpClients();
    await ask(connection, 5_000);
    waits.answer = async (client) => (client === 1 ? never() : undefined);
    const lost = rejection(ask(connection, 300));
    await pause(20);
    const { answer } = waits;
    waits.answer = async () => undefined;
    expect(await ask(connection, 5_000)).toBe("client 1");
    waits.answer = answer;
    await lost;
    expect(await ask(connection, 5_000)).toBe("client 2");
  });

  test("is not left for an attempt that ended soon, or that the caller ended", async () => {
    const { connection, waits, made } = madeUpClients();
    await ask(connection, 5_000);
    waits.answer = async () => never();
    await rejection(ask(connection, 20, 5_000));
    const caller = new AbortController();
    const bounds = { timeoutMs: 250, signal: caller.signal };
    const given = connection.call(bounds, { action: "read", name: "v" }, async () => never());
    await pause(220);
    caller.abort();
    expect(made()).toBe(1);
    given.catch(() => undefined);
  });

  test("and never answered is not left for attempts at the same time, which count as one", async () => {
    const { connection, waits, made } = madeUpClients();
    waits.answer = async () => never();
    await Promise.all([rejection(ask(connection, 250)), rejection(ask(connection, 250))]);
    expect(made()).toBe(1);
  });

  test("from the first call on is left too, and the next ones have more and more time", async () => {
    const { connection, waits, made } = madeUpClients();
    waits.answer = async () => never();
    const leaveTwoUnanswered = async (): Promise<void> => {
      for (const _attempt of [1, 2]) {
        await rejection(ask(connection, 200));
        // The client lets go of it.
        await pause(30);
      }
    };
    await leaveTwoUnanswered();
    expect(made()).toBe(2);
    await leaveTwoUnanswered();
    expect(made()).toBe(2);
    const now = performance.now.bind(performance);
    const later = vi.spyOn(performance, "now").mockImplementation(() => now() + 1_000);
    onTestFinished(() => later.mockRestore());
    await leaveTwoUnanswered();
    expect(made()).toBe(3);
    waits.answer = async (client) => (client < 3 ? never() : undefined);
    expect(await ask(connection, 5_000)).toBe("client 3");
  });
});
