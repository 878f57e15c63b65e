import { createPublicKey, X509Certificate } from "node:crypto";
import { createLocalJWKSet, type JSONWebKeySet } from "jose";
import {
  createKeySet,
  type EntryCertificates,
  type KeySet,
  serializeJwks,
  type Signer,
  type SignerError,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createAuthority } from "@signpost/test-backends/authority";

/** Two keys of an issuer, and where it is in the rotation from one to the other. */
export interface RotatingKeys {
  /** The set that is current now. The function itself is the source. */
  readonly source: () => KeySet;
  /** Nothing has rotated yet. */
  start(): void;
  /** From now on the second key signs, and the first one is still published. */
  rotate(): void;
  /** An emergency: the first key is published no longer. */
  withdraw(): void;
  /** From now on each signature fails with this error. */
  fail(error: SignerError): void;
  /** What a verifier finds in the key set of the issuer. */
  jwks(): JSONWebKeySet;
  /** The certificates in the entries. */
  readonly issued: IssuedChains;
  close(): Promise<void>;
}

export const OLD = "old";
export const NEXT = "next";

/** The keys. With a host name, each entry has certificates: that of the key for this name, and an authority below a root. */
export async function createRotatingKeys(hostname?: string): Promise<RotatingKeys> {
  const [old, next]: readonly Signer[] = await Promise.all([openLocalSigner(), openLocalSigner()]);
  if (old === undefined || next === undefined) throw new Error("no signers");
  let failure: SignerError | undefined;
  const failing = ({ uri, publicKey, sign, close }: Signer): Signer => ({
    uri,
    publicKey,
    sign: (digest, options) => (failure === undefined ? sign(digest, options) : Promise.reject(failure)),
    close,
  });
  const [oldSigner, nextSigner] = [failing(old), failing(next)];
  const issued = hostname === undefined ? NONE : issueChains(hostname, { [OLD]: old, [NEXT]: next });
  const certificatesOf = (kid: string): EntryCertificates | undefined => {
    const chain = issued.chains.get(kid);
    return chain === undefined ? undefined : { chain, trustAnchors: issued.anchor };
  };
  const [oldEntry, nextEntry] = [OLD, NEXT].map((keyId) => ({ keyId, certificates: certificatesOf(keyId) }));
  const first = createKeySet([
    { ...oldEntry, signer: oldSigner },
    { ...nextEntry, publicKey: next.publicKey },
  ]);
  const rotated = createKeySet([
    { ...nextEntry, signer: nextSigner },
    { ...oldEntry, publicKey: old.publicKey },
  ]);
  const withdrawn = createKeySet([{ ...nextEntry, signer: nextSigner }]);
  let current = first;
  return {
    source: () => current,
    start: () => {
      current = first;
      failure = undefined;
    },
    rotate: () => {
      current = rotated;
    },
    withdraw: () => {
      current = withdrawn;
    },
    fail: (error) => {
      failure = error;
    },
    jwks: () => JSON.parse(new TextDecoder().decode(serializeJwks(current).body)) as JSONWebKeySet,
    issued,
    close: async () => {
      await Promise.all([oldSigner.close(), nextSigner.close()]);
    },
  };
}

/**
 * 1,000 results, 25 at a time. The keys rotate while the 21st batch is being made: its headers name the old key, and are
 * signed after the rotation.
 */
export async function aroundRotation<Result>(keys: RotatingKeys, make: () => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let batch = 0; batch < 40; batch += 1) {
    const made = Promise.all(Array.from({ length: 25 }, make));
    if (batch === 20) keys.rotate();
    results.push(...(await made));
  }
  return results;
}

/** For jose: the key of a kid in the published set, and no other. */
export function keyOf(keys: RotatingKeys): ReturnType<typeof createLocalJWKSet> {
  return createLocalJWKSet(keys.jwks());
}

/** A certificate authority, and the chains that it has issued for the keys of an issuer. */
export interface IssuedChains {
  /** The trust anchor, as PEM. */
  readonly anchor: string;
  /** By kid, in the form of the header `x5c`: the certificate of the key, and that of the authority below the anchor. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

const NONE: IssuedChains = { anchor: "", chains: new Map() };

function issueChains(hostname: string, signers: Readonly<Record<string, Signer>>): IssuedChains {
  const root = createAuthority("Root");
  const authority = root.authority("Authority");
  const chainOf = (jwk: Signer["publicKey"]): string[] => {
    const publicKey = createPublicKey({ key: { ...jwk }, format: "jwk" });
    const pem = authority.certify({ name: hostname, publicKey, dns: hostname, uri: `https://${hostname}` });
    return [new X509Certificate(pem).raw.toString("base64"), authority.base64];
  };
  const chains = Object.entries(signers).map(([kid, { publicKey }]) => [kid, chainOf(publicKey)] as const);
  return { anchor: root.pem, chains: new Map(chains) };
}
