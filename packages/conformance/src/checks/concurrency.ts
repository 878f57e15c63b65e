import type { CheckDefinition } from "../harness.ts";
import { assertSignature, newMessage, nodeKeyOf } from "../message.ts";
import { CALL_BOUND_MS, oneOfMany, within, withSigner } from "../settle.ts";

const CONCURRENT = 200;

/** Checks that a signer handles many callers correctly. */
export const concurrencyChecks: readonly CheckDefinition[] = [
  {
    name: `${CONCURRENT} concurrent calls each get the signature of their own digest`,
    run: (context) =>
      withSigner(context, async (signer) => {
        const key = nodeKeyOf(signer.publicKey);
        const messages = Array.from({ length: CONCURRENT }, newMessage);
        const calls = messages.map((message, index) =>
          oneOfMany(context, () =>
            signer.sign(message.digest(), index % 2 === 0 ? {} : { signingInput: message.signingInput }),
          ),
        );
        // Verified after all calls are done, to catch results that share a buffer.
        const signatures = await Promise.all(calls);
        messages.forEach((message, index) => {
          assertSignature(key, message, signatures[index], `signature ${index + 1} of ${CONCURRENT} concurrent ones`);
        });
      }),
  },
  {
    name: "two signers on one key do not disturb each other, and closing one leaves the other working",
    run: (context) =>
      withSigner(context, (one) =>
        withSigner(context, async (other) => {
          const signing = [one, other, one, other].map(async (signer) => {
            const message = newMessage();
            const signature = await within(signer.sign(message.digest()), CALL_BOUND_MS, "sign()");
            assertSignature(nodeKeyOf(signer.publicKey), message, signature, "a signature made next to another signer");
          });
          await Promise.all(signing);
          await within(other.close(), CALL_BOUND_MS, "close()");
          const message = newMessage();
          const signature = await within(
            one.sign(message.digest()),
            CALL_BOUND_MS,
            "sign() after another signer closed",
          );
          assertSignature(nodeKeyOf(one.publicKey), message, signature, "the signature after another signer closed");
        }),
      ),
  },
];
