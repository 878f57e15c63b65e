import { setTimeout } from "node:timers/promises";
import { ConfigurationError, SignerError } from "@signpost/core";
import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { configurationHint } from "../request/configuration-hint.ts";
import type { KeyRequest } from "../request/key-request.ts";
import { selectAgain, selectToken } from "../request/select-token.ts";
import { areParametersRefused, failedCall, isNotInitialized, toPublicError } from "../wire/command-error.ts";
import type { SigningKey } from "../wire/signing-key.ts";
import type { LoginPins } from "./login-pins.ts";
import type { ThreadModule } from "./module.ts";
import type { TokenPool } from "./pool.ts";
import { releaseModule, retainModule } from "./registry.ts";

/** Opens a key with worker threads of this process. `pins`: for logins, the same for every key. */
export async function openThreadKey(request: KeyRequest, pins: LoginPins): Promise<SigningKey> {
  try {
    const module = await retainModule({ module: request.module, libraryParameters: request.libraryParameters });
    return await orRelease(openInModule(module, request, pins), () => releaseModule(module));
  } catch (error) {
    throw explained(error, request);
  }
}

async function openInModule(module: ThreadModule, request: KeyRequest, pins: LoginPins): Promise<SigningKey> {
  const token = await findToken(module, request);
  const pool = await module.retainPool(token, pins);
  return orRelease(openInPool(module, pool, request), () => {
    pool.forgetPin(request.pin);
    return module.releasePool(pool);
  });
}

/** A module that cannot be initialized, or returns no functions, usually does not find its configuration. */
function explained(
  error: unknown,
  { module, libraryParameters }: Pick<KeyRequest, "module" | "libraryParameters">,
): SignerError | ConfigurationError {
  const told = toPublicError(error);
  const call = failedCall(error);
  if (libraryParameters !== undefined && areParametersRefused(error)) {
    const expected = `expected no parameters, or text that this module accepts: ${told.message}`;
    return new ConfigurationError("libraryParameters", expected, { cause: told.cause });
  }
  const hint = configurationHint(module);
  if (hint === undefined || (call !== "C_Initialize" && call !== "C_GetFunctionList")) return told;
  const { cause } = told;
  if (told instanceof SignerError) return new SignerError(told.code, `${told.message}. ${hint}`, { cause });
  // A module's missing features do not depend on its configuration.
  if (call === "C_Initialize") return told;
  return new ConfigurationError(told.argument, `${told.message.slice(told.argument.length + 2)}. ${hint}`, { cause });
}

/** A module lists the tokens from the time of its initialization. A newer token needs a fresh start. */
async function findToken(module: ThreadModule, request: KeyRequest): Promise<TokenDescription> {
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
    return select(await module.tokens());
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

/** Other code may have finalized the module between our C_Initialize and this. */
async function listTokens(module: ThreadModule): Promise<TokenList> {
  try {
    return await module.tokens();
  } catch (error) {
    if (!isNotInitialized(error)) throw error;
    await module.life.freshStarts.reinitialize(error);
    return module.tokens();
  }
}

async function openInPool(module: ThreadModule, pool: TokenPool, request: KeyRequest): Promise<SigningKey> {
  const { query, pin, hangMs, before } = request;
  await pool.start(pin, request.sessions, before !== undefined);
  const { key, found, publicKey } = await pool.openKey({
    query,
    publicKey: request.publicKey,
    publicKeyBefore: before?.publicKey,
    pin,
    hangMs,
  });
  return {
    publicKey,
    token: pool.sessions.token,
    sessions: pool.sessions.target,
    label: found.label,
    id: found.id,
    sign: (digest, call) => pool.sign({ key, digest, hangMs, call }),
    status: () => pool.status(),
    notes: () => pool.notes(pin),
    hanging: () => module.life.hanging.count,
    refusal: () => pool.refusal,
    close: async () => {
      pool.closeKey(key);
      pool.forgetPin(pin);
      await module.releasePool(pool);
      await releaseModule(module);
    },
  };
}

async function orRelease<Value>(opening: Promise<Value>, release: () => Promise<void>): Promise<Value> {
  try {
    return await opening;
  } catch (error) {
    await release();
    throw error;
  }
}
