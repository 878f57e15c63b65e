import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { forgetRefusedPins } from "@signpost/pkcs11";
import { type Pkcs11Shim, startShim } from "@signpost/test-backends/pkcs11-shim";
import { type GeneratedKey, type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { createOpener, type GuardedOptions, type Opener } from "./signing.ts";

/** What the tests of one file work with. Members are there from the first `beforeEach` on. */
export interface ShimmedToken {
  readonly hsm: SoftHsm;
  /** The key `k1`, id 01. */
  readonly key: GeneratedKey;
  /** In front of the token: one for each test, with its own counters and its own place in the list of modules. */
  readonly shim: Pkcs11Shim;
  /** Opens `k1` through the shim. */
  readonly base: GuardedOptions;
  readonly opener: Opener;
  /** Makes a key `careful` with CKA_ALWAYS_AUTHENTICATE, id 2a. */
  generateCarefulKey(): Promise<void>;
}

/** A token of SoftHSM with one key for the tests of a file. Signers are closed and faults are over after each test. */
export function useShimmedToken(sessions?: number): ShimmedToken {
  const opener = createOpener();
  let started: { readonly hsm: SoftHsm; readonly key: GeneratedKey } | undefined;
  let shim: Pkcs11Shim | undefined;

  beforeAll(async () => {
    const hsm = await startSoftHsm();
    started = { hsm, key: await hsm.generateKey({ label: "k1", id: "01" }) };
  });
  afterAll(() => started?.hsm.stop());
  beforeEach(async () => {
    shim = await startShim(present(started).hsm.module);
  });
  afterEach(async () => {
    shim?.clear();
    await opener.closeAll();
    await forgetRefusedPins();
    await shim?.stop();
  });

  return {
    opener,
    generateCarefulKey: async () => {
      const name = ["--label", "careful", "--id", "2a"];
      const { hsm } = present(started);
      await hsm.pkcs11Tool("--keypairgen", "--key-type", "EC:prime256v1", ...name, "--usage-sign", "--always-auth");
    },
    get hsm() {
      return present(started).hsm;
    },
    get key() {
      return present(started).key;
    },
    get shim() {
      return present(shim);
    },
    get base() {
      const { hsm } = present(started);
      return { module: present(shim).module, token: hsm.tokenLabel, object: "k1", pin: hsm.pin, sessions };
    },
  };
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error("used outside a test");
  return value;
}
