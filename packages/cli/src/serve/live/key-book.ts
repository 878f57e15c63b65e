import { isDeepStrictEqual } from "node:util";
import { SignpostError, type KeySetEntry, type P256PublicJwk } from "@signpost/core";
import { p256JwkFrom } from "@signpost/core/adapter";
import { withoutCertificates } from "../../config/certificate-files.ts";
import { entriesOf, inOrder, resolvedAdapters, standIn } from "../../config/config-keys.ts";
import type { ConfigEntry } from "../../config/config.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { AdapterOptions } from "../../keys/adapters.ts";
import { keyUriScheme } from "../../keys/adapters.ts";
import { keyOpener, withKey, type OpenKey } from "../../keys/open-key.ts";
import { pinAsker } from "../../keys/secrets.ts";
import type { CliContext } from "../../program/context.ts";
import { at } from "../../program/place.ts";

/** The public keys that a server has read from backends. It never signs, so it keeps nothing open. */
export interface KeyBook {
  /**
   * The entries of a configuration with their public keys. Opens the keys that were not read before, or all of them `again`. Then a
   * key that cannot be opened is still the one that was read before.
   */
  read(loaded: LoadedConfig, again: boolean): Promise<readonly KeySetEntry[]>;
}

/** A key that was read. The same URI may lead to another key with other options. */
interface Known {
  readonly options: AdapterOptions;
  readonly publicKey: P256PublicJwk;
}

/** `onKept` is told why a key could not be opened that is known from before. */
export function createKeyBook(context: CliContext, onKept: (place: string, error: unknown) => void): KeyBook {
  // With those of earlier configurations, since a change may be taken back while a backend is away.
  const known = new Map<string, Known>();
  let ask = pinAsker(context);

  const openAndRead = async (open: OpenKey, uri: string): Promise<P256PublicJwk> => {
    try {
      return await withKey(open, uri, async ({ publicKey }) => publicKey);
    } catch (error) {
      // A person who mistyped the PIN is asked again the next time.
      if (error instanceof SignpostError && error.code === "pin_incorrect") ask = pinAsker(context);
      throw error;
    }
  };

  return {
    async read(loaded, again) {
      const { config, name } = loaded;
      const { list, path } = entriesOf(config);
      let opener: Promise<OpenKey> | undefined;
      const publicKeyOf = async (uri: string, place: string): Promise<P256PublicJwk> => {
        const options = config.adapters?.[keyUriScheme(uri)] ?? {};
        const before = known.get(uri);
        const isSame = before !== undefined && isDeepStrictEqual(before.options, options);
        if (isSame && !again) return before.publicKey;
        // Only now, because a secret may have to be asked for.
        opener ??= resolvedAdapters(loaded, context).then((adapters) =>
          keyOpener(context, adapters, (token) => ask(token)),
        );
        try {
          const publicKey = await openAndRead(await opener, uri);
          known.set(uri, { options, publicKey });
          return publicKey;
        } catch (error) {
          if (!isSame || context.signal.aborted) throw error;
          onKept(place, error);
          return before.publicKey;
        }
      };
      return inOrder(list, async (entry, index) => {
        const place = `${path}[${index}]`;
        const { signer: uri } = entry;
        if (uri === undefined) return withStandIn(entry, `${name}: ${place}`);
        const publicKey = await at(`${name}: ${place}.signer: `, () => publicKeyOf(uri, `${place}.signer`));
        return withSigner(entry, publicKey);
      });
    },
  };
}

/** The entries with a new key for each that has a URI: for checks before any key is opened. */
export async function unopenedEntries({ config, name }: LoadedConfig): Promise<readonly KeySetEntry[]> {
  const { list, path } = entriesOf(config);
  return inOrder(list, async (entry, index) => {
    const place = `${name}: ${path}[${index}]`;
    const { signer: uri, ...rest } = entry;
    if (uri === undefined) return withStandIn(entry, place);
    await at(`${place}.signer: `, () => keyUriScheme(uri));
    return { ...withoutCertificates(rest), signer: standIn() };
  });
}

/** This server signs nothing, so a key needs no signer here, even one that signs. */
async function withStandIn(entry: ConfigEntry, place: string): Promise<KeySetEntry> {
  const { publicKey } = entry;
  // The key set says what is wrong with neither of both.
  if (publicKey === undefined) return entry as KeySetEntry;
  const read = await at(`${place}.publicKey: `, () => p256JwkFrom(publicKey, "publicKey"));
  // Of a JWK, also the members that the key set compares: kid, alg and use.
  const given = typeof publicKey === "string" ? read : { ...publicKey, ...read };
  return withSigner(entry, given);
}

function withSigner({ signer: _uri, publicKey: _key, ...rest }: ConfigEntry, publicKey: P256PublicJwk): KeySetEntry {
  return { ...rest, signer: { ...standIn(publicKey), publicKey } };
}
