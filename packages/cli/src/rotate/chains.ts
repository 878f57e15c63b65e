import { ConfigurationError } from "@signpost/core";
import { firstToExpire, isPlainObject, p256JwkFrom, readCertificates } from "@signpost/core/adapter";
import { contentOf } from "../config/certificate-files.ts";
import { certifiedKeyOf } from "../config/certified-key.ts";
import { isSchedule, type ConfigEntry, type ConfigSchedule } from "../config/config.ts";
import { publishedSpan } from "../config/published-spans.ts";
import { expiresSoon } from "../doctor/certificates.ts";
import { below, inspectRotation, type Rotation, type RotationKey } from "./inspect.ts";
import { entriesPath, type RotationSource, type SourceFile } from "./source.ts";
import type { Finding } from "./validate/finding.ts";

/** A file with the content of the files that its certificates name. */
export interface CertifiedSource {
  readonly file: SourceFile;
  /** Those that cannot be read. Their entries go without certificates. */
  readonly unread: readonly ConfigurationError[];
}

/** Reads the files of certificates, and goes on after one that cannot be read. Nothing else of the file is checked. */
export async function withCertificateFiles(file: SourceFile, cwd: string): Promise<CertifiedSource> {
  const unread: ConfigurationError[] = [];
  const readEntry = async (entry: unknown, place: string): Promise<unknown> => {
    if (!isPlainObject(entry) || !isPlainObject(entry["certificates"])) return entry;
    const { certificates, ...rest } = entry;
    try {
      const chain = await contentOf(certificates["chain"], `${place}.certificates.chain`, cwd);
      const trustAnchors = await contentOf(certificates["trustAnchors"], `${place}.certificates.trustAnchors`, cwd);
      return { ...rest, certificates: { ...certificates, chain, trustAnchors } };
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      unread.push(error);
      return rest;
    }
  };
  const readList = async (list: unknown, path: string): Promise<unknown> =>
    Array.isArray(list)
      ? Promise.all(list.map((entry: unknown, index) => readEntry(entry, `${path}[${index}]`)))
      : list;
  const { value } = file;
  if (!isPlainObject(value)) return { file, unread };
  const { keys } = value;
  const read = file.isBare
    ? { ...value, entries: await readList(value["entries"], "entries") }
    : isPlainObject(keys)
      ? { ...value, keys: { ...keys, entries: await readList(keys["entries"], "keys.entries") } }
      : { ...value, ...("keys" in value ? { keys: await readList(keys, "keys") } : {}) };
  return { file: { ...file, value: read }, unread };
}

/** Why the program of the OP refuses the chains of a schedule that takes the place of the one in a file. */
export async function refusedChains(
  { file, config }: RotationSource,
  schedule: ConfigSchedule,
  now: number,
  cwd: string,
): Promise<readonly string[]> {
  const alone = await withCertificateFiles({ ...file, isBare: true, value: schedule }, cwd);
  const read = alone.file.value as ConfigSchedule;
  const path = file.isBare ? "" : "keys";
  const { mistakes } = inspectRotation(read, { path, now, trailing: config, certificates: true });
  const unread = alone.unread.map((error) => below(path, error));
  const refused = [...unread, ...mistakes.filter(({ argument }) => argument.includes("].certificates"))];
  return refused.map(({ message }) => `the OP refuses the file: ${message}`);
}

/** The chains that end soon, while their keys are published, and the keys without a chain next to keys with one. */
export function certificateWarnings(
  source: RotationSource,
  { keys }: Pick<Rotation, "keys">,
  now: number,
): readonly Finding[] {
  const entries: readonly ConfigEntry[] = isSchedule(source.keys) ? source.keys.entries : source.keys;
  const plannedAt = (index: number): RotationKey | undefined =>
    isSchedule(source.keys) ? keys.find((key) => key.index === index) : undefined;
  const isCertified = entries.some(
    ({ certificates }, index) =>
      certificates !== undefined && (plannedAt(index)?.withdrawnFrom ?? Number.POSITIVE_INFINITY) > now,
  );
  return entries.flatMap((entry, index): readonly Finding[] => {
    const { certificates } = entry;
    const planned = plannedAt(index);
    const span = planned === undefined ? undefined : publishedSpan(planned);
    const place = `${entriesPath(source)}[${index}]`;
    if (certificates === undefined) {
      const signsLater = planned === undefined ? index === 0 : planned.retiringFrom > now;
      return isCertified && signsLater ? [withoutChain(place)] : [];
    }
    const publicKey =
      entry.publicKey === undefined ? certifiedKeyOf(certificates) : p256JwkFrom(entry.publicKey, "key");
    if (publicKey === undefined) return [];
    const first = firstToExpire(
      readCertificates("certificates", certificates, { keyId: entry.keyId ?? "", publicKey }),
    );
    const soon = expiresSoon(first, span, now);
    return soon === undefined
      ? []
      : [{ level: "warning", rule: "certificate", path: `${place}.certificates.chain`, ...soon }];
  });
}

function withoutChain(path: string): Finding {
  return {
    level: "note",
    rule: "certificate",
    path,
    text: "has no certificates, and other entries have. A token that shows them cannot be signed with this key",
    todo: "Add its chain before it signs, unless your tokens show none",
  };
}
