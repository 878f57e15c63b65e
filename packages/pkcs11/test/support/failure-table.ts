import { describe, expect, test } from "vitest";
import type { Absence } from "./backend-tokens.ts";
import { outputOf, startProgram } from "./programs.ts";
import { RECOVERY_MS, type ShimmedBackend } from "./shimmed-backend.ts";
import { openingOutcome, outcome, sha256, until } from "./signing.ts";
import type { KeyKind } from "./token-user.ts";

/**
 * How a signer meets the failures of its token and of other code in the process, on one module. `absences`: the ways in which
 * the token goes away, by name.
 */
export function failureTests(at: ShimmedBackend, absences: readonly string[]): void {
  describe("failures that go on", () => {
    test("C_Sign is called at most twice for a request", async () => {
      const signer = await at.openWhole();
      at.shim.fail("C_Sign", 0xb3);
      const before = at.shim.digests().length;
      const digests = Array.from({ length: 8 }, (_, index) => sha256(Buffer.from([index])));
      const codes = await Promise.all(digests.map((digest) => openingOutcome(signer.sign(digest))));
      expect(codes).toEqual(Array(8).fill("unavailable"));
      const sent = at.shim.digests().slice(before);
      for (const digest of digests) {
        expect(sent.filter((other) => other === digest.toString("hex")).length).toBeLessThanOrEqual(2);
      }
      at.shim.clear();
      await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready", RECOVERY_MS);
    });

    test("many requests that fail at once share one fresh start, and none is lost", async () => {
      const signer = await at.openWhole();
      at.shim.fail("C_Sign", 0x30, { times: at.backend.sessions });
      const codes = await Promise.all(Array.from({ length: 20 }, () => outcome(signer)));
      if (!at.backend.instances) expect(new Set(codes)).toEqual(new Set(["signed"]));
      await at.expectSigned(signer);
      expect(at.shim.counter("finalizeInFlight")).toBe(0);
    });

    test("no more is asked of a module that gives a fault every third time", async () => {
      const signer = await at.openWhole();
      at.shim.fail("C_Sign", 0xb3, { every: 3 });
      const codes = await Promise.all(Array.from({ length: 30 }, () => outcome(signer)));
      expect(codes.filter((code) => code !== "signed" && code !== "unavailable")).toEqual([]);
      expect(codes).toContain("signed");
      at.shim.clear();
      await until(async () => (await outcome(signer)) === "signed" && signer.health().status === "ready", RECOVERY_MS);
      await until(() => at.shim.counter("openSessions") === at.backend.sessions, RECOVERY_MS);
    });
  });

  describe("a call that hangs", () => {
    test.each(["C_Sign", "C_SignInit"] as const)(
      "in %s: timeout in time, others sign, and all is well once it has come back",
      async (name) => {
        const signer = await at.openWhole({ policy: { maxAttempts: 1 } });
        at.shim.hang(name);
        expect(await outcome(signer)).toBe("timeout");
        await until(async () => (await outcome(signer)) === "signed");
        // The pool's own limit starts with the call, after the caller's.
        await until(() => signer.health().status === "down");
        expect(at.shim.calls("C_Finalize")).toBe(0);
        at.shim.release();
        await until(() => signer.health().status === "ready", RECOVERY_MS);
        await until(() => at.shim.counter("openSessions") === at.backend.sessions, RECOVERY_MS);
        expect(await outcome(signer)).toBe("signed");
      },
    );
  });

  describe("other code in the process", () => {
    const acts = [
      ["closes all sessions", "closeAllSessions"],
      ["logs everybody out", "logOut"],
      ["finalizes the module", "finalize"],
    ] as const;

    test.each(acts)("%s: signing goes on, and the first request is made", async (_what, act) => {
      const signer = await at.openWhole();
      at.otherCode[act]();
      await at.expectSigned(signer);
      const codes = await Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
      expect(new Set(codes)).toEqual(new Set(["signed"]));
      await until(() => signer.health().status === "ready", RECOVERY_MS);
      await until(() => at.shim.counter("openSessions") === at.backend.sessions, RECOVERY_MS);
    });

    test.each(acts)(
      "%s under signatures in flight: nothing but unavailable, and signing goes on",
      async (_what, act) => {
        const signer = await at.openWhole();
        const codes = Array.from({ length: 24 }, () => outcome(signer));
        await codes[0];
        at.otherCode[act]();
        for (const code of await Promise.all(codes)) expect(["signed", "unavailable"]).toContain(code);
        await until(
          async () => (await outcome(signer)) === "signed" && signer.health().status === "ready",
          RECOVERY_MS,
        );
      },
    );
  });

  describe("the token", () => {
    test.each(absences)("%s, and is back: unavailable meanwhile, signed again within 35 seconds", async (what) => {
      const absence = at.backend.absences.find((other) => other.what === what) as Absence;
      const signer = await at.openWhole();
      await absence.away(at.shim);
      const seen = new Set<string>();
      await until(async () => {
        seen.add(await outcome(signer));
        return signer.health().status === "down";
      });
      expect([...seen].filter((code) => !["signed", "unavailable", "timeout"].includes(code))).toEqual([]);
      await absence.back(at.shim);
      await until(async () => (await outcome(signer)) === "signed", RECOVERY_MS);
      await until(() => signer.health().status === "ready", RECOVERY_MS);
    });

    test("that is not there is key_not_found, and the ones that are get listed", async () => {
      await expect(at.opener.open({ ...at.base, token: "none" })).rejects.toMatchObject({
        code: "key_not_found",
        message: expect.stringContaining(JSON.stringify(at.backend.token)) as string,
      });
    });

    test("a wrong PIN is tried once, however many signers are opened", async () => {
      const wrong = { ...at.base, pin: "11111111" };
      const codes = await Promise.all(Array.from({ length: 3 }, () => openingOutcome(at.opener.open(wrong))));
      expect(codes).toEqual(Array(3).fill("pin_incorrect"));
      for (const isolation of ["thread", "process"] as const)
        expect(await openingOutcome(at.opener.open({ ...wrong, isolation }))).toBe("pin_incorrect");
      expect(at.shim.calls("C_Login")).toBe(1);
      expect(await outcome(await at.opener.open(at.base))).toBe("signed");
    });
  });

  describe("the key", () => {
    test.each<KeyKind>(["P-384", "RSA"])("of another kind (%s) is unsupported_key", async (kind) => {
      const name = { label: `foreign-${kind}`, id: "f0" };
      at.asUser((user) => user.generateKey(kind, name));
      expect(await openingOutcome(at.opener.open({ ...at.base, object: name.label }))).toBe("unsupported_key");
      at.asUser((user) => user.destroy(name.label));
    });

    test("that is not there is key_not_found, and one of two with its label ambiguous_key, both listed", async () => {
      for (const id of ["a1", "a2"]) at.asUser((user) => user.generateKey("P-256", { label: "twin", id }));
      await expect(at.opener.open({ ...at.base, object: "twin" })).rejects.toMatchObject({
        code: "ambiguous_key",
        message: expect.stringMatching(/id a1.*id a2|id a2.*id a1/) as string,
      });
      expect(await outcome(await at.opener.open({ ...at.base, object: "twin", id: Buffer.from([0xa2]) }))).toBe(
        "signed",
      );
      await at.opener.closeAll();
      at.asUser((user) => user.destroy("twin"));
      expect(await openingOutcome(at.opener.open({ ...at.base, object: "twin" }))).toBe("key_not_found");
    });

    test("without a public half on the token is opened with one that the caller gives", async () => {
      at.asUser((user) => user.generateKey("P-256", { label: "lone", id: "b1" }));
      const { publicKey } = await at.opener.open({ ...at.base, object: "lone" });
      await at.opener.closeAll();
      at.asUser((user) => user.destroy("lone", "public"));
      expect(await outcome(await at.opener.open({ ...at.base, object: "lone", publicKey }))).toBe("signed");
      const other = await at.opener.open(at.base);
      expect(await openingOutcome(at.opener.open({ ...at.base, object: "lone", publicKey: other.publicKey }))).toBe(
        "wrong_key",
      );
      await at.opener.closeAll();
      at.asUser((user) => user.destroy("lone"));
    });

    test("that is deleted is unavailable until the module was initialized again, then key_not_found", async () => {
      at.asUser((user) => user.generateKey("P-256", { label: "gone", id: "c1" }));
      const signer = await at.openWhole({ object: "gone" });
      at.asUser((user) => user.destroy("gone"));
      const seen = new Set<string>();
      await until(async () => {
        seen.add(await outcome(signer));
        return seen.has("key_not_found");
      });
      seen.delete("unavailable");
      expect([...seen]).toEqual(["key_not_found"]);
    });

    test("that was replaced under the same name signs nothing in the name of the first", async () => {
      at.asUser((user) => user.generateKey("P-256", { label: "swapped", id: "d1" }));
      const signer = await at.openWhole({ object: "swapped" });
      at.asUser((user) => {
        user.destroy("swapped");
        user.generateKey("P-256", { label: "swapped", id: "d1" });
      });
      await until(async () => (await outcome(signer)) === at.backend.swappedKey);
      expect(await outcome(signer)).toBe(at.backend.swappedKey);
      await at.opener.closeAll();
      at.asUser((user) => user.destroy("swapped"));
    });
  });

  describe("the end of a process", () => {
    test.each(["exit", "natural", "close"])("(%s) closes every session and finalizes the module", async (ending) => {
      const before = await at.backend.leftHandles?.();
      const program = startProgram("sign-and-end.mjs", JSON.stringify(at.base), ending);
      expect(await outputOf(program)).toBe("signed\n");
      expect(program.exitCode).toBe(0);
      expect(at.shim.counter("openSessions")).toBe(0);
      expect(at.shim.calls("C_Finalize")).toBeGreaterThan(0);
      expect(at.shim.counter("finalizeInFlight")).toBe(0);
      expect(await at.backend.leftHandles?.()).toEqual(before);
    });
  });
}
