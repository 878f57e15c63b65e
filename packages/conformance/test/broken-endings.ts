import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { SignerHarness } from "@signpost/conformance";
import { harnessOf } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";

const CLOSE_AGAIN = "close can be called again, immediately and later";
const AFTER_CLOSE = "a call after close rejects with closed";
const CLOSED_IN_FLIGHT = ["in the same tick as the calls", "one tick after the calls", "5 ms after the calls"].map(
  (moment) => `closed ${moment}, a started call ends with its signature, a queued one with that or with closed`,
);

const never = (): Promise<never> => new Promise(() => undefined);

/** Signers that do not end well. */
export const BROKEN_ENDINGS: readonly BrokenSigner[] = [
  {
    check: CLOSE_AGAIN,
    broken: "rejects the second close",
    complaint: /already closed/,
    harness: harnessOf((bare) => {
      let closed = false;
      return {
        close: async () => {
          if (closed) throw new SignerError("closed", "already closed");
          closed = true;
          await bare.close();
        },
      };
    }),
  },
  {
    check: CLOSE_AGAIN,
    broken: "never resolves a later close",
    complaint: /close\(\) of a closed signer has not settled within 5000 ms/,
    forms: ["bare"],
    harness: harnessOf((bare) => {
      let closing: Promise<void> | undefined;
      let closed = false;
      const close = (): Promise<void> => (closing ??= bare.close().then(() => void (closed = true)));
      return { close: () => (closed ? never() : close()) };
    }),
  },
  ...CLOSED_IN_FLIGHT.flatMap((check): BrokenSigner[] => [
    {
      check,
      broken: "forgets its callers",
      complaint: /a call in flight at close\(\) has not settled within 5000 ms/,
      harness: endingCallsBy(never),
    },
    {
      check,
      broken: "fails its callers with what the backend says",
      complaint: /rejected with TypeError/,
      harness: endingCallsBy(() => Promise.reject(new TypeError("undefined is not a session"))),
    },
    {
      check,
      broken: "calls it unavailable",
      complaint: /rejected with code unavailable, expected closed/,
      harness: endingCallsBy(() => Promise.reject(new SignerError("unavailable", "no session"))),
    },
    {
      check,
      broken: "drops the calls that it has started",
      complaint: /the first call had started before close\(\)/,
      forms: ["bare"],
      harness: endingCallsBy(() => Promise.reject(new SignerError("closed", "the signer is closed"))),
    },
    {
      check,
      broken: "answers with zeros",
      complaint: /at close\(\) does not verify/,
      harness: endingCallsBy(async () => new Uint8Array(64)),
    },
    {
      check,
      broken: "never resolves close",
      complaint: /close\(\) with calls in flight has not settled within 5000 ms/,
      forms: ["bare"],
      harness: harnessOf(() => ({ close: never })),
    },
  ]),
  {
    check: AFTER_CLOSE,
    broken: "goes on signing",
    complaint: /after close\(\) was called gave a signature/,
    harness: harnessOf(() => ({ close: async () => undefined })),
  },
  {
    check: AFTER_CLOSE,
    broken: "goes on signing while it closes",
    complaint: /after close\(\) was called gave a signature/,
    harness: harnessOf((bare) => ({
      close: async () => {
        await pause(20);
        await bare.close();
      },
    })),
  },
  {
    check: AFTER_CLOSE,
    broken: "calls it unavailable",
    complaint: /rejected with code unavailable, expected closed/,
    harness: afterClose(() => Promise.reject(new SignerError("unavailable", "no session"))),
  },
  {
    check: AFTER_CLOSE,
    broken: "throws",
    complaint: /threw SignerError/,
    harness: afterClose(() => {
      throw new SignerError("closed", "the signer is closed");
    }),
  },
  {
    check: AFTER_CLOSE,
    broken: "hangs",
    complaint: /has not settled within 5000 ms/,
    forms: ["bare"],
    harness: afterClose(never),
  },
];

/** Calls take as long as the signer is open, and end in `end`. */
function endingCallsBy(end: () => Promise<Uint8Array>): () => SignerHarness {
  return harnessOf(() => {
    const closing = new AbortController();
    const closed = new Promise<void>((resolve) => {
      closing.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    return {
      sign: () => closed.then(end),
      close: async () => closing.abort(),
    };
  });
}

function afterClose(end: () => Promise<Uint8Array>): () => SignerHarness {
  return harnessOf((bare) => {
    let closed = false;
    return {
      sign: (digest) => (closed ? end() : bare.sign(digest)),
      close: async () => {
        closed = true;
        await bare.close();
      },
    };
  });
}
