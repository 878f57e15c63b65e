import { expect, onTestFinished, test, vi } from "vitest";
import {
  addUser,
  alone,
  claimRenewal,
  createGate,
  inside,
  isInitializedWith,
  isSameGate,
  removeUser,
  sinceRenewal,
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

test("a gate knows what its module was initialized with", () => {
  expect(isInitializedWith(createGate(), undefined)).toBe(true);
  expect(isInitializedWith(createGate(), "configdir='/a'")).toBe(false);
  expect(isInitializedWith(createGate("configdir='/a'"), "configdir='/a'")).toBe(true);
  expect(isInitializedWith(createGate("configdir='/a'"), "configdir='/b'")).toBe(false);
  expect(isInitializedWith(createGate("configdir='/a'"), undefined)).toBe(false);
});
