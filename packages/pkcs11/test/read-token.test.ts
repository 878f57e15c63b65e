import { expect, test } from "vitest";
import type { Binding, TokenInfo } from "../src/cryptoki/binding.ts";
import { readToken } from "../src/worker/token-list.ts";

const CKF_TOKEN_INITIALIZED = 0x400;
const named = { label: "op".padEnd(32), serialNumber: "1".padEnd(16), flags: CKF_TOKEN_INITIALIZED };
const nameless = { ...named, label: " ".repeat(32), serialNumber: " ".repeat(16) };

function moduleThatTells(...answers: readonly (typeof named)[]): { binding: Binding; readings: () => number } {
  let readings = 0;
  const C_GetTokenInfo = (): TokenInfo => answers[Math.min(readings++, answers.length - 1)] as TokenInfo;
  return { binding: { C_GetTokenInfo } as unknown as Binding, readings: () => readings };
}

test.each([
  ["with a name is read once", [named], named, 1],
  ["that has lost its name for a moment is read again", [nameless, named], named, 2],
  ["that has none is taken as it is", [nameless], nameless, 3],
  ["that is not initialized has none yet", [{ ...nameless, flags: 0 }], { ...nameless, flags: 0 }, 1],
])("a token %s", (_what, answers, told, count) => {
  const { binding, readings } = moduleThatTells(...answers);
  expect(readToken(binding, Buffer.alloc(8))).toEqual(told);
  expect(readings()).toBe(count);
});
