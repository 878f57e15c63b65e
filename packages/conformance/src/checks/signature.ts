import { ok } from "node:assert/strict";
import { setImmediate as macrotask } from "node:timers/promises";
import type { Signer } from "@signpost/core";
import type { CheckContext, CheckDefinition } from "../harness.ts";
import { assertSignature, assertSignatureByJose, newMessage, nodeKeyOf } from "../message.ts";
import { CALL_BOUND_MS, oneOfMany, within, withSigner } from "../settle.ts";

/** One signature in 256 has such an r, and one in 256 such an s. The odds that 5,000 have none are 3 in a billion. */
const MAX_SIGNATURES = 5_000;
/** Concurrent calls, the guard's default. With a backend of 50 ms the check takes two seconds. */
const IN_FLIGHT = 16;

/** Checks that signatures are correct. */
export const signatureChecks: readonly CheckDefinition[] = [
  {
    name: "a signature is 64 bytes that jose and node:crypto verify",
    run: (context) =>
      withSigner(context, async (signer) => {
        const key = nodeKeyOf(signer.publicKey);
        for (let round = 0; round < 3; round += 1) {
          const message = newMessage();
          const signature = await within(signer.sign(message.digest()), CALL_BOUND_MS, "sign()");
          assertSignature(key, message, signature, "the signature");
          await assertSignatureByJose(signer.publicKey, message, signature, "the signature");
        }
      }),
  },
  {
    name: "r and s with leading zero bytes keep their 32 bytes",
    run: (context) => untilLeadingZeros(context, false),
  },
  {
    name: "r and s with leading zero bytes keep their 32 bytes when the signing input is passed too",
    run: (context) => untilLeadingZeros(context, true),
  },
  {
    name: "a signing input that does not hash to the digest changes nothing: the signature is over the digest",
    run: (context) =>
      withSigner(context, async (signer) => {
        const key = nodeKeyOf(signer.publicKey);
        for (const signingInput of [newMessage().signingInput, new Uint8Array(0)]) {
          const message = newMessage();
          const signature = await within(signer.sign(message.digest(), { signingInput }), CALL_BOUND_MS, "sign()");
          assertSignature(key, message, signature, "the signature with a signing input of another digest");
        }
      }),
  },
  {
    name: "a returned signature belongs to the caller: later calls do not change it",
    run: (context) =>
      withSigner(context, async (signer) => {
        const message = newMessage();
        const signature = await within(signer.sign(message.digest()), CALL_BOUND_MS, "sign()");
        await within(signer.sign(newMessage().digest()), CALL_BOUND_MS, "sign()");
        const what = "the first signature, after a second one was made,";
        assertSignature(nodeKeyOf(signer.publicKey), message, signature, what);
      }),
  },
];

async function untilLeadingZeros(context: CheckContext, withInput: boolean): Promise<void> {
  await withSigner(context, async (signer) => {
    const key = nodeKeyOf(signer.publicKey);
    const seen = { r: false, s: false, count: 0, failed: false };
    const worker = async (): Promise<void> => {
      while (!(seen.r && seen.s) && seen.count < MAX_SIGNATURES && !seen.failed) {
        seen.count += 1;
        const message = newMessage();
        const options = withInput ? { signingInput: message.signingInput } : {};
        const signature = await oneOfMany(context, () => signer.sign(message.digest(), options));
        assertSignature(key, message, signature, `signature ${seen.count}`);
        await noteLeadingZeros(signer, message, signature, seen);
        // A signer that answers immediately would block every timer of the process.
        await macrotask();
      }
    };
    const stopping = (error: unknown): never => {
      seen.failed = true;
      throw error;
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, () => worker().catch(stopping)));
    ok(seen.r, `none of ${seen.count} signatures has an r that starts with a zero byte`);
    ok(seen.s, `none of ${seen.count} signatures has an s that starts with a zero byte`);
  });
}

async function noteLeadingZeros(
  { publicKey }: Signer,
  message: ReturnType<typeof newMessage>,
  signature: Uint8Array,
  seen: { r: boolean; s: boolean },
): Promise<void> {
  const r = signature[0] === 0;
  const s = signature[32] === 0;
  if (!r && !s) return;
  await assertSignatureByJose(publicKey, message, signature, "a signature with a leading zero byte");
  seen.r ||= r;
  seen.s ||= s;
}
