import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { openPkcs11Signer } from "@signpost/pkcs11";
import { moduleChild } from "./support/isolation.ts";
import { childrenOf, isRunning } from "./support/processes.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { type GuardedOptions, outcome, sha256, until } from "./support/signing.ts";

/** Nothing here is slow by itself; a machine may be. Milliseconds. */
const PATIENT = { attemptTimeoutMs: 10_000, deadlineMs: 40_000 };
/** close() waits three seconds for the module, and the child's end. Milliseconds. */
const CLOSED_MS = 10_000;

const at = useShimmedToken();

const isolated = (options: Partial<GuardedOptions> = {}): GuardedOptions => ({
  ...at.base,
  isolation: "process",
  ...options,
});

/** How often a digest was given to C_Sign. */
function signed(digest: Buffer): number {
  return at.shim.digests().filter((other) => other === digest.toString("hex")).length;
}

describe("a call that hangs under isolation: process", () => {
  test("does not take with it what other sessions are doing", async () => {
    const signer = await at.opener.open(isolated({ policy: PATIENT }));
    const child = await moduleChild();
    // The second attempt is made before the hang is known, and runs while the child is to be killed.
    at.shim.hang("C_Sign");
    at.shim.delay("C_Sign", 400);
    expect(await outcome(signer)).toBe("signed");
    await until(() => !isRunning(child));
    at.shim.delay("C_Sign", 0);
    await until(() => signer.health().status === "ready");
  });

  test("is killed with its child though more calls come, which go to the next", async () => {
    const signer = await at.opener.open(isolated({ policy: PATIENT }));
    const child = await moduleChild();
    at.shim.hang("C_Sign");
    const callers = Array.from({ length: 4 }, async () => {
      const outcomes = [];
      while (isRunning(child)) outcomes.push(await outcome(signer));
      return [...outcomes, await outcome(signer)];
    });
    expect(new Set((await Promise.all(callers)).flat())).toEqual(new Set(["signed"]));
  });

  test.each(["C_CloseSession", "C_Finalize"] as const)("in %s does not keep close() waiting", async (call) => {
    const signer = await at.opener.open(isolated());
    const child = await moduleChild();
    at.shim.hang(call, 100);
    const before = performance.now();
    await signer.close();
    expect(performance.now() - before).toBeLessThan(CLOSED_MS);
    await until(() => !isRunning(child));
    at.shim.clear();
    expect(await outcome(await at.opener.open(isolated()))).toBe("signed");
  });

  test("in C_CloseSession costs the signer of another token a child, and nothing else", async () => {
    const other = await at.hsm.addToken();
    await other.generateKey({ label: "k1", id: "01" });
    const staying = await at.opener.open(isolated({ token: other.tokenLabel, pin: other.pin, policy: PATIENT }));
    const leaving = await at.opener.open(isolated());
    const child = await moduleChild();
    at.shim.hang("C_CloseSession");
    const before = performance.now();
    await leaving.close();
    expect(performance.now() - before).toBeLessThan(CLOSED_MS);
    await until(() => !isRunning(child));
    await until(async () => (await outcome(staying)) === "signed" && staying.health().status === "ready");
  });
});

describe("time limits under isolation: process", () => {
  test("hold while the child is started for the first time", async () => {
    at.shim.hang("C_Initialize");
    await expect(at.opener.open(isolated({ openDeadlineMs: 500 }))).rejects.toMatchObject({ code: "timeout" });
    await expect(at.opener.open(isolated({ signal: AbortSignal.timeout(300) }))).rejects.toMatchObject({
      code: "aborted",
    });
    at.shim.clear();
    await until(() => childrenOf().length === 0);
  });

  test("hold while the next child is started, which then gets no call without a waiting caller", async () => {
    const signer = await at.opener.open(isolated({ policy: { deadlineMs: 500 } }));
    at.shim.delay("C_Initialize", 1_500);
    process.kill(await moduleChild(), "SIGKILL");
    await until(() => signer.health().status !== "ready");
    const late = sha256(Buffer.from("no caller waits"));
    await expect(signer.sign(late)).rejects.toMatchObject({ code: "timeout" });
    const aborted = signer.sign(late, { signal: AbortSignal.timeout(100) });
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    at.shim.delay("C_Initialize", 0);
    await until(async () => (await outcome(signer)) === "signed");
    expect(signed(late)).toBe(0);
  });

  test("take a request out of the child's queue", async () => {
    const signer = await openPkcs11Signer({ ...isolated({ sessions: 1 }), policy: false });
    at.shim.delay("C_Sign", 600);
    const first = signer.sign(sha256(Buffer.from("waits")));
    await until(() => at.shim.counter("inFlight") === 1);
    const late = sha256(Buffer.from("waits no longer"));
    await expect(signer.sign(late, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ code: "aborted" });
    await first;
    await signer.sign(sha256(Buffer.from("comes behind it")));
    expect(signed(late)).toBe(0);
    await signer.close();
  });

  test("C_Sign is called twice for a request at most, whatever becomes of the children", async () => {
    const signer = await at.opener.open(isolated({ policy: PATIENT }));
    const digest = sha256(Buffer.from("counted"));
    at.shim.delay("C_Sign", 500);
    const failing = expect(signer.sign(digest)).rejects.toMatchObject({ code: "unavailable" });
    for (const times of [1, 2]) {
      await until(() => signed(digest) === times);
      process.kill(await moduleChild(), "SIGKILL");
    }
    await failing;
    at.shim.delay("C_Sign", 0);
    await until(async () => (await outcome(signer)) === "signed");
    expect(signed(digest)).toBe(2);
  });
});

describe("the next child", () => {
  test("is not started because this process was busy itself", async () => {
    const signer = await at.opener.open(isolated({ policy: PATIENT }));
    const child = await moduleChild();
    at.shim.delay("C_Sign", 7_500);
    const signing = outcome(signer);
    await until(() => at.shim.counter("inFlight") === 1);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 7_000);
    expect(await signing).toBe("signed");
    expect(await moduleChild()).toBe(child);
  });

  test("is tried again when the system has refused to start it", async () => {
    const signer = await at.opener.open(isolated());
    // More than an environment may hold.
    process.env["SIGNPOST_TEST_LARGE"] = "x".repeat(256 * 1024);
    try {
      process.kill(await moduleChild(), "SIGKILL");
      await until(async () => (await outcome(signer)) === "unavailable");
      expect(signer.health().notes).toContainEqual(expect.stringContaining("could not be started"));
    } finally {
      delete process.env["SIGNPOST_TEST_LARGE"];
    }
    await until(async () => (await outcome(signer)) === "signed");
  });

  test("serves one token while another is away, which is found again when it is back", async () => {
    const tokens = join(at.hsm.directory, "tokens");
    const before = await readdir(tokens);
    const other = await at.hsm.addToken();
    await other.generateKey({ label: "k1", id: "01" });
    const [folder = ""] = (await readdir(tokens)).filter((name) => !before.includes(name));
    const stays = await at.opener.open(isolated({ policy: PATIENT }));
    const goes = await at.opener.open(isolated({ token: other.tokenLabel, pin: other.pin }));

    await rename(join(tokens, folder), join(at.hsm.directory, folder));
    process.kill(await moduleChild(), "SIGKILL");
    await until(async () => (await outcome(stays)) === "signed" && stays.health().status === "ready");
    await until(async () => (await outcome(goes)) === "unavailable" && goes.health().status === "down");
    await expect(goes.sign(sha256(Buffer.from("away")))).rejects.toMatchObject({
      code: "unavailable",
      transient: true,
      message: expect.stringMatching(`the token "${other.tokenLabel}" .* is not found again; the module has "`),
    });
    const child = await moduleChild();
    for (let round = 0; round < 20; round += 1) expect(await outcome(stays)).toBe("signed");

    await rename(join(at.hsm.directory, folder), join(tokens, folder));
    await until(async () => (await outcome(goes)) === "signed");
    expect(await moduleChild()).toBe(child);
  });

  test("opens a new signer on one token while the only other one is away", async () => {
    const tokens = join(at.hsm.directory, "tokens");
    const before = await readdir(tokens);
    const other = await at.hsm.addToken();
    await other.generateKey({ label: "k1", id: "01" });
    const [folder = ""] = (await readdir(tokens)).filter((name) => !before.includes(name));
    const goes = await at.opener.open(isolated({ token: other.tokenLabel, pin: other.pin }));

    await rename(join(tokens, folder), join(at.hsm.directory, folder));
    process.kill(await moduleChild(), "SIGKILL");
    await until(() => goes.health().notes.some((note) => note.includes("is not found again")));
    // Long enough for a child that is given up.
    await pause(200);
    const stays = await at.opener.open(isolated());
    expect(await outcome(stays)).toBe("signed");
  });
});
