import { deepEqual } from "node:assert/strict";
import type { CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { CALL_BOUND_MS, rejectionOf, within, withSigner } from "../settle.ts";

const WRONG_LENGTHS = [0, 1, 20, 31, 33, 48, 64];

/** Values that are not bytes but have 32 of something. JavaScript callers may pass them. */
const NOT_BYTES: readonly (readonly [name: string, value: unknown])[] = [
  ["a string of 32 characters", "0".repeat(32)],
  ["an array of 32 numbers", Array.from({ length: 32 }, () => 1)],
  ["a Uint16Array of 32 elements", new Uint16Array(32)],
  ["an ArrayBuffer of 32 bytes", new ArrayBuffer(32)],
  ["undefined", undefined],
];

/** Checks that a signer handles its digest correctly. */
export const digestChecks: readonly CheckDefinition[] = [
  {
    name: "a digest that is not 32 bytes is refused with invalid_argument",
    run: (context) =>
      withSigner(context, async (signer) => {
        for (const length of WRONG_LENGTHS) {
          await rejectionOf(
            () => signer.sign(new Uint8Array(length)),
            ["invalid_argument"],
            `a digest of ${length} bytes`,
          );
        }
        for (const [name, value] of NOT_BYTES) {
          await rejectionOf(() => signer.sign(value as Uint8Array), ["invalid_argument"], `${name} as the digest`);
        }
      }),
  },
  {
    name: "the digest is not changed",
    run: (context) =>
      withSigner(context, async (signer) => {
        const message = newMessage();
        const digest = message.digest();
        const signing = signer.sign(digest);
        deepEqual(digest, message.digest(), "the digest was changed when sign() returned");
        await within(signing, CALL_BOUND_MS, "sign()");
        deepEqual(digest, message.digest(), "the digest was changed when sign() resolved");
      }),
  },
  {
    name: "the digest is not kept: the caller may overwrite it, and its signing input, right after the call",
    run: (context) =>
      withSigner(context, async (signer) => {
        const key = nodeKeyOf(signer.publicKey);
        // Buffer.slice() does not copy. A signer that copies with slice() only passes with a Uint8Array.
        const kinds = [(bytes: Uint8Array) => bytes, (bytes: Uint8Array) => Buffer.from(bytes)];
        for (const kind of kinds) {
          for (const withInput of [false, true]) {
            const message = newMessage();
            const digest = kind(message.digest());
            const signingInput = kind(Uint8Array.from(message.signingInput));
            const signing = signer.sign(digest, withInput ? { signingInput } : {});
            digest.fill(0xa5);
            signingInput.fill(0xa5);
            const signature = await within(signing, CALL_BOUND_MS, "sign()");
            assertSignature(key, message, signature, "the signature of a digest that was overwritten after the call");
          }
        }
      }),
  },
  {
    name: "a digest that is a view into a larger buffer is signed as these 32 bytes",
    run: (context) =>
      withSigner(context, async (signer) => {
        const key = nodeKeyOf(signer.publicKey);
        const message = newMessage();
        const page = new Uint8Array(128).fill(0x5a);
        page.set(message.digest(), 48);
        const signature = await within(signer.sign(page.subarray(48, 80)), CALL_BOUND_MS, "sign()");
        assertSignature(key, message, signature, "the signature of a view into a larger buffer");
      }),
  },
];
