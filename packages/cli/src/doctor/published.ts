import { VerifyError, type P256PublicJwk } from "@signpost/core";
import { createRemoteKeySet, type RemoteKeyFunction } from "@signpost/verify";
import { isOnLoopback } from "../network/host.ts";
import { printable } from "../terminal/printable.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** Compares the keys of a configuration with the key set that its OP serves. */
export interface PublishedKeys {
  readonly jwksUri: string;
  compare(key: ComparedKey, signal: AbortSignal): Promise<Finding>;
}

/** A key as the configuration has it. */
export interface ComparedKey {
  readonly keyId: string;
  readonly publicKey: P256PublicJwk;
  /** Whether it should be published: `later` is before its announcement, `maybe` is after it stopped signing. */
  readonly expected: "now" | "later" | "maybe";
}

export function publishedKeys(jwksUri: string): PublishedKeys {
  // As an issuer may be with allowInsecureIssuer. Anyone on the way could replace the keys.
  if (!jwksUri.startsWith("https:") && !isOnLoopback(jwksUri)) {
    const finding = note("published", `not compared: ${jwksUri} is plain HTTP on another machine`);
    return { jwksUri, compare: async () => finding };
  }
  const keys = createRemoteKeySet(jwksUri, { allowInsecureLoopback: true });
  return { jwksUri, compare: (key, signal) => compare(keys, key, signal) };
}

async function compare(
  keys: RemoteKeyFunction,
  { keyId, publicKey, expected }: ComparedKey,
  signal: AbortSignal,
): Promise<Finding> {
  const kid = printable(keyId);
  if (expected === "later") return note("published", `${kid} is announced later, so it is not compared`);
  try {
    const key = await keys.withSignal(signal)({ alg: "ES256", kid: keyId });
    const { x, y } = await crypto.subtle.exportKey("jwk", key);
    if (x === publicKey.x && y === publicKey.y) return ok("published", `${keys.jwksUri} has this key as ${kid}`);
    return problem(
      "published",
      `${keys.jwksUri} has another key as ${kid}`,
      "Stop signing with this key: tokens would not verify. A kid names one key for good",
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof VerifyError)) throw error;
    if (error.transient) {
      return warning(
        "published",
        `not compared: ${printable(error.message)}`,
        "Serve the key set, or check the network",
      );
    }
    // It is not in the set, and no entry was left out that it may be in.
    const isAway = error.code === "unknown_kid" && !error.message.includes("left out");
    if (expected === "maybe" && isAway)
      return note("published", `${keys.jwksUri} no longer has ${kid}, which has stopped signing`);
    if (isAway) {
      return problem(
        "published",
        `${keys.jwksUri} has no usable key ${kid}`,
        "Publish the key before it signs, or correct keyId or the issuer",
      );
    }
    return problem(
      "published",
      `${keys.jwksUri} has no usable key ${kid}: ${printable(error.message)}`,
      "Publish the key as the endpoint of Signpost does, or find out what changes the set on the way",
    );
  }
}
