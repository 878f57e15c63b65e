import { ConfigurationError, nameSigner, SignerError, type SignerErrorCode } from "../errors.ts";
import { elapsedMs, type Instant, readInstant } from "../instant.ts";
import { given } from "../options/given.ts";
import { checkedOptions } from "./arguments.ts";
import type { Signer, SignOptions } from "./contract.ts";
import { settlingSigner } from "./create.ts";
import { createFailoverRecord } from "./failover-record.ts";
import { insideOf, showInside } from "./inside.ts";
import { requireBare } from "./mark.ts";
import { onAbort } from "./on-abort.ts";
import { markPlace, notePlace, type Place, placeOf } from "./places.ts";

const RETRY_FIRST_AFTER_MS = 30_000;

/**
 * One key held in several places (a Multi-Region key, a pair of HSMs) as one bare signer: guard it outside,
 * so that the guard's attempts move along. Each `sign` uses one signer. A transient failure or a timed-out
 * attempt moves the next attempt to the next signer, and so does a standby's refusal for good, and a signature that
 * `signWith` finds bad; once 30 s have passed, one call tries the first again, and its success brings the others back.
 *
 * While another signer than the first is used, the health of the guard is `degraded` at best, since one more failure may
 * be an outage. Its notes say which signer is used and why, and events name it as `place`.
 *
 * `close()` closes all of them.
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
  /** Of both clocks, since a machine that slept has waited too. */
  let leftFirstAt: Instant | undefined;
  const record = createFailoverRecord(all);
  /** Which signer a signature comes from, by the place that it names: a session or client of the signer, or itself. */
  const origins = new WeakMap<Place, number>();

  /** True for one call in 30 s that tries the first signer again: the others stay where signatures are made. */
  const probesFirst = (): boolean => {
    if (current === 0 || (leftFirstAt !== undefined && elapsedMs(leftFirstAt) < RETRY_FIRST_AFTER_MS)) return false;
    leftFirstAt = readInstant();
    return true;
  };
  const leave = (index: number, error: SignerError): void => {
    if (index === 0) leftFirstAt = readInstant();
    if (index !== current) return;
    current = (index + 1) % all.length;
    record.left(index, error.code);
  };
  const signedBadly = (place: Place, error: SignerError): void => {
    const index = origins.get(place);
    if (index !== undefined) leave(index, error);
  };
  const backToFirst = (): void => {
    current = 0;
    record.returned();
  };
  const sign = async (digest: Uint8Array, options: SignOptions = {}): Promise<Uint8Array> => {
    const checked = checkedOptions(options);
    const { signal } = checked;
    const probe = probesFirst();
    const index = probe ? 0 : current;
    const signer = all[index] ?? first;
    notePlace(signal, signer);
    // A timed-out attempt shows in its signal at once; its backend may not settle before the next attempt begins.
    const letGo = onAbort(signal, () => {
      if (isTransient(signal?.reason)) leave(index, signal.reason);
    });
    try {
      const signature = await signer.sign(digest, checked);
      // Not a call that began before the first was left, and none that was given up: still too slow.
      if (probe && signal?.aborted !== true) backToFirst();
      // Each place gives bytes of this call alone, so that the mark is of this call too.
      const place = placeOf(signature) ?? signer;
      origins.set(place, index);
      return markPlace(signature, place);
    } catch (error) {
      const named = nameSigner(error, signer.uri);
      if (signal?.aborted === true) throw named;
      if (isTransient(error)) leave(index, error);
      // A place that refuses for good (its replica disabled) must not cost a caller its signature: the first, where one call
      // tries it again, and a standby, which the others were moved to.
      else if ((probe || index !== 0) && isRefusal(error)) {
        leave(index, error);
        throw placeRefuses(named, signer.uri, index);
      }
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
      allowOverdue: (count) => {
        for (const place of all) insideOf(place)?.allowOverdue(count);
      },
      signedBadly,
    }),
  );
}

/** Bare signers of one key, each of which settles. */
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
  const problem = index === 0 ? "the first signer still fails" : "the standby refuses, and the next place is tried";
  return new SignerError("unavailable", problem, { cause, uri });
}

/** What no other place would do better. */
const OF_THE_CALLER: ReadonlySet<SignerErrorCode> = new Set(["invalid_argument", "closed", "aborted"]);

function isRefusal(error: unknown): error is SignerError {
  return error instanceof SignerError && !OF_THE_CALLER.has(error.code);
}

function isTransient(error: unknown): error is SignerError {
  return error instanceof SignerError && error.transient;
}
