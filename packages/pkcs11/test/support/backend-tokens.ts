import { rename } from "node:fs/promises";
import { join } from "node:path";
import { startNss } from "@signpost/test-backends/nss";
import { startP11Kit } from "@signpost/test-backends/p11kit";
import { type Pkcs11Shim } from "@signpost/test-backends/pkcs11-shim";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { startTpm2 } from "@signpost/test-backends/tpm2";

/** A token of one of the modules that are tested, and what can happen to it. */
export interface BackendToken {
  readonly module: string;
  readonly libraryParameters?: string | undefined;
  readonly token: string;
  readonly pin: string;
  /** As many as make sense on this module. */
  readonly sessions: number;
  /** The module has an instance of itself for each thread: other code reaches those of signers through the shim alone. */
  readonly instances: boolean;
  /** What shows that a key was replaced by another of its name. */
  readonly swappedKey: "wrong_key" | "did not verify";
  /** The ways in which it goes away, and comes back. */
  readonly absences: readonly Absence[];
  /** Leftovers in a TPM. */
  readonly leftHandles?: (() => Promise<readonly string[]>) | undefined;
  /** After each test. */
  readonly tidy?: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
}

export interface Absence {
  readonly what: string;
  away(shim: Pkcs11Shim): Promise<void>;
  back(shim: Pkcs11Shim): Promise<void>;
}

/** Every module can be told that its device is gone. */
const removed: Absence = {
  what: "its device is removed",
  away: async (shim) => {
    for (const name of ["C_Sign", "C_OpenSession", "C_Initialize"] as const) shim.fail(name, 0x32);
  },
  back: async (shim) => shim.clear(),
};

export async function softHsmToken(): Promise<BackendToken> {
  const hsm = await startSoftHsm();
  return {
    module: hsm.module,
    token: hsm.tokenLabel,
    pin: hsm.pin,
    sessions: 4,
    instances: false,
    swappedKey: "wrong_key",
    absences: [movedFolder(hsm), removed],
    stop: hsm.stop,
  };
}

export async function p11KitToken(): Promise<BackendToken> {
  const hsm = await startSoftHsm();
  const remote = await startP11Kit(hsm);
  return {
    module: remote.module,
    token: hsm.tokenLabel,
    pin: hsm.pin,
    // Each is a process with its own SoftHSM.
    sessions: 2,
    instances: true,
    swappedKey: "wrong_key",
    absences: [
      { what: "the server is killed and started again", away: () => remote.kill(), back: () => remote.restart() },
      movedFolder(hsm),
      removed,
    ],
    stop: async () => {
      await remote.stop();
      await hsm.stop();
    },
  };
}

export async function tpm2Token(): Promise<BackendToken> {
  const tpm = await startTpm2();
  return {
    module: tpm.module,
    token: tpm.tokenLabel,
    pin: tpm.pin,
    // One TPM signs one thing at a time.
    sessions: 2,
    instances: false,
    // The new key has the handle of the old one. No call fails: it takes the check that `signWith` makes of each signature.
    swappedKey: "did not verify",
    absences: [
      { what: "the TPM is killed and started again", away: () => tpm.kill(), back: () => tpm.restart() },
      removed,
    ],
    leftHandles: tpm.leftHandles,
    // A key that is destroyed while it is loaded stays in the TPM, which has room for three.
    tidy: tpm.flush,
    stop: tpm.stop,
  };
}

export async function nssToken(): Promise<BackendToken> {
  const nss = await startNss();
  return {
    module: nss.module,
    libraryParameters: nss.libraryParameters,
    token: nss.tokenLabel,
    pin: nss.pin,
    sessions: 4,
    instances: false,
    swappedKey: "wrong_key",
    // A database is files, and the module keeps them open: there is nothing that could be taken out.
    absences: [removed],
    stop: nss.stop,
  };
}

/** The folder of a SoftHSM's tokens is renamed. */
function movedFolder(hsm: SoftHsm): Absence {
  const tokens = join(hsm.directory, "tokens");
  return {
    what: "the tokens' folder is moved away",
    away: () => rename(tokens, `${tokens}-away`),
    back: () => rename(`${tokens}-away`, tokens),
  };
}
