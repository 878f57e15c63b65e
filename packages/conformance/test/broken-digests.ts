import { setTimeout as pause } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { Signer } from "@signpost/core";
import { harnessOf, sha256 } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";

const WRONG_LENGTH = "a digest that is not 32 bytes is refused with invalid_argument";
const NOT_CHANGED = "the digest is not changed";
const NOT_KEPT = "the digest is not kept: the caller may overwrite it, and its signing input, right after the call";
const VIEW = "a digest that is a view into a larger buffer is signed as these 32 bytes";

/** Signers that treat their digest wrongly. */
export const BROKEN_DIGESTS: readonly BrokenSigner[] = [
  {
    check: WRONG_LENGTH,
    broken: "pads and cuts to 32 bytes",
    complaint: /a digest of 0 bytes gave a signature/,
    harness: harnessOf((bare) => ({
      sign: (digest) => bare.sign(Uint8Array.from({ length: 32 }, (_, index) => digest[index] ?? 0)),
    })),
  },
  {
    check: WRONG_LENGTH,
    broken: "looks at the length alone",
    complaint: /a string of 32 characters as the digest gave a signature/,
    harness: harnessOf((bare) => ({
      sign: (digest) => bare.sign(digest?.length === 32 ? Uint8Array.from(digest) : new Uint8Array(0)),
    })),
  },
  {
    check: WRONG_LENGTH,
    broken: "throws instead of rejecting",
    complaint: /threw .* instead of returning a promise/,
    harness: harnessOf(() => ({
      sign: () => {
        throw new SignerError("invalid_argument", "digest: expected 32 bytes");
      },
    })),
  },
  {
    check: WRONG_LENGTH,
    broken: "rejects with a TypeError",
    complaint: /rejected with TypeError: .*, expected a SignerError/,
    harness: harnessOf(() => ({ sign: () => Promise.reject(new TypeError("digest: expected 32 bytes")) })),
  },
  {
    check: WRONG_LENGTH,
    broken: "calls it transient",
    complaint: /transient is true on an error with code invalid_argument/,
    harness: harnessOf(() => ({
      sign: () => Promise.reject(Object.defineProperty(invalidDigest(), "transient", { value: true })),
    })),
  },
  {
    check: NOT_CHANGED,
    broken: "writes into the digest",
    complaint: /changed when sign\(\) returned/,
    harness: harnessOf((bare) => ({ sign: (digest) => bare.sign(digest.fill(0)) })),
  },
  {
    check: NOT_CHANGED,
    broken: "wipes the digest when it is done",
    complaint: /changed when sign\(\) resolved/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        const signature = await bare.sign(digest, options);
        digest.fill(0);
        return signature;
      },
    })),
  },
  {
    check: NOT_KEPT,
    broken: "reads the digest later",
    complaint: /overwritten after the call does not verify/,
    harness: harnessOf((bare) => ({
      sign: async (digest) => {
        await pause(1);
        return bare.sign(digest);
      },
    })),
  },
  {
    check: NOT_KEPT,
    broken: "copies by slice(), which is a view of a Buffer",
    complaint: /overwritten after the call does not verify/,
    harness: harnessOf((bare) => ({ sign: (digest) => later(bare, digest.slice()) })),
  },
  {
    check: NOT_KEPT,
    broken: "hashes the signing input later",
    complaint: /overwritten after the call does not verify/,
    harness: harnessOf((bare) => ({
      sign: async (digest, options) => {
        const copy = Uint8Array.from(digest);
        await pause(1);
        return bare.sign(options?.signingInput === undefined ? copy : sha256(options.signingInput));
      },
    })),
  },
  {
    check: VIEW,
    broken: "signs the start of the underlying buffer",
    complaint: /view into a larger buffer does not verify/,
    harness: harnessOf((bare) => ({ sign: (digest) => bare.sign(new Uint8Array(digest.buffer, 0, 32)) })),
  },
];

async function later(bare: Signer, digest: Uint8Array): Promise<Uint8Array> {
  await pause(1);
  return bare.sign(digest);
}

function invalidDigest(): SignerError {
  return new SignerError("invalid_argument", "digest: expected 32 bytes");
}
