import { SignerError } from "@signpost/core";
import { openingWith } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";

const BEFORE = "opening with a signal that is already aborted rejects with aborted, with the signal's reason as cause";
const AFTER = "a signal that outlives the opening has none of its listeners left, and no longer ends anything";

/** Adapters that mishandle the signal of an opening. */
export const BROKEN_OPENINGS: readonly BrokenSigner[] = [
  {
    check: BEFORE,
    broken: "never looks at the signal",
    complaint: /opening with an aborted signal gave a signer/,
    harness: openingWith(({ openWith }, { policy }) => openWith({ policy })),
  },
  {
    check: BEFORE,
    broken: "waits for an abort that has been",
    complaint: /opening with an aborted signal has not settled within 3000 ms/,
    harness: openingWith(() => new Promise(() => undefined)),
  },
  {
    check: BEFORE,
    broken: "rejects with the signal's reason itself",
    complaint: /rejected with .*, expected a SignerError/,
    harness: openingWith(async ({ openWith }, { signal, policy }) => {
      signal?.throwIfAborted();
      return openWith({ policy });
    }),
  },
  {
    check: BEFORE,
    broken: "loses the reason",
    complaint: /cause of an aborted opening is not its signal's reason/,
    harness: openingWith(() => Promise.reject(new SignerError("aborted", "aborted"))),
  },
  {
    check: BEFORE,
    broken: "calls it a timeout",
    complaint: /rejected with code timeout, expected aborted/,
    harness: openingWith(() => Promise.reject(new SignerError("timeout", "no answer"))),
  },
  {
    check: AFTER,
    broken: "listens for good",
    complaint: /abort listeners were left on the signal of an opening/,
    harness: openingWith(({ openWith }, limits) => {
      limits.signal?.addEventListener("abort", () => undefined);
      return openWith(limits);
    }),
  },
  {
    check: AFTER,
    broken: "ends later calls with the signal of the opening",
    complaint: /the opening is over/,
    harness: openingWith(async ({ openWith }, limits) => {
      const signer = await openWith(limits);
      const sign: typeof signer.sign = async (...call) => {
        limits.signal?.throwIfAborted();
        return signer.sign(...call);
      };
      return { ...signer, sign };
    }),
  },
  {
    check: AFTER,
    broken: "does not open with a signal",
    complaint: /no signals here/,
    harness: openingWith(() => Promise.reject(new Error("no signals here"))),
  },
  {
    check: AFTER,
    broken: "signs with something else after the abort",
    complaint: /does not sign after the signal of its opening aborted/,
    harness: openingWith(async ({ openWith }, limits) => ({
      ...(await openWith(limits)),
      sign: async () => new Uint8Array(1),
    })),
  },
];
