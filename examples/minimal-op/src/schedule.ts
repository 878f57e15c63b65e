import {
  createLimiter,
  createRotationSchedule,
  type GuardedSigner,
  type GuardPolicy,
  type RotationSchedule,
  type ScheduledEntry,
} from "@signpost/core";

/** The schedule file: the same on every replica. It holds names of keys and moments, and no secret. */
export interface Schedule {
  readonly maxTokenLifetimeSeconds: number;
  readonly keys: readonly ScheduledKey[];
}

export interface ScheduledKey {
  /** A key URI, such as `awskms:///arn:aws:kms:…`. Opened when the OP starts. */
  readonly uri?: string | undefined;
  /** Instead, once the key signs no more: its public half as SPKI PEM. The key itself may be gone. */
  readonly publicKey?: string | undefined;
  readonly announcedFrom: string;
  readonly activeFrom: string;
}

export interface OpenedSchedule {
  readonly schedule: RotationSchedule;
  readonly signers: readonly GuardedSigner[];
}

export type OpenKey = (uri: string, policy: GuardPolicy) => Promise<GuardedSigner>;

/** Less than what a client waits for at the token endpoint, and than the grace period of a shutdown. */
export const SIGNING_DEADLINE_MS = 3000;

/** Opens every key, also the one that is to sign months from now: a key that cannot be used shows at once. */
export async function openSchedule(
  { keys, maxTokenLifetimeSeconds }: Schedule,
  open: OpenKey,
  now: () => number = Date.now,
): Promise<OpenedSchedule> {
  // One budget: the quota of the KMS is for all keys together.
  const limiter = createLimiter({ concurrency: 16, maxQueue: 500 });
  const policy = { limiter, deadlineMs: SIGNING_DEADLINE_MS, attemptTimeoutMs: 1000 };
  const signers: GuardedSigner[] = [];
  try {
    const entries: ScheduledEntry[] = [];
    for (const { uri, publicKey, announcedFrom, activeFrom } of keys) {
      if (uri === undefined) {
        entries.push({ publicKey: publicKey ?? "", announcedFrom, activeFrom });
      } else {
        const signer = await open(uri, policy);
        signers.push(signer);
        entries.push({ signer, announcedFrom, activeFrom });
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
