import { expect, test } from "vitest";
import { addUser, alone, createGate, generation, inside, removeUser, userCount } from "../src/gate.ts";

test("C_Finalize does not run while somebody is inside, and what it would have ended lives on", () => {
  const gate = createGate();
  let finalized = 0;
  const finalize = (): void => {
    finalized += 1;
  };
  expect(inside(gate, () => alone(gate, 10, finalize))).toBe(false);
  expect({ finalized, generation: generation(gate) }).toEqual({ finalized: 0, generation: 0 });
  expect(alone(gate, 10, finalize)).toBe(true);
  expect({ finalized, generation: generation(gate) }).toEqual({ finalized: 1, generation: 1 });
});

test("two do not finalise at the same time", () => {
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

test("the last of its users is told so", () => {
  const gate = createGate();
  addUser(gate);
  addUser(gate);
  expect(userCount(gate)).toBe(2);
  expect([removeUser(gate), removeUser(gate)]).toEqual([false, true]);
});
