import { BroadcastChannel } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import { PinLedger } from "../src/pool/pin-ledger.ts";
import { pinSource } from "../src/request/pin.ts";
import { createPinExchange, type PinExchangeEvents } from "../src/sharing/pin-exchange.ts";
import { PinMemory } from "../src/sharing/pin-memory.ts";
import { ProcessPins } from "../src/sharing/process-pins.ts";

const TOKEN = { label: "op", serial: "1" };
const OTHER_TOKEN = { label: "op", serial: "2" };

afterEach(() => vi.restoreAllMocks());

/** The end of a thread. It knows all that the others know. */
function join(isGiven: PinExchangeEvents["isGiven"]) {
  const memory = new PinMemory();
  const exchange = createPinExchange(memory, { met: () => {}, known: () => [memory.shared], isGiven });
  const ask = (others: readonly PinMemory[], what: "source" | "PIN" = "PIN") =>
    exchange.ask(
      what,
      memory.order,
      memory.tag(TOKEN, "1234"),
      others.map(({ order }) => order),
    );
  return { memory, ask };
}

const cannotTell = (): undefined => undefined;

describe("a question to the other threads about a PIN", () => {
  test("is confirmed before the source is asked, which may keep its thread busy", async () => {
    const events: unknown[] = [];
    const post = BroadcastChannel.prototype.postMessage;
    vi.spyOn(BroadcastChannel.prototype, "postMessage").mockImplementation(function (
      this: BroadcastChannel,
      message: unknown,
    ) {
      if (typeof message === "object" && message !== null && "same" in message) events.push(message.same);
      return post.call(this, message);
    });
    const asker = join(cannotTell);
    const other = join((_order, tag) =>
      asker.memory.isTagOf(TOKEN, tag) ? async () => (events.push("read"), true) : undefined,
    );
    expect(await asker.ask([other.memory])).toBe(true);
    expect(events).toEqual(["asking", "read", true]);
  });

  test("is over once every thread said that it has no source, and not before", async () => {
    const asker = join(cannotTell);
    const others = [1, 2].map(() => join((order) => (order === asker.memory.order ? "no source" : undefined)));
    const memories = others.map(({ memory }) => memory);
    expect(await asker.ask([])).toBe("no source");
    expect(await asker.ask(memories)).toBe("no source");
    expect(await asker.ask([...memories, new PinMemory()])).toBe("silent");
  });

  test("is over immediately if the source fails, unless another one returns it", async () => {
    const asker = join(cannotTell);
    const failing = join((order) =>
      order === asker.memory.order ? () => Promise.reject(new Error("away")) : undefined,
    );
    const start = performance.now();
    expect(await asker.ask([failing.memory])).toBe("silent");
    expect(performance.now() - start).toBeLessThan(5_000);
    const giving = join((order) => (order === asker.memory.order ? async () => true : undefined));
    expect(await asker.ask([failing.memory, giving.memory])).toBe(true);
  });

  test("is answered with no only once every source that was asked returned another PIN", async () => {
    const asker = join(cannotTell);
    const returning = (same: boolean, before: Promise<unknown> = Promise.resolve()) =>
      join((order) => (order === asker.memory.order ? () => before.then(() => same) : undefined)).memory;
    const old = [returning(false), returning(false)];
    expect(await asker.ask(old)).toBe(false);
    let answer = (): void => {};
    const slow = returning(true, new Promise<void>((resolve) => (answer = resolve)));
    const asked = asker.ask([...old, slow]);
    // Those that return the old PIN have answered before.
    await new Promise((resolve) => setTimeout(resolve, 100));
    answer();
    expect(await asked).toBe(true);
  });

  test("whether there is a source does not ask any source", async () => {
    const asker = join(cannotTell);
    const read = vi.fn<() => Promise<boolean>>();
    const other = join((order) => (order === asker.memory.order ? read : undefined));
    expect(await asker.ask([other.memory], "source")).toBe(true);
    expect(read).not.toHaveBeenCalled();
  });
});

describe("a PIN that is not the one that the token accepted", () => {
  test("is refused if another thread does not answer", async () => {
    join(cannotTell);
    const ledger = new PinLedger(new ProcessPins());
    (await ledger.take(pinSource("1234"), OTHER_TOKEN)).done("accepted");
    await expect(ledger.compare(pinSource("4321"), OTHER_TOKEN, undefined)).rejects.toMatchObject({
      code: "pin_incorrect",
      message: expect.stringMatching(/could not confirm the new one in time/) as string,
    });
  });
});
