import { healthOf } from "../forms.ts";
import type { CheckDefinition } from "../harness.ts";
import { newMessage } from "../message.ts";
import { assertErrorKeepsSecrets, assertValueKeepsSecrets } from "../secrets.ts";
import { CALL_BOUND_MS, outcomeOf, within, withSigner } from "../settle.ts";

/** Checks that nothing that may be logged contains a secret. The checks of faults search their own errors. */
export const secrecyChecks: readonly CheckDefinition[] = [
  {
    name: "errors show no secret and no digest: message, stack, causes, JSON and util.inspect",
    run: (context) =>
      withSigner(context, async (signer) => {
        const { secrets } = context;
        const digest = newMessage().digest();
        await assertSecretless(
          () => signer.sign(digest.subarray(0, 31)),
          digest.subarray(0, 31),
          secrets,
          "a short digest",
        );
        await assertSecretless(
          () => signer.sign(digest, { signal: AbortSignal.abort() }),
          digest,
          secrets,
          "an aborted call",
        );
        await within(signer.close(), CALL_BOUND_MS, "close()");
        await assertSecretless(() => signer.sign(digest), digest, secrets, "a call after close");
      }),
  },
  {
    name: "the signer, its uri and its health show no secret when they are printed",
    run: (context) =>
      withSigner(context, async (signer) => {
        const { secrets } = context;
        assertValueKeepsSecrets(signer.uri, secrets, "uri");
        assertValueKeepsSecrets(signer, secrets, "the signer");
        assertValueKeepsSecrets(healthOf(signer), secrets, "health()");
      }),
  },
];

async function assertSecretless(
  call: () => Promise<Uint8Array>,
  digest: Uint8Array,
  secrets: readonly string[],
  what: string,
): Promise<void> {
  const outcome = await outcomeOf(call, CALL_BOUND_MS, what);
  if ("error" in outcome) assertErrorKeepsSecrets(outcome.error, secrets, digest, `the error of ${what}`);
}
