import { afterEach, describe, expect, test, vi } from "vitest";
import { PinLedger } from "../src/pool/pin-ledger.ts";
import { pinSource } from "../src/request/pin.ts";
import { PinMemory } from "../src/sharing/pin-memory.ts";
import { ProcessPins } from "../src/sharing/process-pins.ts";

const TOKEN = { label: "op", serial: "1" };
const OTHER_TOKEN = { label: "op", serial: "2" };
const REFUSED = { code: "pin_incorrect", reason: "refused" };
const pins = new ProcessPins();
const ledger = new PinLedger(pins);

afterEach(() => vi.restoreAllMocks());

async function send(
  pin: ReturnType<typeof pinSource>,
  outcome: "accepted" | "refused" | "lost" | "unknown",
  token = TOKEN,
): Promise<string> {
  const attempt = await ledger.take(pin, token);
  attempt.done(outcome);
  return attempt.pin;
}

describe("a source whose PIN was refused", () => {
  test("is asked again after five seconds, for each token by itself", async () => {
    let now = performance.now();
    vi.spyOn(performance, "now").mockImplementation(() => now);
    let asked = 0;
    const source = pinSource(() => `wrong-${(asked += 1)}`);
    await send(source, "refused");
    now += 4_900;
    await expect(ledger.take(source, TOKEN)).rejects.toMatchObject(REFUSED);
    expect(asked).toBe(1);
    expect(await send(source, "accepted", OTHER_TOKEN)).toBe("wrong-2");
    now += 200;
    expect(await send(source, "accepted")).toBe("wrong-3");
    // That one was right, but the first one is not sent again.
    await expect(ledger.take(pinSource("wrong-1"), TOKEN)).rejects.toMatchObject(REFUSED);
  });

  test("is asked again when only the wall clock says so, and no refused PIN gets through", async () => {
    const token = { label: "slept", serial: "1" };
    const monotonic = performance.now();
    let wall = Date.now();
    vi.spyOn(performance, "now").mockImplementation(() => monotonic);
    vi.spyOn(Date, "now").mockImplementation(() => wall);
    let asked = 0;
    const source = pinSource(() => ((asked += 1), "wrong"));
    await send(source, "refused", token);
    wall += 4_900;
    await expect(ledger.take(source, token)).rejects.toMatchObject(REFUSED);
    expect(asked).toBe(1);
    // However often the clock is set forward, or back: what was refused is never sent again.
    for (const [step, times] of [
      [200, 2],
      [3_600_000, 3],
      [-7_200_000, 3],
    ] as const) {
      wall += step;
      await expect(ledger.take(source, token)).rejects.toMatchObject(REFUSED);
      expect(asked).toBe(times);
    }
  });

  test("is not asked more often by signers with the same function", async () => {
    let asked = 0;
    const ask = (): string => `bad-${(asked += 1)}`;
    await send(pinSource(ask), "refused", OTHER_TOKEN);
    await expect(ledger.take(pinSource(ask), OTHER_TOKEN)).rejects.toMatchObject(REFUSED);
    expect(asked).toBe(1);
  });
});

test("the error of a source that gives no PIN names the token", async () => {
  const none = pinSource(() => "");
  const failing = pinSource(() => Promise.reject(new Error("away")));
  const first = 'token "op" (serial 1): the function of the option pin';
  await expect(ledger.take(none, TOKEN)).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "pin",
    message: expect.stringContaining(`pin: ${first}: expected`) as string,
  });
  await expect(ledger.take(failing, TOKEN)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(first) as string,
  });
});

test("the error of a PIN that was refused before says what is unusual at its ends", async () => {
  const source = pinSource("5555\n");
  await send(source, "refused");
  const message = expect.stringMatching(/ends with a line end/) as string;
  await expect(ledger.take(source, TOKEN)).rejects.toMatchObject({ message });
});

describe("a PIN whose outcome was lost", () => {
  const token = { label: "lost", serial: "1" };
  const LOST = { code: "pin_incorrect", message: expect.stringMatching(/unknown.*forgetRefusedPins/) as string };

  test("is sent once more, and then neither it nor another one, until everything is forgotten", async () => {
    for (let count = 0; count < 2; count += 1) await send(pinSource("1111"), "lost", token);
    await expect(ledger.take(pinSource("1111"), token)).rejects.toMatchObject(LOST);
    await expect(ledger.take(pinSource("2222"), token)).rejects.toMatchObject(LOST);
    await pins.forgetRefusals();
    expect(await send(pinSource("1111"), "lost", token)).toBe("1111");
  });

  test("is sent as often as it takes when the token accepted it before: an HSM may hang for a while", async () => {
    const hung = { label: "hung", serial: "1" };
    await send(pinSource("1111"), "accepted", hung);
    for (let count = 0; count < 5; count += 1) expect(await send(pinSource("1111"), "lost", hung)).toBe("1111");
    for (let count = 0; count < 2; count += 1) await send(pinSource("2222"), "lost", hung);
    await expect(ledger.take(pinSource("2222"), hung)).rejects.toMatchObject(LOST);
  });

  test("is one whose thread ended during the login", async () => {
    const ended = { label: "ended", serial: "1" };
    let now = process.hrtime.bigint();
    vi.spyOn(process.hrtime, "bigint").mockImplementation(() => now);
    for (let count = 0; count < 2; count += 1) {
      expect(await ledger.take(pinSource("1111"), ended)).toMatchObject({ pin: "1111" });
      // Its turn is over by then.
      now += 16_000_000_000n;
    }
    await expect(ledger.take(pinSource("1111"), ended)).rejects.toMatchObject(LOST);
  });

  test("is not one about which the token has said something else", async () => {
    const other = { label: "other", serial: "1" };
    for (let count = 0; count < 3; count += 1) await send(pinSource("1111"), "unknown", other);
    await send(pinSource("1111"), "lost", other);
    for (let count = 0; count < 3; count += 1) await send(pinSource("1111"), "unknown", other);
    await send(pinSource("1111"), "lost", other);
    await expect(ledger.take(pinSource("1111"), other)).rejects.toMatchObject(LOST);
  });

  test("no longer counts once the token has accepted one", async () => {
    await send(pinSource("1111"), "accepted", token);
    await send(pinSource("1111"), "lost", token);
    expect(await send(pinSource("1111"), "accepted", token)).toBe("1111");
    await send(pinSource("2222"), "lost", token);
    await send(pinSource("2222"), "refused", token);
    await expect(ledger.take(pinSource("2222"), token)).rejects.toMatchObject(REFUSED);
  });
});

describe("a PIN that the token accepted", () => {
  const token = { label: "accepted", serial: "1" };
  const right = pinSource("1234");

  test("is proven while a login with it is in force, and not by a login that is not ours", async () => {
    await send(right, "accepted", token);
    expect(await ledger.compare(right, token, right)).toBe("proven");
    expect(await ledger.compare(right, token, undefined)).toBe("unproven");
    expect(await ledger.compare(pinSource("4321"), token, undefined)).toBe("unproven");
    const end = ledger.offer(token, () => right);
    expect(await ledger.compare(right, token, undefined)).toBe("proven");
    end();
  });

  test("is not proven once the token has refused it", async () => {
    await send(right, "accepted", token);
    await send(right, "refused", token);
    expect(await ledger.compare(right, token, right)).toBe("unproven");
  });
});

describe("the memory of refused PINs", () => {
  test("holds no PIN, and another memory has other tags for the same PIN", () => {
    const memory = new PinMemory();
    memory.refuse(TOKEN, "31415926");
    memory.accept(TOKEN, "27182818");
    const text = Buffer.from(memory.shared).toString("latin1");
    expect(text).not.toMatch(/31415926|27182818/);
    expect(Buffer.from(new PinMemory().tag(TOKEN, "31415926"))).not.toEqual(Buffer.from(memory.tag(TOKEN, "31415926")));
  });

  test("is the same in another thread", () => {
    const memory = new PinMemory();
    const shared = new PinMemory(memory.shared);
    memory.refuse(TOKEN, "1234");
    expect([shared.isRefused(TOKEN, "1234"), shared.isRefused(OTHER_TOKEN, "1234"), shared.refusals(TOKEN)]).toEqual([
      true,
      false,
      1,
    ]);
    const unlock = shared.tryLock(TOKEN);
    expect([unlock === undefined, memory.tryLock(TOKEN)]).toEqual([false, undefined]);
    unlock?.();
    expect(memory.tryLock(TOKEN)).toBeDefined();
  });

  test.each([
    ["14 seconds", 14_000n, false],
    ["16 seconds", 16_000n, true],
    ["30 days", 30n * 86_400_000n, true],
  ])("is locked by one thread at a time, for 15 seconds at most: after %s", (_name, elapsedMs, taken) => {
    const memory = new PinMemory();
    const start = 5_000_000_000n;
    const monotonic = vi.spyOn(process.hrtime, "bigint").mockReturnValue(start);
    memory.tryLock(TOKEN);
    monotonic.mockReturnValue(start + elapsedMs * 1_000_000n);
    expect(memory.tryLock(TOKEN) !== undefined).toBe(taken);
  });

  test("lets the tokens of an application log in at the same time: two hardly ever wait for each other", () => {
    const memory = new PinMemory();
    const tokens = Array.from({ length: 500 }, (_, index) => ({ label: "op", serial: `${index}` }));
    const locked = tokens.filter((token) => memory.tryLock(token) !== undefined);
    // 396 are expected, give or take 8.
    expect(locked.length).toBeGreaterThan(340);
  });

  test("is bounded: refusals that no longer count are replaced first, accepted PINs last", () => {
    const memory = new PinMemory();
    memory.accept(OTHER_TOKEN, "right");
    memory.refuse(TOKEN, "first");
    memory.accept(TOKEN, "right");
    for (let count = 0; count < 1_000; count += 1) memory.refuse({ label: "many", serial: String(count) }, "wrong");
    expect(memory.isRefused(TOKEN, "first")).toBe(false);
    expect(memory.isAccepted(OTHER_TOKEN, "right")).toBe(true);
    expect(memory.isRefused({ label: "many", serial: "999" }, "wrong")).toBe(true);
  });

  test("knows which PIN the token last accepted", () => {
    const memory = new PinMemory();
    expect(memory.isAccepted(TOKEN, "old")).toBeUndefined();
    memory.accept(TOKEN, "old");
    memory.accept(TOKEN, "new");
    expect([memory.isAccepted(TOKEN, "old"), memory.isAccepted(TOKEN, "new")]).toEqual([false, true]);
  });
});
