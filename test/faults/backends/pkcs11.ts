import { openPkcs11Signer } from "@signpost/pkcs11";
import { type ShimFunction, startShim } from "@signpost/test-backends/pkcs11-shim";
import { startSoftHsm } from "@signpost/test-backends/softhsm";
import { type FaultSwitch, type FaultyBackend, OPEN_DEADLINE_MS, POLICY } from "../backend.ts";
import type { Kind } from "../kinds.ts";
import { childProcesses } from "../watch.ts";
import { createGate } from "./gate.ts";
import { closeAllSessions, finalize, logOut } from "./other-code.ts";
import { stillOpen } from "./switches.ts";

/** Return values of PKCS#11 3.1. */
const CKR = {
  GENERAL_ERROR: 0x05,
  ACTION_PROHIBITED: 0x1b,
  DEVICE_REMOVED: 0x32,
  SESSION_HANDLE_INVALID: 0xb3,
  USER_NOT_LOGGED_IN: 0x101,
} as const;

/** The module is initialized again at most every 30 seconds, and sessions are opened after pauses of up to 5. Milliseconds. */
const RECOVERY_MS = 40_000;
const SESSIONS = 4;

/**
 * A session that is opened again proves its key by a signature. If that does not verify, it cannot tell another key from a wrong
 * signature. Sessions that an earlier fault ended may be opened during this one.
 */
const AFTER_RECOVERY = ["wrong_key"] as const;

/** SoftHSM behind a module that makes faults, in threads of this process or in a child process. */
export async function startPkcs11(isolation: "thread" | "process"): Promise<FaultyBackend> {
  const hsm = await startSoftHsm();
  const shim = await startShim(hsm.module);
  const { tokenLabel: token } = hsm;
  let keys = 0;
  const gate = createGate();
  const pin = async (): Promise<string> => {
    await gate.passed();
    return hsm.pin;
  };
  /** The shim does something until it is cleared. */
  const shimmed = (on: () => void, others: Partial<FaultSwitch> = {}): FaultSwitch => ({
    on,
    off: () => shim.clear(),
    recoveryMs: RECOVERY_MS,
    ...others,
  });
  const once = (on: () => void, others: Partial<FaultSwitch> = {}): FaultSwitch => ({
    on,
    off: () => undefined,
    recoveryMs: RECOVERY_MS,
    ...others,
  });
  const callsOf = (name: ShimFunction) => (): number => shim.calls(name);
  const inThreads: Partial<Record<Kind, FaultSwitch>> = {
    "session-lost": once(() => closeAllSessions(shim.module, token), { felt: callsOf("C_OpenSession") }),
    "credentials-expired": once(() => logOut(shim.module, token), { felt: callsOf("C_Login") }),
    "module-finalized": once(() => finalize(shim.module), { felt: callsOf("C_Initialize") }),
    "credentials-hanging": {
      on: () => {
        gate.shut();
        logOut(shim.module, token);
      },
      off: gate.open,
      recoveryMs: RECOVERY_MS,
    },
  };
  const inProcess: Partial<Record<Kind, FaultSwitch>> = {
    "session-lost": shimmed(() => shim.fail("C_Sign", CKR.SESSION_HANDLE_INVALID, { times: 2 * SESSIONS }), {
      felt: callsOf("C_OpenSession"),
    }),
    "credentials-expired": shimmed(() => shim.fail("C_SignInit", CKR.USER_NOT_LOGGED_IN, { times: SESSIONS }), {
      // Those that were refused. The token is logged in, so nothing logs in again.
      felt: () => shim.calls("C_SignInit") - shim.calls("C_Sign"),
    }),
    "process-killed": once(() => signalChildren("SIGKILL"), { felt: callsOf("C_Initialize") }),
    "process-stopped": once(() => signalChildren("SIGSTOP")),
    "credentials-hanging": {
      on: () => {
        gate.shut();
        signalChildren("SIGKILL");
      },
      off: gate.open,
      recoveryMs: RECOVERY_MS,
    },
  };
  return {
    newKey: async () => {
      const id = (keys += 1).toString(16).padStart(4, "0");
      const object = `op-${id}`;
      const { publicKey } = await hsm.generateKey({ label: object, id });
      return {
        publicKey,
        open: () =>
          openPkcs11Signer({
            module: shim.module,
            token,
            object,
            pin,
            isolation,
            sessions: SESSIONS,
            policy: POLICY,
            openDeadlineMs: OPEN_DEADLINE_MS,
          }),
      };
    },
    faults: {
      latency: shimmed(() => shim.delay("C_Sign", 100)),
      slow: shimmed(() => shim.delay("C_Sign", 1_400)),
      flaky: shimmed(() => shim.fail("C_Sign", CKR.SESSION_HANDLE_INVALID, { every: 3 })),
      "half-open": shimmed(() => shim.hang("C_Sign", 1_000)),
      unavailable: shimmed(() => shim.fail("C_Sign", CKR.GENERAL_ERROR)),
      truncated: shimmed(() => shim.tamper("short")),
      empty: shimmed(() => shim.tamper("empty")),
      corrupted: shimmed(() => shim.tamper("flip"), { codes: AFTER_RECOVERY }),
      "out-of-range": shimmed(() => shim.tamper("zero-r")),
      "wrong-digest": shimmed(() => shim.tamper("other-digest"), { codes: AFTER_RECOVERY }),
      "access-denied": shimmed(() => shim.fail("C_Sign", CKR.ACTION_PROHIBITED)),
      "token-removed": shimmed(() => {
        for (const name of ["C_Sign", "C_OpenSession", "C_Initialize"] as const) shim.fail(name, CKR.DEVICE_REMOVED);
      }),
      ...(isolation === "thread" ? inThreads : inProcess),
    },
    // A child that was killed has counted nothing down. It is one of the processes that must be gone.
    open: () =>
      isolation === "process"
        ? []
        : [
            ...stillOpen(shim.counter("openSessions"), "sessions in the module"),
            ...stillOpen(shim.counter("hung"), "calls in the module"),
          ],
    forget: () => undefined,
    stop: async () => {
      await shim.stop();
      await hsm.stop();
    },
  };
}

/** The only children of the process while a signer is open are those of the module. */
function signalChildren(signal: NodeJS.Signals): void {
  for (const pid of childProcesses()) process.kill(pid, signal);
}
