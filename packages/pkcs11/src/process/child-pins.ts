import { SignerError } from "@signpost/core";
import { releaseModule, retainModule } from "../pool/registry.ts";
import type { PinSource } from "../request/pin.ts";
import { selectToken } from "../request/select-token.ts";
import type { OpenInput, ToChild, ToParent } from "../wire/child-messages.ts";
import { fromWire } from "../wire/wire-error.ts";

type PinAnswer = Extract<ToChild, { type: "pin" }>;

/** The child's questions for PINs, which only the parent knows. */
export interface PinQuestions {
  /** The PIN of a key. It is asked for on each login. */
  source(input: OpenInput): PinSource;
  answered(answer: PinAnswer): void;
}

/** `send` reaches the parent. */
export function createPinQuestions(send: (message: ToParent) => void): PinQuestions {
  const open = new Map<number, (answer: PinAnswer) => void>();
  let next = 0;

  const ask = (pin: number): Promise<PinAnswer> =>
    new Promise((resolve) => {
      const question = next++;
      open.set(question, resolve);
      send({ type: "pin", question, pin });
    });

  return {
    source: (input) => ({
      // The number tells equal PINs from others.
      identity: input.pin,
      read: async () => {
        await requireNotRefused(input);
        const { pin, error } = await ask(input.pin);
        if (error !== undefined) throw fromWire(error);
        if (pin === undefined) throw new Error("the parent process has no PIN");
        return pin;
      },
    }),
    answered: (answer) => {
      open.get(answer.question)?.(answer);
      open.delete(answer.question);
    },
  };
}

/** Which token a key is on is known here alone, and whether it has refused a PIN in an earlier child, to the parent alone. */
async function requireNotRefused({ selector, refused, ...file }: OpenInput): Promise<void> {
  if (refused.length === 0) return;
  const module = await retainModule({ module: file.module, libraryParameters: file.libraryParameters });
  try {
    const { label, serial } = selectToken(await module.tokens(), selector);
    const refusal = refused.find((token) => token.label === label && token.serial === serial);
    if (refusal !== undefined) throw new RefusedError(fromWire(refusal.error));
  } finally {
    await releaseModule(module);
  }
}

/** Says beneath what the login makes of it why no PIN was given. */
class RefusedError extends Error {
  readonly refusal: Error;

  constructor(refusal: Error) {
    super("the token has refused a PIN");
    this.refusal = refusal;
  }
}

/** The refusal of an earlier child, where it is the reason. */
export function refusalBeneath(error: unknown): unknown {
  const cause = error instanceof SignerError ? error.cause : undefined;
  return cause instanceof RefusedError ? cause.refusal : error;
}
