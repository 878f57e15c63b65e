import {
  createLimiter,
  createRotationSchedule,
  type GuardedSigner,
  type GuardPolicy,
  type RotationSchedule,
  type ScheduledEntry,
} from "@signpost/core";

/** The schedule file, the same on every replica. It contains names of keys and times, and no secret. */
export interface Schedule {
  readonly maxTokenLifetimeSeconds: number;
  readonly keys: readonly ScheduledKey[];
}

export interface ScheduledKey {
  /** A key URI, such as `awskms:///arn:aws:kms:…`. Opened when the OP starts. */
  readonly uri?: string | undefined;
  /** Replaces `uri` once the key no longer signs: its public half as SPKI PEM. You may delete the key in the KMS. */
  readonly publicKey?: string | undefined;
  readonly announcedFrom: string;
  readonly activeFrom: string;
  /** Only for an entry that `emergencyRotation` changed, after a key was revoked: when that happened. */
  readonly emergencyAt?: string | undefined;
}

export interface OpenedSchedule {
  readonly schedule: RotationSchedule;
  readonly signers: readonly GuardedSigner[];
}

export type OpenKey = (uri: string, policy: GuardPolicy) => Promise<GuardedSigner>;

/** Less than the timeout of clients at the token endpoint, and less than the grace period of a shutdown. */
export const SIGNING_DEADLINE_MS = 3000;

/** Opens every key, even one that will sign in months, so that a key that does not work is noticed immediately. */
export async function openSchedule(
  { keys, maxTokenLifetimeSeconds }: Schedule,
  open: OpenKey,
  now: () => number = Date.now,
): Promise<OpenedSchedule> {
  // All keys share one budget, because they share the quota of the KMS.
  const limiter = createLimiter({ concurrency: 16, maxQueue: 500 });
  const policy = { limiter, deadlineMs: SIGNING_DEADLINE_MS, attemptTimeoutMs: 1000 };
  const signers: GuardedSigner[] = [];
  try {
    const entries: ScheduledEntry[] = [];
    for (const { uri, publicKey, announcedFrom, activeFrom, emergencyAt } of keys) {
      const dates = { announcedFrom, activeFrom, emergencyAt };
      if (uri === undefined) {
        entries.push({ publicKey: publicKey ?? "", ...dates });
      } else {
        const signer = await open(uri, policy);
        signers.push(signer);
        entries.push({ signer, ...dates });
      }
    }
    const onDrop = async (entry: ScheduledEntry): Promise<void> => {
      if ("signer" in entry) await entry.signer.close();
    };
    return { schedule: createRotationSchedule(entries, { maxTokenLifetimeSeconds, onDrop, now }), signers };
  } catch (error) {
    await Promise.all(signers.map((signer) => signer.close()));
    throw error;
  }
}
