import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTpm2, type Tpm2Token } from "@signpost/test-backends/tpm2";
import { otherCodeTests } from "./support/other-code.ts";
import { createOpener, type GuardedOptions, outcome, until } from "./support/signing.ts";

const opener = createOpener();
let tpm: Tpm2Token;
let base: GuardedOptions;

beforeAll(async () => {
  tpm = await startTpm2();
  await tpm.generateKey("k1", "01");
  // One TPM signs one thing at a time.
  base = { module: tpm.module, token: tpm.tokenLabel, object: "k1", pin: tpm.pin, sessions: 2 };
});
afterAll(() => tpm.stop());

describe("a signer on a TPM", () => {
  test("leaves no handle in the TPM when it is closed", async () => {
    // The module keeps one of its objects there, regardless of who used it.
    const before = await tpm.leftHandles();
    const signer = await opener.open(base);
    expect(await outcome(signer)).toBe("signed");
    await opener.closeAll();
    expect(await tpm.leftHandles()).toEqual(before);
  });

  test("signs without the event loop waiting for it", async () => {
    const signer = await opener.open(base);
    let turns = 0;
    const counter = setInterval(() => (turns += 1), 1);
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => outcome(signer)));
    clearInterval(counter);
    expect(new Set(outcomes)).toEqual(new Set(["signed"]));
    // Forty signatures of a TPM take some hundred milliseconds: blocked, there would be a turn for each at most.
    expect(turns).toBeGreaterThan(60);
    await opener.closeAll();
  });

  otherCodeTests(
    () => ({ module: tpm.module, token: tpm.tokenLabel }),
    () => opener.open(base),
  );

  test("signs again with the same key after the TPM was stopped and started", async () => {
    const signer = await opener.open(base);
    expect(await outcome(signer)).toBe("signed");
    await tpm.restart();
    await until(async () => (await outcome(signer)) === "signed", 40_000);
    await until(() => signer.health().status === "ready");
    await opener.closeAll();
  }, 90_000);

  test("a wrong PIN is tried once", async () => {
    await expect(opener.open({ ...base, pin: "11111111" })).rejects.toMatchObject({ code: "pin_incorrect" });
    const signer = await opener.open(base);
    expect(await outcome(signer)).toBe("signed");
    await opener.closeAll();
  });
});
