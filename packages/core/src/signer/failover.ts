import { ConfigurationError, nameSigner, SignerError, type SignerErrorCode } from "../errors.ts";
import { elapsedMs, type Instant, readInstant } from "../instant.ts";
import { given } from "../given.ts";
import { checkedOptions, copiedDigest } from "./arguments.ts";
import { checkedSignature } from "./attempt.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { settlingSigner } from "./create.ts";
import { createFailoverRecord, placeNames } from "./failover-record.ts";
import { insideOf, showInside } from "./inside.ts";
import { requireBare } from "./mark.ts";
import { onAbort } from "./on-abort.ts";
import { madeAt, noteMade, notePlace, onBadSignature, type Place, placeOf } from "./places.ts";

const RETRY_FIRST_AFTER_MS = 30_000;

/**
 * One bare signer for a key in several places (a Multi-Region key, a pair of HSMs). Put a guard around it, so that the
 * guard's attempts can use different places. Each `sign` uses one signer. The next attempt uses the next signer after a
 * transient failure, a timed-out attempt, a permanent refusal by a standby or by a first signer that was left before, or a
 * bad signature by any place. After 30 s one call tries the first signer again. If it succeeds, all calls return to it.
 *
 * While a signer other than the first is used, or the adapter of any of them says that it is not ready, the health of the
 * guard is at best `degraded`, since one more failure may be an outage. The notes say which signer is used and why, and
 * events name it as `place`.
 *
 * `close()` closes all signers.
 *
 * @throws ConfigurationError for an empty list, a guarded signer, or public keys that differ.
 * @example
 * ```ts
 * import { failoverSigner, guardSigner, type Signer } from "@signpost/core";
 *
 * declare const frankfurt: Signer;
 * declare const dublin: Signer;
 * const signer = guardSigner(failoverSigner([frankfurt, dublin]));
 * ```
 */
export function failoverSigner(signers: readonly Signer[]): Signer {
  const [first, ...others] = readPlaces(signers);
  if (first === undefined) throw new ConfigurationError("signers", "expected at least one signer");
  const all = [first, ...others];

  let current = 0;
  /** On both clocks, since time counts while the machine sleeps. */
  let leftFirstAt: Instant | undefined;
  const record = createFailoverRecord(all);
  const named = placeNames(all).map((uri, index): Place => (all[index]?.uri === uri ? all[index] : { uri }));

  /** True for one call in 30 s, which tries the first signer again. All other calls stay with the current signer. */
  const probesFirst = (): boolean => {
    if (current === 0 || (leftFirstAt !== undefined && elapsedMs(leftFirstAt) < RETRY_FIRST_AFTER_MS)) return false;
    leftFirstAt = readInstant();
    return true;
  };
  /** How many places refused permanently in a row. */
  let refusals = 0;
  const leave = (index: number, error: SignerError): void => {
    if (index === 0) leftFirstAt = readInstant();
    if (index !== current) return;
    refusals = error.transient ? 0 : refusals + 1;
    current = (index + 1) % all.length;
    record.left(index, error.code);
  };
  /**
   * Whether another place may still sign after a permanent refusal (a disabled replica). The first place speaks for the key
   * until it was left, and again if all standbys refuse too. Otherwise a single failure of a standby that signs would send
   * all calls back to a first place that refuses, for good.
   */
  const mayMoveOn = (index: number): boolean => index !== 0 || (leftFirstAt !== undefined && refusals < all.length - 1);
  const succeeded = (index: number, probe: boolean): void => {
    if (index === current) refusals = 0;
    // Not for a call from before the failover.
    if (index !== 0 || !(probe || current === 0)) return;
    current = 0;
    leftFirstAt = undefined;
    record.returned();
  };
  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    const checked = checkedOptions(options);
    const { signal } = checked;
    const probe = probesFirst();
    const index = probe ? 0 : current;
    const signer = all[index] ?? first;
    const place = named[index] ?? signer;
    notePlace(signal, place);
    // A timeout aborts the signal immediately. The backend may not settle before the next attempt starts.
    const letGo = onAbort(signal, () => {
      if (isTransient(signal?.reason)) leave(index, signal.reason);
    });
    try {
      const noted = copiedDigest(digest);
      // Here too, and not by the guard alone: a result that is not a signature must not bring calls back to the first.
      const signature = checkedSignature(await signer.sign(digest, checked));
      // Not if it timed out: then it is still too slow.
      if (signal?.aborted !== true) succeeded(index, probe);
      // The bytes belong to this call alone, so the mark cannot get onto another signature.
      onBadSignature(signature, (error) => leave(index, error));
      return noteMade(noted, madeAt(signature, placeWithin(place, signer, placeOf(signature))));
    } catch (error) {
      const named = nameSigner(error, signer.uri);
      if (signal?.aborted === true) throw named;
      if (isTransient(error)) leave(index, error);
      // It must not cost the caller its signature.
      else if (isRefusal(error) && (probe || mayMoveOn(index))) {
        leave(index, error);
        throw placeRefuses(named, signer.uri, index);
      }
      // As where `signWith` finds it: the place is at fault, and not the key.
      else if (isRefusal(error) && error.code === "bad_signature") leave(index, error);
      throw named;
    } finally {
      letGo();
    }
  };

  const signer: Signer = {
    uri: `failover:${all.map(({ uri }) => uri).join(",")}`,
    publicKey: first.publicKey,
    sign,
    close: async (): Promise<void> => {
      const results = await Promise.allSettled(all.map(async (place) => place.close()));
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
  };
  return Object.freeze(
    showInside(signer, {
      status: () => record.status(current),
      notes: () => record.notes(current),
      leftBehind: () => all.reduce((sum, place) => sum + (insideOf(place)?.leftBehind() ?? 0), 0),
      refusesHedging: all.map((place) => insideOf(place)?.refusesHedging).find((reason) => reason !== undefined),
      allowOverdue: (count) => {
        for (const place of all) insideOf(place)?.allowOverdue(count);
      },
    }),
  );
}

/**
 * The place of a signature. `inner` is the one that the signer names itself, such as its session. It keeps the name of a
 * numbered place, and has to prove itself each time.
 */
function placeWithin(place: Place, signer: Signer, inner: Place = signer): Place {
  if (inner === signer) return place;
  return place === signer ? inner : { uri: place.uri };
}

/** Bare signers of one key, each with the rules of `createSigner`. */
function readPlaces(signers: unknown): readonly Signer[] {
  if (!Array.isArray(signers)) {
    throw new ConfigurationError("signers", `expected a list of signers, got ${given(signers)}`);
  }
  const places = Array.from<Signer, Signer>(signers, (signer, index) => {
    requireBare(`signers[${index}]`, signer);
    return settlingSigner(signer);
  });
  for (const [index, { publicKey }] of places.entries()) {
    if (publicKey.x !== places[0]?.publicKey.x || publicKey.y !== places[0].publicKey.y) {
      throw new ConfigurationError(`signers[${index}]`, "expected the same public key as signers[0]");
    }
  }
  return places;
}

function placeRefuses(cause: unknown, uri: string, index: number): SignerError {
  const problem =
    index === 0 ? "the first signer still fails" : "the standby refuses; the next attempt uses the next place";
  return new SignerError("unavailable", problem, { cause, uri });
}

/** Failures that would be the same at every place. */
const OF_THE_CALLER: ReadonlySet<SignerErrorCode> = new Set(["invalid_argument", "closed", "aborted"]);

function isRefusal(error: unknown): error is SignerError {
  return error instanceof SignerError && !OF_THE_CALLER.has(error.code);
}

function isTransient(error: unknown): error is SignerError {
  return error instanceof SignerError && error.transient;
}
