import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { azureKeyVaultKeys } from "@signpost/azure-key-vault";
import type { HttpApi } from "../src/http-api.ts";

const closing = vi.hoisted(() => vi.fn<() => Promise<void>>());
const answer = vi.hoisted(() => vi.fn<() => Promise<never>>());
vi.mock("../src/http-api.ts", () => {
  const createHttpApi = async (): Promise<HttpApi> => ({
    api: { getKey: answer, sign: answer, listKeyVersions: answer },
    trouble: () => undefined,
    close: closing,
  });
  return { createHttpApi };
});

const KEY = "https://op.vault.azure.net/keys/op";

beforeEach(() => {
  vi.useFakeTimers();
  answer.mockRejectedValue(new SignerError("key_not_found", "no such key"));
});
afterEach(() => {
  vi.useRealTimers();
  closing.mockReset();
});

/** What opening the keys has rejected with so far. */
function failing(): readonly unknown[] {
  const errors: unknown[] = [];
  azureKeyVaultKeys({ key: KEY, credential: () => "a-token" }).catch((error: unknown) => errors.push(error));
  return errors;
}

/** Lets everything run that waits for no timer. */
const turn = async (): Promise<void> => {
  await vi.advanceTimersByTimeAsync(0);
};

const NOT_FOUND = [expect.objectContaining({ code: "key_not_found", uri: "azurekms:///op.vault.azure.net/keys/op" })];

test("keys whose list fails are rejected once everything is closed", async () => {
  let close = (): void => undefined;
  closing.mockReturnValue(new Promise<void>((resolve) => (close = resolve)));
  const errors = failing();
  await turn();
  expect(closing).toHaveBeenCalledTimes(1);
  expect(errors).toEqual([]);
  close();
  await turn();
  expect(errors).toEqual(NOT_FOUND);
});

test("closing that hangs keeps the error of the list for a second", async () => {
  closing.mockReturnValue(new Promise<never>(() => undefined));
  const errors = failing();
  await vi.advanceTimersByTimeAsync(999);
  expect(errors).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(errors).toEqual(NOT_FOUND);
});

test("closing that fails does not replace the error of the list", async () => {
  closing.mockRejectedValue(new Error("the connection is gone"));
  const errors = failing();
  await turn();
  expect(errors).toEqual(NOT_FOUND);
});

test("a list that gets no answer in time says of which key", async () => {
  closing.mockResolvedValue();
  answer.mockReturnValue(new Promise(() => undefined));
  const errors = failing();
  await vi.advanceTimersByTimeAsync(5000);
  const uri = "azurekms:///op.vault.azure.net/keys/op";
  expect(errors).toMatchObject([{ code: "timeout", uri, message: `${uri}: no answer within 2000 ms` }]);
});
