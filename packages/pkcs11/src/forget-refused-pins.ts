import { processPins } from "./sharing/process-pins.ts";

/**
 * Forgets which PINs the tokens have refused, in every thread of this process, so that Signpost may send them again. Call it
 * after you fixed a token and not its PIN. Open signers try again within five seconds. Without this call, a process never sends
 * a refused PIN to the same token again, and sends none at all once the token has refused two. After it, a token may lock.
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
