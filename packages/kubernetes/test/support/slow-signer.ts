import { SignerError, type Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";

/** A signer whose calls wait until the test lets them go, or fail as the test says. */
export interface SlowSigner extends Signer {
  /** Calls that wait. */
  waiting(): number;
  /** Lets all calls go, those of the future too. */
  release(): void;
  /** How many calls ended because their signal aborted. */
  aborted(): number;
}

export async function slowSigner(): Promise<SlowSigner> {
  const inner = await openLocalSigner();
  const gates = new Set<() => void>();
  let isOpen = false;
  let aborted = 0;
  return {
    uri: inner.uri,
    publicKey: inner.publicKey,
    close: () => inner.close(),
    sign: async (digest, options) => {
      if (!isOpen) await gate(gates, options?.signal, () => (aborted += 1));
      return inner.sign(digest, options);
    },
    waiting: () => gates.size,
    release: () => {
      isOpen = true;
      for (const open of gates) open();
    },
    aborted: () => aborted,
  };
}

function gate(gates: Set<() => void>, signal: AbortSignal | undefined, onAbort: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const open = (): void => {
      gates.delete(open);
      resolve();
    };
    gates.add(open);
    signal?.addEventListener(
      "abort",
      () => {
        if (!gates.delete(open)) return;
        onAbort();
        reject(new SignerError("aborted", "the call was aborted"));
      },
      { once: true },
    );
  });
}
