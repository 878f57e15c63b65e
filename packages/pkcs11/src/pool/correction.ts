import { elapsedMs, readInstant, type Instant } from "@signpost/core/adapter";
import type { PinSource } from "../request/pin.ts";
import { ASK_AGAIN_MS } from "./limits.ts";
import type { SignerPins } from "./signer-pins.ts";

/** Looks whether a source whose PIN was refused returns the right one by now: one look at a time, at most one in 5 s. */
export class Correction {
  readonly #signers: SignerPins;
  #lookedAt: Instant | undefined;
  #isLooking = false;

  constructor(signers: SignerPins) {
    this.#signers = signers;
  }

  look(source: PinSource, refusedAt: Instant, onCorrected: () => void): void {
    if (this.#isLooking || elapsedMs(this.#lookedAt ?? refusedAt) <= ASK_AGAIN_MS) return;
    this.#isLooking = true;
    void this.#signers.isCorrected(source).then((isCorrected) => {
      this.#isLooking = false;
      this.#lookedAt = readInstant();
      if (isCorrected) onCorrected();
    });
  }
}
