import { setTimeout } from "node:timers/promises";
import { SignerError } from "@signpost/core";
import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { configurationHint } from "../request/configuration-hint.ts";
import type { KeyRequest, TokenRequest } from "../request/key-request.ts";
import { selectAgain, selectToken } from "../request/select-token.ts";
import type { ThreadModule } from "./module.ts";
import { whileInitialized } from "./while-initialized.ts";

/** A module lists the tokens from the time of its initialization. A newer token needs a fresh start. */
export async function findToken(
  module: ThreadModule,
  request: TokenRequest & Pick<KeyRequest, "before">,
): Promise<TokenDescription> {
  const { selector, before } = request;
  const hint = configurationHint(request.module);
  const select = (tokens: TokenList): TokenDescription =>
    before === undefined ? selectToken(tokens, selector, hint) : selectAgain(tokens, before.token, hint);
  const list = await listTokens(module);
  try {
    return select(list);
  } catch (error) {
    const isEmpty = list.tokens.length + list.unreadable.length === 0;
    const isMissing = error instanceof SignerError && error.code !== "ambiguous_key" && !isEmpty;
    if (!isMissing || !(await startAgain(module, list))) throw error;
    return select(await listTokens(module));
  }
}

/**
 * Whether there may be another list. SoftHSM never rereads a token that it once failed to read because another process
 * logged in to it. It always needs a fresh start, unless another opening has made one meanwhile.
 */
async function startAgain({ life }: ThreadModule, { unreadable }: TokenList): Promise<boolean> {
  if (unreadable.length === 0) return life.freshStarts.lookAgain();
  await setTimeout(Math.ceil(life.freshStarts.lookAgainInMs()));
  await life.freshStarts.reinitialize(undefined);
  return true;
}

function listTokens({ life }: ThreadModule): Promise<TokenList> {
  return whileInitialized(life.freshStarts, () => life.tokens());
}
