import { processPins } from "./sharing/process-pins.ts";

/**
 * Forgets which PINs the tokens have refused, in every thread of this process, so that they are sent again: for an operator who
 * mended a token and not its PIN. Open signers try within five seconds. Without it a refused PIN is not sent again to its token as
 * long as the process lives, and none at all once the token has refused two. A token that locks may lock then.
 *
 * Never rejects.
 *
 * @example
 * ```ts
 * import { forgetRefusedPins } from "@signpost/pkcs11";
 *
 * process.on("SIGUSR2", () => void forgetRefusedPins());
 * ```
 */
export async function forgetRefusedPins(): Promise<void> {
  await processPins().forgetRefusals();
}
