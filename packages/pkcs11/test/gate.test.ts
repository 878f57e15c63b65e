import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  addUser,
  alone,
  claimRenewal,
  createGate,
  generation,
  inside,
  isInitializedWith,
  isOwned,
  isSameGate,
  removeUser,
  setOwned,
  sinceRenewal,
  startGeneration,
  type Gate,
  userCount,
} from "../src/wire/gate.ts";

test("C_Finalize does not run while another thread is inside", () => {
  const gate = createGate();
  let finalized = 0;
  const finalize = (): void => {
    finalized += 1;
  };
  expect(inside(gate, () => alone(gate, 10, finalize))).toBe(false);
  expect(finalized).toBe(0);
  expect(alone(gate, 10, finalize)).toBe(true);
  expect(finalized).toBe(1);
});

test("two do not finalize at the same time", () => {
  const gate = createGate();
  let inner: boolean | undefined;
  expect(
    alone(gate, 10, () => {
      inner = alone(gate, 10, () => {});
    }),
  ).toBe(true);
  expect(inner).toBe(false);
  expect(inside(gate, () => "open again")).toBe("open again");
});

test("calls and C_Finalize that throw leave the gate as it was", () => {
  const gate = createGate();
  const fail = (): never => {
    throw new Error("CKR");
  };
  expect(() => inside(gate, fail)).toThrow("CKR");
  expect(() => alone(gate, 10, fail)).toThrow("CKR");
  expect(alone(gate, 10, () => {})).toBe(true);
});

test("the last user is told that it is the last, and no thread joins after it", () => {
  const gate = createGate();
  expect(addUser(gate)).toBe(true);
  expect(userCount(gate)).toBe(2);
  expect([removeUser(gate), removeUser(gate)]).toEqual([false, true]);
  expect(addUser(gate)).toBe(false);
  expect(userCount(gate)).toBe(0);
});

test("is recognized in another thread, where its memory is another object", () => {
  const gate = createGate();
  const elsewhere = new Int32Array(gate.buffer);
  expect(isSameGate(gate, elsewhere)).toBe(true);
  expect(isSameGate(gate, createGate())).toBe(false);
});

test("one of its users takes the fresh start, and the next one comes after the interval", () => {
  const gate = createGate();
  expect(sinceRenewal(gate)).toBe(Number.POSITIVE_INFINITY);
  expect([claimRenewal(gate, 60_000), claimRenewal(gate, 60_000)]).toEqual([true, false]);
  expect(sinceRenewal(gate)).toBeLessThan(60_000);
  expect(claimRenewal(gate, 0)).toBe(true);
});

test("the next fresh start comes after the interval by either clock, and is taken once", () => {
  const gate = createGate();
  let wall = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => wall);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(claimRenewal(gate, 30_000)).toBe(true);
  wall += 29_000;
  expect(claimRenewal(gate, 30_000)).toBe(false);
  wall += 1_000;
  expect(sinceRenewal(gate)).toBeGreaterThanOrEqual(30_000);
  expect([claimRenewal(gate, 30_000), claimRenewal(gate, 30_000)]).toEqual([true, false]);
  wall -= 3_600_000;
  expect(sinceRenewal(gate)).toBeGreaterThanOrEqual(0);
  expect(sinceRenewal(gate)).toBeLessThan(30_000);
});

test.each([1, 30, 49])("a fresh start %i days ago is over, and the next one is due", (days) => {
  const gate = createGate();
  const start = 5_000_000_000n;
  const monotonic = vi.spyOn(process.hrtime, "bigint").mockReturnValue(start);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(claimRenewal(gate, 30_000)).toBe(true);
  monotonic.mockReturnValue(start + BigInt(days) * 86_400_000_000_000n);
  expect(sinceRenewal(gate)).toBe(days * 86_400_000);
  expect(claimRenewal(gate, 30_000)).toBe(true);
});

test("a fresh start is one also at the moment when the clock's 32 bits are 0", () => {
  const gate = createGate();
  const monotonic = vi.spyOn(process.hrtime, "bigint").mockReturnValue(0n);
  const wall = vi.spyOn(Date, "now").mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(claimRenewal(gate, 30_000)).toBe(true);
  monotonic.mockReturnValue(30_000_000_000n);
  wall.mockReturnValue(30_000);
  expect(sinceRenewal(gate)).toBe(30_000);
  wall.mockReturnValue(0);
  expect(sinceRenewal(gate)).toBe(29_999);
});

test("a gate knows what its module was initialized with", () => {
  expect(isInitializedWith(createGate(), undefined)).toBe(true);
  expect(isInitializedWith(createGate(), "configdir='/a'")).toBe(false);
  expect(isInitializedWith(createGate("configdir='/a'"), "configdir='/a'")).toBe(true);
  expect(isInitializedWith(createGate("configdir='/a'"), "configdir='/b'")).toBe(false);
  expect(isInitializedWith(createGate("configdir='/a'"), undefined)).toBe(false);
});

describe("each number of a gate has its own place", () => {
  const PARAMETERS = "configdir='/a'";
  /** Everything that its users read. */
  const readingsOf = (gate: Gate, sameAs: Gate): object => ({
    users: userCount(gate),
    isOwned: isOwned(gate),
    generation: generation(gate),
    isRenewed: sinceRenewal(gate) < Number.POSITIVE_INFINITY,
    isSame: isSameGate(gate, sameAs),
    hasParameters: isInitializedWith(gate, PARAMETERS),
  });
  const fresh = { users: 1, isOwned: false, generation: 0, isRenewed: false, isSame: true, hasParameters: true };
  /** A gate, and a copy of it that nothing changes later. */
  const gateAndCopy = (): [Gate, Gate] => {
    const gate = createGate(PARAMETERS);
    const copy = new Int32Array(new SharedArrayBuffer(gate.byteLength));
    copy.set(gate);
    return [gate, copy];
  };

  test.each<[what: string, write: (gate: Gate) => unknown, change: object]>([
    ["a user that joins", addUser, { users: 2 }],
    ["a user that leaves", removeUser, { users: 0 }],
    ["the right to finalize", (gate) => setOwned(gate, true), { isOwned: true }],
    ["a new life of the module", startGeneration, { generation: 1 }],
    ["a fresh start", (gate) => claimRenewal(gate, 0), { isRenewed: true }],
  ])("%s changes nothing else", (_what, write, change) => {
    const [gate, copy] = gateAndCopy();
    write(gate);
    expect(readingsOf(gate, copy)).toEqual({ ...fresh, ...change });
  });

  test.each<[what: string, run: (gate: Gate, read: () => void) => unknown]>([
    ["a call inside the module", inside],
    ["C_Finalize", (gate, read) => alone(gate, 10, read)],
  ])("%s changes none of them", (_what, run) => {
    const [gate, copy] = gateAndCopy();
    let during: object | undefined;
    run(gate, () => {
      during = readingsOf(gate, copy);
    });
    expect([during, readingsOf(gate, copy)]).toEqual([fresh, fresh]);
  });

  test("and the right to finalize can be taken back", () => {
    const gate = createGate();
    setOwned(gate, true);
    setOwned(gate, false);
    expect(isOwned(gate)).toBe(false);
  });
});
