import { describe, expect, onTestFinished, test, vi } from "vitest";
import { whileInitialized } from "../src/pool/while-initialized.ts";
import { CommandError } from "../src/wire/command-error.ts";

const CKR_CRYPTOKI_NOT_INITIALIZED = 0x190;
const failed = (code: number): CommandError => new CommandError({ kind: "cryptoki", call: "C_GetInfo", code });

/** Work that finds the module finalized so many times, and what initializes the module: possible or not. */
function create(finalized: number, possible: readonly boolean[] = []) {
  const causes: unknown[] = [];
  let left = finalized;
  const work = async (): Promise<string> => {
    left -= 1;
    if (left >= 0) throw failed(CKR_CRYPTOKI_NOT_INITIALIZED);
    return "done";
  };
  const reinitialize = async (cause: unknown): Promise<boolean> => {
    causes.push(cause);
    return possible[causes.length - 1] ?? true;
  };
  return { causes, result: () => whileInitialized({ reinitialize }, work) };
}

describe("work that needs the initialized module", () => {
  test.each([0, 1, 2, 5])("is done after others finalized the module %i times", async (count) => {
    const { causes, result } = create(count);
    expect(await result()).toBe("done");
    expect(causes).toMatchObject(Array.from({ length: count }, () => ({ code: CKR_CRYPTOKI_NOT_INITIALIZED })));
  });

  test("is done later if the module may not be initialized yet", async () => {
    const { causes, result } = create(3, [true, false, false]);
    expect(await result()).toBe("done");
    expect(causes).toHaveLength(3);
  });

  test("fails with the code of the module that stays finalized, after three seconds", async () => {
    vi.useFakeTimers({ toFake: ["performance", "Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const reinitialize = async (): Promise<boolean> => {
      vi.advanceTimersByTime(500);
      return true;
    };
    let tries = 0;
    const work = async (): Promise<never> => {
      tries += 1;
      throw failed(CKR_CRYPTOKI_NOT_INITIALIZED);
    };
    const result = whileInitialized({ reinitialize }, work);
    await expect(result).rejects.toMatchObject({ code: CKR_CRYPTOKI_NOT_INITIALIZED });
    expect(tries).toBe(8);
  });

  test("fails at once with any other error", async () => {
    const reinitialize = vi.fn<() => Promise<boolean>>();
    const result = whileInitialized({ reinitialize }, async () => Promise.reject(failed(0x30)));
    await expect(result).rejects.toMatchObject({ code: 0x30 });
    expect(reinitialize).not.toHaveBeenCalled();
  });
});
