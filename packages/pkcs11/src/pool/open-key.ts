import type { KeyRequest } from "../request/key-request.ts";
import type { SigningKey } from "../wire/signing-key.ts";
import { findToken } from "./find-token.ts";
import type { LoginPins } from "./login-pins.ts";
import type { ThreadModule } from "./module.ts";
import { openingError } from "./opening-error.ts";
import type { TokenPool } from "./pool.ts";
import { releaseModule, retainModule } from "./registry.ts";

/** Opens a key with worker threads of this process. `pins`: for logins, the same for every key. */
export async function openThreadKey(request: KeyRequest, pins: LoginPins): Promise<SigningKey> {
  try {
    const module = await retainModule({ module: request.module, libraryParameters: request.libraryParameters });
    return await orRelease(openInModule(module, request, pins), () => releaseModule(module));
  } catch (error) {
    throw openingError(error, request);
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
    status: () => pool.status(key),
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
