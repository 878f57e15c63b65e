import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import type { GcpKmsClientLike } from "../src/api.ts";
import type { Connection } from "../src/connection.ts";
import { ownConnection, type OwnClients } from "../src/own-connection.ts";

/** Both clocks. Milliseconds. */
let now = 0;
let freezes = 0;
beforeEach(() => {
  now = 1_000_000;
  freezes = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  vi.spyOn(Date, "now").mockImplementation(() => now + freezes);
});
afterEach(() => vi.restoreAllMocks());

const SUBJECT = { action: "read", name: "v" };
const never = async (): Promise<never> => new Promise<never>(() => undefined);
/** Lets the microtasks of a call run, and what it left for the next turns. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
};

interface Made {
  readonly auth: unknown;
  readonly number: number;
}

function connected(others: Partial<OwnClients> = {}): {
  readonly connection: Connection;
  readonly made: Made[];
  readonly closed: number[];
  readonly forgotten: number[];
  /** How a client is made ready, and how it answers, by its number from 1. */
  readonly behavior: { initialize: (client: number) => Promise<unknown>; answer: (client: number) => Promise<object> };
} {
  const made: Made[] = [];
  const closed: number[] = [];
  const forgotten: number[] = [];
  const behavior = {
    initialize: async (_client: number): Promise<unknown> => ({ getChannel: () => undefined }),
    answer: async (client: number): Promise<object> => ({ name: String(client) }),
  };
  const create = (auth?: GcpKmsClientLike["auth"]): GcpKmsClientLike => {
    const number = made.length + 1;
    made.push({ auth, number });
    return {
      auth: { number, getRequestHeaders: async () => ({}) } as unknown as NonNullable<GcpKmsClientLike["auth"]>,
      initialize: () => behavior.initialize(number),
      getPublicKey: async () => [await behavior.answer(number)],
      asymmetricSign: never,
      getCryptoKeyVersion: never,
      listCryptoKeyVersions: never,
      close: async () => void closed.push(number),
    };
  };
  const forgetAbsence = ({ auth }: GcpKmsClientLike): void =>
    void forgotten.push(Number(Reflect.get(Object(auth), "number")));
  return { connection: ownConnection({ create, forgetAbsence, ...others }), made, closed, forgotten, behavior };
}

/** Begins a call. Its outcome is the number of the client that answered, or the error. */
function begin(
  connection: Connection,
  timeoutMs = 1000,
): { readonly caller: AbortController; readonly outcome: Promise<unknown> } {
  const caller = new AbortController();
  const outcome = connection
    .call({ timeoutMs, signal: caller.signal }, SUBJECT, async (client, options) =>
      client.getPublicKey({ name: "v" }, options),
    )
    .then(
      ([{ name }]) => Number(name),
      (error: unknown) => error,
    );
  return { caller, outcome };
}
const ask = (connection: Connection): Promise<unknown> => begin(connection).outcome;
/** A call that gets no answer for so long. */
async function askFor(connection: Connection, forMs: number): Promise<void> {
  const { caller, outcome } = begin(connection);
  await turns();
  now += forMs;
  caller.abort(new SignerError("timeout", "no answer in time"));
  await Promise.race([outcome, turns()]);
}
const SOCKETS = { agent: () => undefined as never, idleMs: 20_000, dropIdle: () => undefined };

describe("a client is made", () => {
  test("at once, so that the first call need not wait for it", () => {
    expect(connected().made).toEqual([{ auth: undefined, number: 1 }]);
  });

  test("only after the file with credentials was read, and once", async () => {
    let read = (): void => undefined;
    const untilFileAnswers = vi.fn<() => Promise<void>>(() => new Promise((resolve) => (read = resolve)));
    const { connection, made } = connected({ untilFileAnswers });
    await turns();
    expect(made).toEqual([]);
    const call = ask(connection);
    await turns();
    expect(made).toEqual([]);
    read();
    untilFileAnswers.mockResolvedValue(undefined);
    await turns();
    expect(untilFileAnswers).toHaveBeenCalledTimes(2);
    read();
    expect(await call).toBe(1);
    expect(made).toHaveLength(1);
    expect(await ask(connection)).toBe(1);
    // The client is there, and keeps its credentials.
    expect(untilFileAnswers).toHaveBeenCalledTimes(2);
  });

  test("not after the end of the connection", async () => {
    let read = (): void => undefined;
    const { connection, made } = connected({ untilFileAnswers: () => new Promise((resolve) => (read = resolve)) });
    await connection.close();
    read();
    await turns();
    expect(made).toEqual([]);
  });
});

describe("a client whose process was frozen", () => {
  const freeze = (): void => void (freezes += 600_000);

  test("is replaced over gRPC by one with its credentials, and closed", async () => {
    const { connection, made, closed } = connected();
    expect(await ask(connection)).toBe(1);
    freeze();
    expect(await ask(connection)).toBe(2);
    expect(made.map(({ auth }) => Reflect.get(Object(auth), "number") as unknown)).toEqual([undefined, 1]);
    await turns();
    expect(closed).toEqual([1]);
  });

  test("stays over REST, whose connections are closed elsewhere", async () => {
    const { connection, made } = connected({ sockets: { ...SOCKETS, close: () => undefined } });
    expect(await ask(connection)).toBe(1);
    freeze();
    expect(await ask(connection)).toBe(1);
    expect(made).toHaveLength(1);
  });
});

test("a client over REST is not replaced for its silence", async () => {
  const { connection, made, behavior } = connected({ sockets: { ...SOCKETS, close: () => undefined } });
  expect(await ask(connection)).toBe(1);
  behavior.answer = never;
  await askFor(connection, 600);
  await askFor(connection, 600);
  expect(made).toHaveLength(1);
});

describe("a search for credentials that was given up", () => {
  /** One whose first search has hung, and whose second hangs. Returns how the first one ends. */
  async function hung(): Promise<ReturnType<typeof connected> & { finish: (error?: Error) => void }> {
    const setup = connected();
    let finish = (_error?: Error): void => undefined;
    // The SDK's clients search once.
    const first = new Promise<object>((resolve, reject) => {
      finish = (error) => (error === undefined ? resolve({ getChannel: () => undefined }) : reject(error));
    });
    setup.behavior.initialize = (client) => (client > 1 ? never() : first);
    await askFor(setup.connection, 900);
    return { ...setup, finish };
  }

  test("is used when it comes late, and the one that was made meanwhile is left", async () => {
    const { connection, made, finish } = await hung();
    const { outcome } = begin(connection);
    await turns();
    expect(made).toHaveLength(2);
    finish();
    expect(await outcome).toBe(1);
    expect(await ask(connection)).toBe(1);
    expect(made).toHaveLength(2);
  });

  test("is left when it comes after another one, and is closed", async () => {
    const { connection, closed, behavior, finish } = await hung();
    behavior.initialize = async () => ({ getChannel: () => undefined });
    expect(await ask(connection)).toBe(2);
    finish();
    await turns();
    expect(await ask(connection)).toBe(2);
    expect(closed).toEqual([1]);
  });

  test("and fails late lets the SDK search for a metadata server again", async () => {
    const { connection, forgotten, behavior, finish } = await hung();
    behavior.initialize = async () => ({ getChannel: () => undefined });
    expect(forgotten).toEqual([]);
    finish(new Error("no credentials"));
    await turns();
    expect(forgotten).toEqual([1]);
    expect(await ask(connection)).toBe(2);
  });

  test("and comes after the end of the connection is closed", async () => {
    const { connection, closed, finish } = await hung();
    await connection.close();
    finish();
    await turns();
    expect(closed).toEqual([1]);
  });
});

test("the end of a connection closes its client and its sockets", async () => {
  const close = vi.fn<() => void>();
  const { connection, closed } = connected({ sockets: { ...SOCKETS, close } });
  await ask(connection);
  expect(close).not.toHaveBeenCalled();
  await connection.close();
  expect(closed).toEqual([1]);
  expect(close).toHaveBeenCalledOnce();
});
