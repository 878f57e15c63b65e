import type { ScheduledEntry } from "@signpost/core";
import { inspectSchedule, type InspectedKey } from "@signpost/core/adapter";
import { withoutCertificates } from "./certificate-files.ts";
import { standIn } from "./config-keys.ts";
import { isSchedule, type Config } from "./config.ts";

/** When a key is published. In milliseconds since 1970. A key of a list is published now, and for good. */
export interface PublishedSpan {
  readonly from: number;
  readonly until: number;
}

/** When the entries of a schedule are published, by their index. None for a list. Opens no keys. */
export function publishedSpans({
  keys,
  encryptionKeyset,
  legacyVerificationKeys,
}: Config): ReadonlyMap<number, PublishedSpan> {
  if (!isSchedule(keys)) return new Map();
  const { entries, ...options } = keys;
  const unopened = entries.map(({ signer, ...entry }) => {
    const rest = withoutCertificates(entry);
    return (signer === undefined ? rest : { ...rest, signer: standIn() }) as ScheduledEntry;
  });
  const inspected = inspectSchedule(unopened, { ...options, encryptionKeyset, legacyVerificationKeys });
  return new Map(inspected.keys.map((key) => [key.index, publishedSpan(key)]));
}

/** From when to when a schedule publishes a key. In an emergency, it is active before it is announced. */
export function publishedSpan({ announcedFrom, activeFrom, withdrawnFrom }: InspectedKey): PublishedSpan {
  return { from: Math.min(announcedFrom, activeFrom), until: withdrawnFrom };
}
