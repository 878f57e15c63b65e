import { ecdsaRawToDer, EncodingError, type P256PublicJwk, SignerError, type SignOptions } from "@signpost/core";
import { ckrRule, describeCode } from "../cryptoki/ckr.ts";
import { CKR_USER_NOT_LOGGED_IN } from "../cryptoki/constants.ts";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import { describeLabel } from "../cryptoki/label.ts";
import type { PrivateKeyQuery } from "../request/key-request.ts";
import type { PinSource } from "../request/pin.ts";
import { createProbe, publicKeyOf, sameKey } from "../request/public-key.ts";
import { CommandError } from "../wire/command-error.ts";
import type { RunCommand } from "../wire/commands.ts";
import type { TokenLogin } from "./login.ts";
import type { PooledSession } from "./session.ts";

/** A session taken for work with one key, and what else that work needs. */
export interface TakenSession {
  readonly session: PooledSession;
  readonly run: RunCommand;
  readonly login: TokenLogin;
  /** The key's number in the pool. */
  readonly key: number;
  /** The PIN of the key's signer. */
  readonly pin: PinSource;
  /** A call that runs longer counts as hanging. Milliseconds. */
  readonly hangMs: number;
  /** The waiting caller's call. */
  readonly call: SignOptions;
}

/**
 * Works with a key. If one of its halves is hidden or unusable without a login, although the token's flags ask for none,
 * logs in and tries once more.
 */
export async function withLogin<Value>({ run, login, pin }: TakenSession, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!isLoginMissing(error)) throw error;
    // It was looked up after a login, and is not there.
    if (error instanceof PublicKeyMissing && (await run("session", null)).loggedIn) throw error;
    if (!(await login.loginUnasked(run, pin, error.message))) throw error;
    return work();
  }
}

function isLoginMissing(error: unknown): error is Error {
  if (error instanceof PublicKeyMissing) return true;
  if (!(error instanceof CommandError)) return false;
  const { failure } = error;
  if (failure.kind === "key") return failure.code === "key_not_found" && failure.withoutLogin;
  return failure.kind === "cryptoki" && failure.code === CKR_USER_NOT_LOGGED_IN;
}

/** Looks up the key in the session. Nothing is proven yet. */
export async function lookUpKey(
  { session, run, key }: TakenSession,
  query: PrivateKeyQuery,
): Promise<PrivateKeyDescription> {
  const found = await run("findKey", { key, query });
  session.keys.set(key, { alwaysAuthenticate: found.alwaysAuthenticate });
  return found;
}

/** One signature, with its own login if the key requires one. */
export async function signDigest(taken: TakenSession, digest: Uint8Array): Promise<Uint8Array> {
  const { session, run, login, key, hangMs, call } = taken;
  if (session.keys.get(key)?.alwaysAuthenticate === true)
    await login.authenticate(run, key, { signal: call.signal, hangMs });
  return run("sign", { key, digest }, hangMs);
}

/**
 * The public half of a key that is being opened, from the caller or from the token. A signature proves it.
 *
 * @throws SignerError `key_not_found` when neither has it, `wrong_key`, `bad_signature`, `integrity`
 */
export async function proveNewKey(
  taken: TakenSession,
  found: PrivateKeyDescription,
  given: P256PublicJwk | undefined,
): Promise<P256PublicJwk> {
  const label = describeLabel(found.label);
  const publicKey = given ?? publicKeyOf(found);
  if (publicKey === undefined) throw publicKeyMissing(label, found);
  if (await signsAs(taken, publicKey)) return publicKey;
  throw given === undefined
    ? new SignerError(
        "bad_signature",
        `a signature of ${label} does not verify under the public key that the token shows for it`,
      )
    : new SignerError("wrong_key", `publicKey: ${label} signs with a different key`);
}

/** The token shows no public half. It may be hidden without a login. */
class PublicKeyMissing extends SignerError {}

/** The token shows no public half. If it refused for a temporary reason, it may show it another time. */
function publicKeyMissing(label: string, { id, untold }: PrivateKeyDescription): SignerError {
  const missing =
    id.length === 0
      ? `${label} has no CKA_ID, by which its public key or certificate is found`
      : `the token holds no public key or certificate with the CKA_ID of ${label}`;
  const refusal = untold === undefined ? "" : `, or refused to show it (${untold.call}: ${describeCode(untold.code)})`;
  const mayPass = untold !== undefined && ckrRule(untold.code).action === "reinitialize";
  const message = `publicKey: ${missing}${refusal}; set this option`;
  return mayPass ? new SignerError("unavailable", message) : new PublicKeyMissing("key_not_found", message);
}

/** What a key must match that is found in another session, or found again. */
export interface ProvenKey {
  readonly publicKey: P256PublicJwk;
  /** The caller gave the public half, so the token's objects do not count. */
  readonly pinned: boolean;
}

/**
 * Makes sure that a key is the one that was opened. The token's public objects may be out of date, so a signature
 * is always required. `recovered`: a recovery since then may have led to another key.
 *
 * @throws SignerError `wrong_key`; `bad_signature` without a recovery; `integrity`
 */
export async function proveSameKey(
  taken: TakenSession,
  found: PrivateKeyDescription,
  { publicKey, pinned }: ProvenKey,
  recovered: boolean,
): Promise<void> {
  const label = describeLabel(found.label);
  const shown = pinned ? undefined : publicKeyOf(found);
  if (shown !== undefined && !sameKey(shown, publicKey)) {
    throw new SignerError("wrong_key", `the token now holds a different key as ${label}`);
  }
  if (await signsAs(taken, publicKey)) return;
  throw recovered
    ? new SignerError("wrong_key", `the token now signs with a different key as ${label}`)
    : new SignerError("bad_signature", `a signature of ${label} does not verify under its public key`);
}

async function signsAs(taken: TakenSession, publicKey: P256PublicJwk): Promise<boolean> {
  const probe = createProbe();
  const signature = await signDigest(taken, probe.digest);
  try {
    ecdsaRawToDer(signature);
  } catch (cause) {
    if (!(cause instanceof EncodingError)) throw cause;
    throw new SignerError("integrity", "C_Sign: the module returned something that is not a signature of any key", {
      cause,
    });
  }
  return probe.verifies(publicKey, signature);
}
