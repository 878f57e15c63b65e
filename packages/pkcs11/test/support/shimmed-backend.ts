import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { Signer } from "@signpost/core";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import type { BackendToken } from "./backend-tokens.ts";
import { SEARCHES, untilFound } from "./counted.ts";
import { closeAllSessions, finalize, logOut } from "./module-user.ts";
import { createOpener, type GuardedOptions, type Opener, outcome, until } from "./signing.ts";
import { type TokenUser, useToken } from "./token-user.ts";

/** The longest that a signer takes to bring back what failed, 35 seconds, and what a busy machine adds to it. Milliseconds. */
export const RECOVERY_MS = 35_000 + 10_000;

/** What the tests of one file work with. Members are there from the first `beforeEach` on. */
export interface ShimmedBackend {
  readonly backend: BackendToken;
  /** In front of the module: one for each test. */
  readonly shim: Pkcs11Shim;
  /** Opens the key `k1` through the shim. */
  readonly base: GuardedOptions;
  readonly opener: Opener;
  /** Opens `k1` and waits until every session has found it, so that each call after it belongs to the test. */
  openWhole(options?: Partial<GuardedOptions>): ReturnType<Opener["open"]>;
  /** A request made now is made. SoftHSMs that p11-kit starts at once may miss their token while one of them logs in: there, soon. */
  expectSigned(signer: Signer): Promise<void>;
  /** What other code in the process does to the module under us. */
  readonly otherCode: Readonly<Record<"closeAllSessions" | "logOut" | "finalize", () => void>>;
  /** Other code in the process that works with keys of the token. */
  asUser(work: (user: TokenUser) => void): void;
}

/** One token of a module for the tests of a file, with one key. Signers are closed and faults are over after each test. */
export function useShimmedBackend(start: () => Promise<BackendToken>): ShimmedBackend {
  const opener = createOpener();
  let started: BackendToken | undefined;
  let shim: Pkcs11Shim | undefined;

  beforeAll(async () => {
    started = await start();
    // Through the module itself, before anybody else uses it.
    useToken(started, (user) => user.generateKey("P-256", { label: "k1", id: "01" }));
  });
  afterAll(() => started?.stop());
  beforeEach(async () => {
    shim = await startShim(present(started).module);
  });
  afterEach(async () => {
    shim?.clear();
    await opener.closeAll();
    await forgetRefusedPins();
    await shim?.stop();
    await started?.tidy?.();
  });

  const at: ShimmedBackend = {
    opener,
    get backend() {
      return present(started);
    },
    get shim() {
      return present(shim);
    },
    get base() {
      const { libraryParameters, token, pin, sessions } = present(started);
      return { module: present(shim).module, libraryParameters, token, object: "k1", pin, sessions };
    },
    openWhole: async (options = {}) => {
      const sessions = options.sessions ?? at.backend.sessions;
      const found = at.shim.calls("C_FindObjectsInit");
      const signer = await opener.open({ ...at.base, ...options });
      await until(() => at.shim.calls("C_Login") + at.shim.calls("C_GetTokenInfo") >= sessions);
      await until(
        () => at.shim.counter("openSessions") === sessions && signer.health().status === "ready",
        RECOVERY_MS,
      );
      await untilFound(at.shim, signer, found + SEARCHES * sessions);
      return signer;
    },
    expectSigned: async (signer) => {
      if (at.backend.instances) await until(async () => (await outcome(signer)) === "signed", RECOVERY_MS);
      else expect(await outcome(signer)).toBe("signed");
    },
    otherCode: {
      closeAllSessions: () =>
        at.backend.instances ? at.shim.strike("close-all") : closeAllSessions(at.shim.module, at.backend.token),
      logOut: () => (at.backend.instances ? at.shim.strike("logout") : logOut(at.shim.module, at.backend.token)),
      finalize: () => (at.backend.instances ? at.shim.strike("finalize") : finalize(at.shim.module)),
    },
    asUser: (work) => useToken({ ...at.backend, module: at.shim.module }, work),
  };
  return at;
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("used outside a test");
  return value;
}
