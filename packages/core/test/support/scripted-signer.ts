import { generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { type Signer, type SignOptions, spkiToJwk } from "@signpost/core";

export interface BackendCall {
  readonly digest: Uint8Array;
  readonly signal: AbortSignal;
  readonly signingInput: Uint8Array | undefined;
  readonly sign: () => Uint8Array;
}

export type Behaviour = (call: BackendCall) => Promise<Uint8Array> | Uint8Array;

export interface ScriptedSigner {
  readonly signer: Signer;
  readonly publicKey: KeyObject;
  readonly calls: readonly BackendCall[];
  readonly closed: () => number;
}

/** A bare signer with a real key, whose nth call behaves as the nth behaviour says; the last one repeats. */
export function scriptedSigner(...behaviours: Behaviour[]): ScriptedSigner {
  return scriptedSignerOf(generateKeyPairSync("ec", { namedCurve: "P-256" }), ...behaviours);
}

export function scriptedSignerOf(
  { privateKey, publicKey }: KeyPairKeyObjectResult,
  ...behaviours: Behaviour[]
): ScriptedSigner {
  const secretKey = Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url");
  const calls: BackendCall[] = [];
  let closes = 0;
  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    const call: BackendCall = {
      digest,
      signal: options.signal ?? new AbortController().signal,
      signingInput: options.signingInput,
      sign: () => p256.sign(digest, secretKey, { prehash: false, lowS: false }),
    };
    calls.push(call);
    const behaviour = behaviours[Math.min(calls.length, behaviours.length) - 1] ?? signs;
    return behaviour(call);
  };
  return {
    signer: {
      uri: "scripted:key",
      publicKey: spkiToJwk(publicKey.export({ type: "spki", format: "der" })),
      sign,
      close: async () => {
        closes += 1;
      },
    },
    publicKey,
    calls,
    closed: () => closes,
  };
}

export const signs: Behaviour = (call) => call.sign();

/** Signs after `ms`, whatever its signal says. */
export const signsAfter =
  (ms: number): Behaviour =>
  async (call) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return call.sign();
  };

export const fails =
  (error: () => unknown): Behaviour =>
  async () => {
    throw error();
  };

/** Never settles before its signal aborts, as the contract of adapters says. */
export const hangsUntilAborted: Behaviour = (call) =>
  new Promise((_resolve, reject) => {
    call.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true });
  });

/** Never settles at all. */
export const hangs: Behaviour = () => new Promise(() => {});

export const answers =
  (result: unknown): Behaviour =>
  () =>
    result as Uint8Array;
