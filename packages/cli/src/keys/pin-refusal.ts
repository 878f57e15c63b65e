import { SignerError } from "@signpost/core";

/** How the adapter names a PIN that it gets from this command. */
const OPTION = /the (?:function of the )?option pin(?:Source)?\b/;
/** For programs. A command that ends remembers nothing. */
const FORGET = /\. If you fixed the token instead, call forgetRefusedPins\(\)/;

/** The same, where there is something else to do before. */
const FORGET_THEN = /\bcall forgetRefusedPins\(\)(?: or restart this process|, which allows it)/;

/** The adapter's error about a PIN, with the place where this command has it from. `place`: undefined if the adapter says it. */
export function inOurWords(error: unknown, place: string | undefined): unknown {
  if (!(error instanceof SignerError) || (error.code !== "pin_incorrect" && error.code !== "pin_locked")) return error;
  const { code, cause, uri } = error;
  const message = error.message.replace(FORGET, "").replace(FORGET_THEN, "run this command again");
  return new SignerError(code, place === undefined ? message : message.replace(OPTION, place), { cause, uri });
}
