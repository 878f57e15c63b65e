import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import { harnessOf } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";
import { waitUnlessAborted } from "./reference.ts";

const BEFORE = "a signal that is already aborted rejects with aborted, with the signal's reason as cause";
const DURING = "an abort during a call ends only that call, with aborted or with its signature";
const LISTENERS = "a signal that outlives its calls has none of their listeners left";

const never = (): Promise<never> => new Promise(() => undefined);

/** Signers that mishandle a caller's signal. */
export const BROKEN_ABORTS: readonly BrokenSigner[] = [
  {
    check: BEFORE,
    broken: "never looks at the signal",
    complaint: /gave a signature/,
    harness: harnessOf((bare) => ({ sign: (digest) => bare.sign(digest) })),
  },
  {
    check: BEFORE,
    broken: "waits for an abort that has been",
    complaint: /has not settled within 3000 ms/,
    harness: harnessOf(() => ({
      sign: (_digest, options) =>
        new Promise((_resolve, reject) =>
          options?.signal?.addEventListener("abort", () => reject(options.signal?.reason)),
        ),
    })),
  },
  {
    check: BEFORE,
    broken: "rejects with the signal's reason itself",
    complaint: /rejected with Error: the caller went away, expected a SignerError/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        options?.signal?.throwIfAborted();
        return bare.sign(digest);
      },
    })),
  },
  {
    check: BEFORE,
    broken: "loses the reason",
    complaint: /cause .* is not its signal's reason/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        if (options?.signal?.aborted === true) throw new SignerError("aborted", "aborted");
        return bare.sign(digest);
      },
    })),
  },
  {
    check: BEFORE,
    broken: "calls it a timeout",
    complaint: /rejected with code timeout, expected aborted/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        if (options?.signal?.aborted === true) throw new SignerError("timeout", "no answer");
        return bare.sign(digest);
      },
    })),
  },
  {
    check: DURING,
    broken: "never settles an aborted call",
    complaint: /calls aborted .* has not settled within 3000 ms/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        const signature = bare.sign(digest);
        await pause(30);
        return options?.signal?.aborted === true ? never() : signature;
      },
    })),
  },
  {
    check: DURING,
    broken: "ends every call when one is aborted",
    complaint: /a call next to others that were aborted .* rejected/,
    harness: harnessOf((bare) => {
      const controller = new AbortController();
      setMaxListeners(0, controller.signal);
      return {
        sign: async (digest, options) => {
          const copy = Uint8Array.from(digest);
          options?.signal?.addEventListener("abort", () => controller.abort(options.signal?.reason), { once: true });
          await waitUnlessAborted(30, controller.signal);
          return bare.sign(copy);
        },
      };
    }),
  },
  {
    check: DURING,
    broken: "rejects with the timer's AbortError",
    complaint: /rejected with AbortError/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        await pause(30, undefined, options?.signal === undefined ? {} : { signal: options.signal });
        return bare.sign(digest);
      },
    })),
  },
  {
    check: DURING,
    broken: "gives the result of an aborted call to the next caller",
    complaint: /does not verify/,
    harness: harnessOf((_bare, { key }) => {
      // Answers come in order; an aborted caller leaves the queue, its answer still comes.
      const waiting: ((signature: Uint8Array) => void)[] = [];
      return {
        sign: (digest, options) =>
          new Promise((resolve, reject) => {
            waiting.push(resolve);
            options?.signal?.addEventListener(
              "abort",
              () => {
                waiting.splice(waiting.indexOf(resolve), 1);
                reject(new SignerError("aborted", "aborted", { cause: options.signal?.reason }));
              },
              { once: true },
            );
            setTimeout(() => waiting.shift()?.(key.sign(digest)), 30);
          }),
      };
    }),
  },
  {
    check: LISTENERS,
    broken: "listens for good",
    complaint: /listeners were left/,
    harness: harnessOf((bare) => ({
      sign: (digest, options) => {
        options?.signal?.addEventListener("abort", () => undefined);
        return bare.sign(digest);
      },
    })),
  },
];
