import type { P256PublicJwk, Signer } from "@signpost/core";
import { openAdapterSigner, type CallBounds, type OpeningPlan } from "@signpost/core/adapter";
import type { ListedVersion } from "./list-versions.ts";
import { healthOf, readVersion, sign, type Place } from "./open.ts";
import { formatKeyUri } from "./uri.ts";

/** What a version can do: sign, or only be published. */
export type VersionHalf = { readonly signer: Signer } | { readonly publicKey: P256PublicJwk };

/** The public keys and the signers of the versions, each read and opened once. */
export interface VersionHalves {
  /** In the order of the versions. A version that has expired has no signer. */
  of(versions: readonly ListedVersion[], bounds: CallBounds): Promise<readonly VersionHalf[]>;
  close(): Promise<void>;
}

/** How many versions are read at a time. */
const AT_ONCE = 8;

export function createVersionHalves(place: Place, plan: OpeningPlan): VersionHalves {
  const publicKeys = new Map<string, P256PublicJwk>();
  const signers = new Map<string, Signer>();

  /** A list has no public keys. */
  const readPublicKey = async ({ keyVersion }: ListedVersion, bounds: CallBounds): Promise<void> => {
    if (publicKeys.has(keyVersion)) return;
    const { publicKey } = await readVersion({ ...place, name: { ...place.name, keyVersion } }, bounds);
    publicKeys.set(keyVersion, publicKey);
  };
  const halfOf = async ({ keyVersion, expires, notes }: ListedVersion): Promise<VersionHalf> => {
    const publicKey = publicKeys.get(keyVersion);
    if (publicKey === undefined) throw new TypeError("expected a public key that was read");
    if (expires !== undefined && expires.getTime() <= Date.now()) return { publicKey };
    const known = signers.get(keyVersion);
    if (known !== undefined) return { signer: known };
    const signer = await openVersion(place, plan, { name: keyVersion, publicKey, notes });
    signers.set(keyVersion, signer);
    return { signer };
  };
  return {
    of: async (versions, bounds) => {
      for (let index = 0; index < versions.length; index += AT_ONCE) {
        await Promise.all(versions.slice(index, index + AT_ONCE).map((each) => readPublicKey(each, bounds)));
      }
      const halves: VersionHalf[] = [];
      // One after the other, so that a failure leaves no opening behind.
      for (const version of versions) halves.push(await halfOf(version));
      return halves;
    },
    close: async () => {
      await Promise.allSettled([...signers.values()].map((signer) => signer.close()));
    },
  };
}

/** A signer on connections that the set of keys closes. */
function openVersion(
  place: Place,
  plan: OpeningPlan,
  opened: { readonly name: string; readonly publicKey: P256PublicJwk; readonly notes: readonly string[] },
): Promise<Signer> {
  return openAdapterSigner(
    // The caller's signal only ends the opening of the set.
    { ...plan, bounds: { ...plan.bounds, signal: undefined } },
    {
      name: opened.name,
      readKey: async () => opened,
      uriOf: (keyVersion) => formatKeyUri({ ...place.name, keyVersion }),
      signDigest: (keyVersion, digest, bounds) => sign(place, keyVersion, digest, bounds),
      ...healthOf(place),
      close: async () => {},
    },
  );
}
