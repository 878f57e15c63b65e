import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import { changed, harnessOf } from "./broken.ts";
import type { BrokenSigner, Change } from "./broken.ts";
import { createReferenceBackend } from "./reference.ts";

const CONCURRENT = "200 concurrent calls each get the signature of their own digest";
const TWO_SIGNERS = "two signers on one key do not disturb each other, and closing one leaves the other working";

/** Signers that mix up their callers. */
export const BROKEN_CONCURRENCY: readonly BrokenSigner[] = [
  {
    check: CONCURRENT,
    broken: "keeps the digest in one place",
    complaint: /does not verify/,
    harness: harnessOf((bare) => {
      let current: Uint8Array;
      return {
        sign: async (digest) => {
          current = digest;
          await pause(1);
          return bare.sign(current);
        },
      };
    }),
  },
  {
    check: CONCURRENT,
    broken: "hands out results in the order of answers",
    complaint: /does not verify/,
    harness: harnessOf((_bare, { key }) => {
      const waiting: ((signature: Uint8Array) => void)[] = [];
      return {
        sign: (digest) =>
          new Promise((resolve) => {
            waiting.push(resolve);
            setTimeout(() => waiting.shift()?.(key.sign(digest)), Math.random() * 10);
          }),
      };
    }),
  },
  {
    check: CONCURRENT,
    broken: "cannot do many at once",
    complaint: /too many/,
    harness: harnessOf((bare) => {
      let active = 0;
      return {
        sign: async (digest) => {
          if (active >= 64) throw new SignerError("unavailable", "too many at once");
          active += 1;
          return bare.sign(digest).finally(() => (active -= 1));
        },
      };
    }),
  },
  {
    check: TWO_SIGNERS,
    broken: "closes the session that all signers share",
    complaint: /is closed/,
    harness: () => {
      const backend = createReferenceBackend();
      const shared = backend.open(false);
      return { ...backend.harness, open: async () => shared };
    },
  },
  {
    check: TWO_SIGNERS,
    broken: "shares a slot for the digest between signers",
    complaint: /next to another signer does not verify/,
    harness: () => {
      let current: Uint8Array;
      const change: Change = (bare) => ({
        sign: async (digest) => {
          current = digest;
          await pause(1);
          return bare.sign(current);
        },
      });
      const backend = createReferenceBackend();
      return { ...backend.harness, open: async () => changed(await backend.open(false), backend, change) };
    },
  },
];
