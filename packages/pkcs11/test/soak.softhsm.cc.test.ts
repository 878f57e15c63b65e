import { spawn } from "node:child_process";
import { once } from "node:events";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { closeAllSessions, finalize } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

const MEBIBYTE = 1024 * 1024;
const at = useShimmedToken();

describe("20,000 signatures at 64 in flight", () => {
  const SIGNATURES = 20_000;
  const IN_FLIGHT = 64;
  const RECOVERY_MS = 35_000;

  test("are made while sessions are closed, the module is finalised and the token is away and back", async () => {
    const signer = await at.opener.open(at.base);
    const counts = new Map<string, number>();
    let signed = 0;
    let lastSigned = 0;
    const faultsOver = new AbortController();

    const caller = async (): Promise<void> => {
      while (signed < SIGNATURES || !faultsOver.signal.aborted) {
        const code = await outcome(signer);
        counts.set(code, (counts.get(code) ?? 0) + 1);
        if (code === "signed") {
          signed += 1;
          lastSigned = performance.now();
        } else {
          await pause(100);
        }
      }
    };
    const callers = Array.from({ length: IN_FLIGHT }, caller);
    const signedAgain = async (since: number): Promise<void> => {
      await until(() => lastSigned > since, RECOVERY_MS);
    };

    for (let round = 0; round < 5; round += 1) {
      await until(() => signed >= 500 * (round + 1), RECOVERY_MS);
      closeAllSessions(at.shim.module, at.hsm.tokenLabel);
      await signedAgain(performance.now());
    }
    await until(() => signed >= 5_000, RECOVERY_MS);
    finalize(at.shim.module);
    await signedAgain(performance.now());

    await until(() => signed >= 8_000, RECOVERY_MS);
    const tokens = join(at.hsm.directory, "tokens");
    await rename(tokens, `${tokens}-away`);
    await until(() => signer.health().status !== "ready");
    await pause(1_000);
    await rename(`${tokens}-away`, tokens);
    await signedAgain(performance.now());
    // The fresh start that found the token again was the last; from here on the next one would be 30 seconds away.
    closeAllSessions(at.shim.module, at.hsm.tokenLabel);
    await signedAgain(performance.now());
    faultsOver.abort();
    await Promise.all(callers);

    expect(counts.get("signed")).toBeGreaterThanOrEqual(SIGNATURES);
    expect([...counts.keys()].filter((code) => !["signed", "unavailable", "timeout"].includes(code))).toEqual([]);
    expect(at.shim.calls("C_Finalize")).toBeLessThanOrEqual(4);
    expect(at.shim.calls("C_Logout")).toBe(0);
    await until(() => signer.health().status === "ready");
  }, 240_000);
});

describe("200,000 signatures with garbage collection forced", () => {
  test("neither let memory grow nor leave handles behind", async () => {
    const { made, bad, samples } = await manySignatures(200_000, 64);
    expect({ made, bad }).toEqual({ made: 200_000, bad: 0 });
    expect(samples).toHaveLength(200);
    const tenth = (index: number): readonly Sample[] => samples.slice((index - 1) * 20, index * 20);
    const rss = (index: number): number => median(tenth(index).map((sample) => sample.rss));
    expect((rss(10) - rss(6)) / MEBIBYTE).toBeLessThanOrEqual(8);
    for (const what of ["files", "resources"] as const) {
      expect(median(tenth(10).map((sample) => sample[what]))).toBeLessThanOrEqual(
        median(tenth(6).map((sample) => sample[what])),
      );
    }
  }, 300_000);

  interface Sample {
    readonly rss: number;
    readonly files: number;
    readonly resources: number;
  }

  async function manySignatures(
    total: number,
    inFlight: number,
  ): Promise<{ made: number; bad: number; samples: readonly Sample[] }> {
    const program = fileURLToPath(new URL("programs/many-signatures.mjs", import.meta.url));
    const args = ["--expose-gc", program, JSON.stringify(at.base), String(total), String(inFlight)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await once(child, "close");
    return JSON.parse(output) as { made: number; bad: number; samples: readonly Sample[] };
  }

  function median(values: readonly number[]): number {
    return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
  }
});
