import type { GuardedSigner } from "@signpost/core";
import { resolvedAdapters } from "../../config/config-keys.ts";
import { probeOnce } from "../../doctor/probe.ts";
import { keyOpener, type OpenKey } from "../../keys/open-key.ts";
import { pinAsker, pinTrier } from "../../keys/secrets.ts";
import type { CliContext } from "../../program/context.ts";
import { at } from "../../program/place.ts";
import type { RotationSource } from "../source.ts";

/** Opens keys of a file. */
export interface OpenKeys {
  /** Opens the key of a URI. A failure names its place. */
  open(place: string, uri: string): Promise<GuardedSigner>;
  /** The same, and signs and verifies a probe. */
  openAndProbe(place: string, uri: string): Promise<GuardedSigner>;
}

/** Does some work with keys of a file, and closes those that it opened. */
export async function withOpenKeys<Result>(
  context: CliContext,
  { file, config }: RotationSource,
  work: (keys: OpenKeys) => Promise<Result>,
): Promise<Result> {
  const adapters = config === undefined ? {} : await resolvedAdapters({ config, name: file.name }, context);
  const openUri: OpenKey = keyOpener(context, adapters, pinAsker(context));
  const tryPin = pinTrier();
  const opened: GuardedSigner[] = [];
  const open: OpenKeys["open"] = async (place, uri) => {
    const signer = await at(`${place}: `, () => tryPin(uri, () => openUri(uri)));
    opened.push(signer);
    return signer;
  };
  const openAndProbe: OpenKeys["openAndProbe"] = async (place, uri) => {
    const signer = await open(place, uri);
    await at(`${place}: `, () => context.during("Signing a probe", () => probeOnce(signer, context.signal)));
    return signer;
  };
  try {
    return await work({ open, openAndProbe });
  } finally {
    await Promise.all(opened.map((signer) => signer.close()));
  }
}
