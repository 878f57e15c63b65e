import { generateKeyPairSync, sign } from "node:crypto";
import { ecdsaRawToDer } from "@signpost/core";
import type { SignerHarness } from "@signpost/conformance";
import { harnessOf, sha256 } from "./broken.ts";
import type { BrokenSigner } from "./broken.ts";
import { createTestKey } from "./reference.ts";

const JOSE_AND_NODE = "a signature is 64 bytes that jose and node:crypto verify";
const LEADING_ZEROS = "r and s with leading zero bytes keep their 32 bytes";
const LEADING_ZEROS_NATIVE = `${LEADING_ZEROS} when the signing input is passed too`;
const OTHER_INPUT =
  "a signing input that does not hash to the digest changes nothing: the signature is over the digest";
const OWN_RESULT = "a returned signature belongs to the caller: later calls do not change it";

/** What the signer does to each good signature. */
const reshaping = (reshape: (signature: Uint8Array) => unknown) =>
  harnessOf((bare) => ({ sign: async (...call) => reshape(await bare.sign(...call)) as Uint8Array }));

/** The same, only on the path that signs natively. */
const reshapingNative = (reshape: (signature: Uint8Array) => Uint8Array) =>
  harnessOf((bare) => ({
    sign: async (digest, options) => {
      const signature = await bare.sign(digest, options);
      return options?.signingInput === undefined ? signature : reshape(signature);
    },
  }));

function withoutLeadingZeros(half: Uint8Array): Uint8Array {
  return half.subarray(half.findIndex((byte) => byte !== 0));
}

const stripped = (signature: Uint8Array): Uint8Array =>
  Buffer.concat([withoutLeadingZeros(signature.subarray(0, 32)), withoutLeadingZeros(signature.subarray(32))]);

function paddedAtTheEnd(signature: Uint8Array): Uint8Array {
  const result = new Uint8Array(64);
  result.set(withoutLeadingZeros(signature.subarray(0, 32)), 0);
  result.set(withoutLeadingZeros(signature.subarray(32)), 32);
  return result;
}

/** Signers that give wrong signatures. */
export const BROKEN_SIGNATURES: readonly BrokenSigner[] = [
  { check: JOSE_AND_NODE, broken: "returns DER", complaint: /expected 64 bytes/, harness: reshaping(ecdsaRawToDer) },
  {
    check: JOSE_AND_NODE,
    broken: "returns s before r",
    complaint: /does not verify/,
    harness: reshaping((raw) => Buffer.concat([raw.subarray(32), raw.subarray(0, 32)])),
  },
  {
    check: JOSE_AND_NODE,
    broken: "hashes the digest again",
    complaint: /does not verify/,
    harness: harnessOf((bare) => ({ sign: (digest) => bare.sign(sha256(digest)) })),
  },
  {
    check: JOSE_AND_NODE,
    broken: "signs with another key than it publishes",
    complaint: /does not verify/,
    harness: harnessOf(() => ({ sign: async (digest) => createTestKey().sign(digest) })),
  },
  {
    check: JOSE_AND_NODE,
    broken: "returns hexadecimal text",
    complaint: /not a Uint8Array/,
    harness: reshaping((raw) => Buffer.from(raw).toString("hex")),
  },
  {
    check: LEADING_ZEROS,
    broken: "strips leading zeros",
    complaint: /expected 64 bytes/,
    harness: reshaping(stripped),
  },
  { check: LEADING_ZEROS, broken: "pads at the end", complaint: /does not verify/, harness: reshaping(paddedAtTheEnd) },
  {
    check: LEADING_ZEROS_NATIVE,
    broken: "never returns a leading zero in r",
    complaint: /none of 5000 signatures has an r/,
    forms: ["bare"],
    harness: signingNativelyWithoutZeroAt(0),
  },
  {
    check: LEADING_ZEROS_NATIVE,
    broken: "never returns a leading zero in s",
    complaint: /none of 5000 signatures has an s/,
    forms: ["bare"],
    harness: signingNativelyWithoutZeroAt(32),
  },
  {
    check: LEADING_ZEROS_NATIVE,
    broken: "strips leading zeros there",
    complaint: /expected 64 bytes/,
    harness: reshapingNative(stripped),
  },
  {
    check: LEADING_ZEROS_NATIVE,
    broken: "pads at the end there",
    complaint: /does not verify/,
    harness: reshapingNative(paddedAtTheEnd),
  },
  {
    check: OTHER_INPUT,
    broken: "hashes and signs the signing input unseen",
    complaint: /does not verify/,
    harness: harnessOf((bare) => ({
      sign: (digest, options) => bare.sign(options?.signingInput === undefined ? digest : sha256(options.signingInput)),
    })),
  },
  {
    check: OTHER_INPUT,
    broken: "signs an empty signing input",
    complaint: /does not verify/,
    harness: harnessOf((bare) => ({
      sign: (digest, options) => bare.sign(options?.signingInput?.length === 0 ? sha256(new Uint8Array()) : digest),
    })),
  },
  {
    check: OWN_RESULT,
    broken: "returns one output buffer every time",
    complaint: /first signature, after a second one was made, does not verify/,
    harness: harnessOf((bare) => {
      const output = new Uint8Array(64);
      return {
        sign: async (...call) => {
          output.set(await bare.sign(...call));
          return output;
        },
      };
    }),
  },
];

/** Signs again, with fresh randomness, until that byte is not zero. Natively, since 5,000 signatures are needed. */
function signingNativelyWithoutZeroAt(index: number): () => SignerHarness {
  return harnessOf(() => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    return {
      publicKey: { kty: "EC", crv: "P-256", x, y },
      sign: async (_digest, options) => {
        const input = options?.signingInput ?? new Uint8Array(0);
        let signature: Uint8Array;
        do signature = sign("sha256", input, { key: privateKey, dsaEncoding: "ieee-p1363" });
        while (signature[index] === 0);
        return signature;
      },
    };
  });
}
