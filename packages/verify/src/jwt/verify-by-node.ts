import { verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { inPoolOrHere, isPoolLate } from "@signpost/core/adapter";
import { TokenError } from "../errors.ts";
import type { CompactJws } from "../token/compact.ts";
import { requireSignatureLength } from "../token/signature.ts";
import type { Scheme } from "../token/algorithms.ts";

/** With fewer tokens, waking a thread takes longer than it saves: measured 1.2 times as long for one or two, the same from eight on. */
const MIN_FOR_THREADS = 4;
/** The threads of the pool also serve files and DNS. More tokens would wait longer for them. */
const MAX_ON_THREADS = 64;

/** Verifies one signature, at once if there is no promise. `inFlight`: how many tokens are being verified, with this one. */
export type VerifyByNode = (
  jwt: string,
  jws: CompactJws,
  key: KeyObject,
  scheme: Scheme,
  inFlight: number,
) => Promise<void> | undefined;

/**
 * Verifies by node:crypto. A few tokens are verified here and now. Many are verified on libuv's threads, which use all cores and
 * leave the event loop free.
 */
export function createVerifyByNode(): VerifyByNode {
  let onThreads = 0;

  function verifyOnThread([digest, data, key, signature]: Inputs): Promise<void> {
    return new Promise((resolve, reject) => {
      onThreads += 1;
      verify(digest, data, key, signature, (error, valid) => {
        onThreads -= 1;
        if (valid) resolve();
        else reject(badSignature(error ?? undefined));
      });
    });
  }

  return (jwt, jws, key, { digest, parameters }, inFlight) => {
    requireSignatureLength(jws);
    // The parts were checked to be base64url.
    const data = Buffer.from(jwt.slice(0, jwt.lastIndexOf(".")), "latin1");
    const inputs: Inputs = [digest, data, { key, ...parameters }, jws.signature];
    if (inFlight >= MIN_FOR_THREADS && onThreads < MAX_ON_THREADS && !isPoolLate())
      return inPoolOrHere(verifyOnThread(inputs), () => verifyHere(inputs));
    verifyHere(inputs);
    return undefined;
  };
}

function verifyHere(inputs: Inputs): void {
  let valid: boolean;
  try {
    valid = verify(...inputs);
  } catch (error) {
    throw badSignature(error);
  }
  if (!valid) throw badSignature();
}

function badSignature(cause?: unknown): TokenError {
  return new TokenError("bad_signature", "the signature does not verify", cause === undefined ? {} : { cause });
}

type Inputs = [
  digest: string | undefined,
  data: Buffer,
  key: { readonly key: KeyObject } & Scheme["parameters"],
  signature: Uint8Array,
];
