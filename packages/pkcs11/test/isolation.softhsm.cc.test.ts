import { describe, expect, test } from "vitest";
import type { Signer } from "@signpost/core";
import { moduleChild } from "./support/isolation.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

const at = useShimmedToken();

/** The first outcome in the next child: until then requests wait for it, for longer under load than their deadline. */
async function settledOutcome(signer: Signer): Promise<string> {
  const passing = ["unavailable", "timeout"];
  let last = "unavailable";
  await until(async () => !passing.includes((last = await outcome(signer))));
  return last;
}

describe("isolation: process", () => {
  test("a call that hangs ends the child, and the request succeeds in the next one", async () => {
    // Under load a child takes longer to start than the attempt timeout lets a request wait for it by default.
    const policy = { attemptTimeoutMs: 6_000, deadlineMs: 30_000 };
    const signer = await at.opener.open({ ...at.base, isolation: "process", policy });
    at.shim.hang("C_Sign");
    expect(await outcome(signer)).toBe("signed");
    await until(() => signer.health().notes.some((note) => note.includes("restarted after it ended: a call hung")));
    await until(() => signer.health().status === "ready");
    expect(await outcome(signer)).toBe("signed");
  });

  test("a module that crashes ends only its child", async () => {
    // A busy machine takes long to start the next child.
    const signer = await at.opener.open({ ...at.base, isolation: "process", policy: { deadlineMs: 30_000 } });
    at.shim.set("crash", true);
    const failing = outcome(signer);
    await until(() => at.shim.calls("C_Sign") > 1);
    at.shim.set("crash", false);
    expect(["signed", "unavailable"]).toContain(await failing);
    await until(async () => (await outcome(signer)) === "signed");
    expect(signer.health().notes).toContainEqual(expect.stringMatching(/restarted after it ended: SIG/));
  });

  test("a module that crashes immediately is restarted less and less often", async () => {
    const signer = await at.opener.open({ ...at.base, isolation: "process", policy: { deadlineMs: 600 } });
    at.shim.set("crash", true);
    const end = performance.now() + 3_500;
    while (performance.now() < end) expect(["unavailable", "timeout"]).toContain(await outcome(signer));
    expect(signer.health().status).not.toBe("ready");
    // At once, after one second and after two more: each start makes one C_Sign, the proof of the key.
    expect(at.shim.calls("C_Sign")).toBeLessThanOrEqual(6);
    at.shim.set("crash", false);
    await until(async () => (await outcome(signer)) === "signed");
  });

  test("the same key must be there after a restart", async () => {
    await at.hsm.generateKey({ label: "moved", id: "3a" });
    const signer = await at.opener.open({ ...at.base, object: "moved", isolation: "process" });
    for (const type of ["privkey", "pubkey"]) await at.hsm.pkcs11Tool("--delete-object", "--type", type, "--id", "3a");
    await at.hsm.generateKey({ label: "moved", id: "3a" });
    at.shim.hang("C_Sign");
    await until(async () => (await outcome(signer)) === "wrong_key");
    expect(await outcome(signer)).toBe("wrong_key");
  });

  test("it must, even if an old public object is left over: the token's public objects are not trusted", async () => {
    await at.hsm.generateKey({ label: "left-over", id: "3d" });
    const signer = await at.opener.open({ ...at.base, object: "left-over", isolation: "process" });
    await at.hsm.pkcs11Tool("--delete-object", "--type", "privkey", "--id", "3d");
    await at.hsm.generateKey({ label: "left-over", id: "3e" });
    await at.hsm.pkcs11Tool("--type", "privkey", "--id", "3e", "--set-id", "3d");
    process.kill(await moduleChild(), "SIGKILL");
    expect(await settledOutcome(signer)).toBe("wrong_key");
  });

  test("a key whose public object is gone is proven by a signature", async () => {
    await at.hsm.generateKey({ label: "bared", id: "3b" });
    const signer = await at.opener.open({ ...at.base, object: "bared", isolation: "process" });
    await at.hsm.pkcs11Tool("--delete-object", "--type", "pubkey", "--id", "3b");
    process.kill(await moduleChild(), "SIGKILL");
    expect(await settledOutcome(signer)).toBe("signed");
  });

  test("a new second key with its label is not mistaken for it", async () => {
    await at.hsm.generateKey({ label: "rotated", id: "3c01" });
    const signer = await at.opener.open({ ...at.base, object: "rotated", isolation: "process" });
    await at.hsm.generateKey({ label: "rotated", id: "3c02" });
    process.kill(await moduleChild(), "SIGKILL");
    expect(await settledOutcome(signer)).toBe("signed");
  });

  test("signers of one module share a child, and its errors keep their types", async () => {
    const first = await at.opener.open({ ...at.base, isolation: "process" });
    const second = await at.opener.open({ ...at.base, isolation: "process" });
    expect(await Promise.all([outcome(first), outcome(second)])).toEqual(["signed", "signed"]);
    await until(() => at.shim.counter("openSessions") === 4);
    expect(at.shim.calls("C_Initialize")).toBe(1);
    expect(second.health().notes).toEqual([]);
    await expect(at.opener.open({ ...at.base, object: "none", isolation: "process" })).rejects.toMatchObject({
      name: "SignerError",
      code: "key_not_found",
    });
    await first.close();
    expect(await outcome(second)).toBe("signed");
  });
});
