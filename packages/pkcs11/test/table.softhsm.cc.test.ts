import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import type { Signer } from "@signpost/core";
import { ckrRule } from "../src/cryptoki/ckr.ts";
import { counted, openWhole, request, SEARCHES } from "./support/counted.ts";
import { finalize, logOut } from "./support/module-user.ts";
import { useShimmedToken } from "./support/shimmed-token.ts";
import { outcome, until } from "./support/signing.ts";

// Every row of the table of CKR codes, from the module to the caller.

const SESSIONS = 4;
const at = useShimmedToken(SESSIONS);

const VENDOR_CODE = 0x80000001;
const NEW_SESSION = [0x01, 0x05, 0x06, 0x07, 0x50, 0x90, 0x91, 0xb0, 0xb1, 0xb3, 0xb8, VENDOR_CODE];
const LOGIN = [0x02, 0x60, 0x82, 0x101];
const FRESH_START = [0x03, 0x30, 0x31, 0x32, 0xe0, 0x1b6];
const NOT_INITIALIZED = 0x190;
const FATAL: readonly [code: number, seen: string][] = [
  [0x09, "integrity"],
  [0x0a, "integrity"],
  [0x11, "unsupported_key"],
  [0x12, "unsupported_key"],
  [0x13, "unsupported_key"],
  [0x1b, "access_denied"],
  [0x20, "unsupported_key"],
  [0x21, "unsupported_key"],
  [0x54, "unsupported_key"],
  [0x62, "unsupported_key"],
  [0x63, "unsupported_key"],
  [0x68, "unsupported_key"],
  [0x70, "unsupported_key"],
  [0x71, "unsupported_key"],
  [0xe1, "unsupported_key"],
  [0xe2, "access_denied"],
  [0x103, "access_denied"],
  [0x104, "access_denied"],
  [0x105, "access_denied"],
  [0x130, "unsupported_key"],
  [0x140, "unsupported_key"],
  [0x150, "unsupported_key"],
  [0x1b7, "integrity"],
  [0x1b9, "unsupported_key"],
  [0x200, "access_denied"],
  [0x203, "access_denied"],
  [0x207, "access_denied"],
  [0x208, "unsupported_key"],
  [0x209, "unsupported_key"],
];
const PIN: readonly [code: number, seen: string][] = [
  [0xa0, "pin_incorrect"],
  [0xa1, "pin_incorrect"],
  [0xa2, "pin_incorrect"],
  [0xa3, "pin_locked"],
  [0xa4, "pin_locked"],
  [0x102, "pin_incorrect"],
];

const named = (codes: readonly number[]): [name: string, code: number][] =>
  codes.map((code) => [ckrRule(code).name, code]);
const namedRows = (rows: readonly [number, string][]): [name: string, code: number, seen: string][] =>
  rows.map(([code, seen]) => [ckrRule(code).name, code, seen]);

test("the table has no row that is not driven here, but names of codes that are treated as unknown ones are", () => {
  const driven = [...NEW_SESSION, ...LOGIN, ...FRESH_START, NOT_INITIALIZED, ...FATAL, ...PIN].flat();
  const unknown = ckrRule(VENDOR_CODE);
  const known = Array.from({ length: 0x300 }, (_, code) => ({ code, ...ckrRule(code) }))
    .filter(({ name }) => name.startsWith("CKR_"))
    .filter(({ code, name, ...rule }) => code <= 0x07 || !isDeepStrictEqual({ ...rule, name }, { ...unknown, name }))
    .map(({ code }) => code);
  expect(known.length).toBeGreaterThan(50);
  expect(known.filter((code) => !driven.includes(code))).toEqual([]);
});

describe("one failure of C_Sign", () => {
  test.each(named(NEW_SESSION))(
    "%s: a new session that finds the key again, and the request succeeds",
    async (_name, code) => {
      const signer = await openWhole(at, SESSIONS);
      at.shim.fail("C_Sign", code, { times: 1 });
      const found = at.shim.calls("C_FindObjectsInit");
      const calls = await counted(at, ["C_OpenSession", "C_Finalize", "C_Login"], async () => {
        const opened = at.shim.calls("C_OpenSession");
        expect(await request(at, signer)).toEqual({ code: "signed", sent: 2 });
        // Another session may have signed before the new one is open.
        await until(() => at.shim.calls("C_OpenSession") > opened && signer.health().status === "ready");
      });
      expect(calls).toEqual({ C_OpenSession: 1, C_Finalize: 0, C_Login: 0 });
      await keySearched(signer, found + SEARCHES);
      expect(at.shim.counter("openSessions")).toBe(SESSIONS);
    },
  );

  test.each(named(LOGIN))(
    "%s: a new session, every session finds the key again, and the request succeeds",
    async (_name, code) => {
      const signer = await openWhole(at, SESSIONS);
      at.shim.fail("C_Sign", code, { times: 1 });
      const found = at.shim.calls("C_FindObjectsInit");
      const calls = await counted(at, ["C_OpenSession", "C_Finalize"], async () => {
        const opened = at.shim.calls("C_OpenSession");
        expect(await request(at, signer)).toEqual({ code: "signed", sent: 2 });
        await until(() => at.shim.calls("C_OpenSession") > opened && signer.health().status === "ready");
      });
      expect(calls).toEqual({ C_OpenSession: 1, C_Finalize: 0 });
      await keySearched(signer, found + SEARCHES * SESSIONS);
      expect(at.shim.counter("openSessions")).toBe(SESSIONS);
    },
  );

  test.each(named(FRESH_START))("%s: C_Finalize and C_Initialize, and the request succeeds", async (_name, code) => {
    const signer = await openWhole(at, SESSIONS);
    at.shim.fail("C_Sign", code, { times: 1 });
    const calls = await counted(at, ["C_Finalize", "C_OpenSession"], async () => {
      const opened = at.shim.calls("C_OpenSession");
      expect(await request(at, signer)).toEqual({ code: "signed", sent: 2 });
      await until(() => at.shim.calls("C_OpenSession") >= opened + SESSIONS && signer.health().status === "ready");
    });
    expect(calls).toEqual({ C_Finalize: 1, C_OpenSession: SESSIONS });
    expect(at.shim.counter("finalizeInFlight")).toBe(0);
  });

  test("CKR_CRYPTOKI_NOT_INITIALIZED, because the module is finalized: C_Initialize alone, and the request succeeds", async () => {
    const signer = await openWhole(at, SESSIONS);
    finalize(at.shim.module);
    const calls = await counted(at, ["C_Finalize", "C_OpenSession"], async () => {
      const opened = at.shim.calls("C_OpenSession");
      expect(await request(at, signer)).toEqual({ code: "signed", sent: 1 });
      await until(() => at.shim.calls("C_OpenSession") >= opened + SESSIONS && signer.health().status === "ready");
    });
    expect(calls).toEqual({ C_Finalize: 0, C_OpenSession: SESSIONS });
  });

  test.each(namedRows(FATAL))("%s: the request fails, and is not tried again", async (_name, code, seen) => {
    const signer = await openWhole(at, SESSIONS);
    at.shim.fail("C_Sign", code, { times: 1 });
    const calls = await counted(at, ["C_Sign", "C_Finalize"], async () =>
      expect(await request(at, signer)).toEqual({ code: seen, sent: 1 }),
    );
    expect(calls).toEqual({ C_Sign: 1, C_Finalize: 0 });
    await until(() => at.shim.counter("openSessions") === SESSIONS);
    expect(await outcome(signer)).toBe("signed");
  });

  /** Signs until so many searches were made, and then some more. */
  async function keySearched(signer: Signer, count: number): Promise<void> {
    const signMany = (): Promise<unknown> => Promise.all(Array.from({ length: 4 * SESSIONS }, () => outcome(signer)));
    await until(async () => {
      await signMany();
      return at.shim.calls("C_FindObjectsInit") >= count;
    });
    await signMany();
    expect(at.shim.calls("C_FindObjectsInit")).toBe(count);
  }
});

describe("a login that is refused", () => {
  test.each(namedRows(PIN))("with %s: it is not tried again", async (_name, code, seen) => {
    const signer = await openWhole(at, SESSIONS);
    at.shim.fail("C_Login", code);
    const before = at.shim.calls("C_Login");
    logOut(at.shim.module, at.hsm.tokenLabel);
    await until(async () => (await outcome(signer)) === seen);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcome(signer)));
    expect(new Set(outcomes)).toEqual(new Set([seen]));
    expect(at.shim.calls("C_Login") - before).toBe(1);
    expect(signer.health().status).toBe("down");
  });

  test.each(namedRows(FATAL.filter(([code]) => code === 0x103 || code === 0x104)))(
    "with %s: opening fails with %s",
    async (_name, code, seen) => {
      at.shim.fail("C_Login", code);
      await expect(at.opener.open(at.base)).rejects.toMatchObject({ code: seen });
    },
  );
});

describe("a module that does not run with threads", () => {
  test.each(
    named([0x09, 0x0a, 0x1b7]).flatMap(([name, code]) =>
      (["thread", "process"] as const).map((isolation) => [name, code, isolation] as const),
    ),
  )("says so by %s (%i) out of C_Initialize: a ConfigurationError at once (%s)", async (name, code, isolation) => {
    at.shim.fail("C_Initialize", code);
    const error: unknown = await at.opener.open({ ...at.base, isolation }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: "ConfigurationError", argument: "module" });
    expect(String(error)).toContain(`C_Initialize: ${name}`);
    expect(at.shim.calls("C_Initialize")).toBe(1);
  });
});

describe("a session that cannot be opened", () => {
  /** A signer whose one session has to be opened again, and so many failures of C_OpenSession in its way. */
  async function replaced(code: number, times: number): Promise<{ finalized: number }> {
    const signer = await openWhole(at, 1);
    at.shim.fail("C_OpenSession", code, { times });
    at.shim.fail("C_Sign", 0xb3, { times: 1 });
    expect(await outcome(signer)).toMatch(/signed|unavailable/);
    await until(async () => (await outcome(signer)) === "signed");
    await until(() => signer.health().status === "ready");
    expect(at.shim.counter("openSessions")).toBe(1);
    return { finalized: at.shim.calls("C_Finalize") };
  }

  test.each(named([0xb0, 0x101, 0x05, VENDOR_CODE, 0xe1, 0x104]))(
    "once, with %s: it is tried again, and the module is left as it is",
    async (_name, code) => {
      expect(await replaced(code, 1)).toEqual({ finalized: 0 });
    },
  );

  test("twice, with CKR_GENERAL_ERROR: the module is left as it is", async () => {
    expect(await replaced(0x05, 2)).toEqual({ finalized: 0 });
  });

  test("three times, with CKR_GENERAL_ERROR: the module is initialized again", async () => {
    expect(await replaced(0x05, 3)).toEqual({ finalized: 1 });
  });

  test.each(named([0x30, 0xe0]))("once, with %s: the module is initialized again", async (_name, code) => {
    expect(await replaced(code, 1)).toEqual({ finalized: 1 });
  });
});
