import { createJwksEndpoint, type EntryCertificates, jwkThumbprint } from "@signpost/core";
import { p256JwkFrom } from "@signpost/core/adapter";
import { entriesOf, requireConsistentKeys, resolvedAdapters } from "../config/config-keys.ts";
import { isSchedule, type Config, type ScheduledConfigEntry } from "../config/config.ts";
import { loadConfig, type LoadedConfig } from "../config/load-config.ts";
import { publishedSpans, type PublishedSpan } from "../config/published-spans.ts";
import { keyUriScheme, type AdapterOptions } from "../keys/adapters.ts";
import { keyOpener } from "../keys/open-key.ts";
import { pinAsker, pinReader, pinTrier, type AskPin, type TryPin } from "../keys/secrets.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { at } from "../program/place.ts";
import type { DoctorFlags } from "./command.ts";
import { certificateFinding } from "./certificates.ts";
import { examineKey, type KeyToExamine } from "./examine-key.ts";
import type { KeyReport } from "./finding.ts";
import { publishedKeys, type ComparedKey, type PublishedKeys } from "./published.ts";
import { printReport, printSummary } from "./render.ts";

const DEFAULT_SAMPLES = 10;

/** A key as the configuration or the command line names it. */
interface NamedKey {
  readonly name: string;
  readonly uri: string;
  readonly keyId: string | undefined;
  readonly expected: ComparedKey["expected"];
  readonly certificates?: EntryCertificates | undefined;
  readonly span?: PublishedSpan | undefined;
}

/** What a run is about. */
interface Examination {
  readonly adapters: Readonly<Record<string, AdapterOptions>>;
  /** The set to compare the keys with, if there is one. */
  readonly published: PublishedKeys | undefined;
  readonly named: readonly NamedKey[];
  /** What is known of keys that are not opened. */
  readonly others: readonly KeyReport[];
}

export async function runDoctor(context: CliContext, flags: DoctorFlags, uri?: string): Promise<ExitCode> {
  return examineAll(
    context,
    flags,
    uri === undefined ? await wholeConfig(context, flags) : await oneKey(context, flags, uri),
  );
}

/** A configuration that is named with a key has the options of its adapter. */
async function oneKey(context: CliContext, { config }: DoctorFlags, uri: string): Promise<Examination> {
  const adapters = config === undefined ? {} : await resolvedAdapters(await loadConfig(context, config), context);
  const named = [{ name: "key", uri, keyId: undefined, expected: "now" as const }];
  return { adapters, published: undefined, named, others: [] };
}

async function wholeConfig(context: CliContext, flags: DoctorFlags): Promise<Examination> {
  const loaded = await loadConfig(context, flags.config);
  const adapters = await resolvedAdapters(loaded, context);
  const published = await publishedOf(loaded);
  const named = namedKeys(loaded.config);
  if (named.length === 0) throw new CliError(EXIT.usage, "no_keys", "The configuration has no entry with a signer");
  await requireConsistentKeys(loaded);
  return { adapters, published, named, others: publishedOnly(loaded.config) };
}

async function examineAll(context: CliContext, flags: DoctorFlags, examination: Examination): Promise<ExitCode> {
  const { adapters, published, named, others } = examination;
  const samples = flags.samples ?? DEFAULT_SAMPLES;
  const settings = { context, adapters, ask: pinAsker(context), tryPin: pinTrier(), published, samples };
  const reports: KeyReport[] = [];
  const add = (report: KeyReport): void => {
    reports.push(report);
    // Each as soon as it is known. JSON has to wait for all.
    if (flags.json !== true) printReport(report, context.output);
  };
  for (const key of named) {
    const subject = toExamine(key, settings);
    add(await context.during(`Examining ${key.name}`, () => examineKey(subject)));
  }
  for (const report of others) add(report);
  const code = exitCodeOf(reports);
  if (flags.json === true) context.output.json({ ok: code === EXIT.ok, keys: reports.map(asJson) });
  else printSummary(reports, context.output);
  return code;
}

function namedKeys(config: Config): readonly NamedKey[] {
  const expectedOf = isSchedule(config.keys) ? phases(config.keys.entries, Date.now()) : () => "now" as const;
  const { list, path } = entriesOf(config);
  const spans = publishedSpans(config);
  return list.flatMap(({ signer: uri, keyId, certificates }, index) =>
    uri === undefined
      ? []
      : [
          {
            name: keyId ?? `${path}[${index}]`,
            uri,
            keyId,
            expected: expectedOf(index),
            certificates,
            span: spans.get(index),
          },
        ],
  );
}

/** The keys that no longer sign, with nothing but their certificates. */
function publishedOnly(config: Config): readonly KeyReport[] {
  const { list, path } = entriesOf(config);
  const spans = publishedSpans(config);
  return list.flatMap(({ signer, publicKey, keyId, certificates }, index) => {
    if (signer !== undefined || certificates === undefined) return [];
    const name = keyId ?? `${path}[${index}]`;
    const key = p256JwkFrom(publicKey, "publicKey");
    const certified = { keyId: keyId ?? jwkThumbprint(key), publicKey: key };
    const findings = certificateFinding(certificates, certified, spans.get(index));
    return [{ name, uri: undefined, findings, away: false }];
  });
}

/** Whether the entries of a schedule should be published now, by their index. How long old ones stay is for the schedule. */
function phases(entries: readonly ScheduledConfigEntry[], now: number): (index: number) => ComparedKey["expected"] {
  const from = (date: string | Date): number => new Date(date).getTime();
  const active = Math.max(...entries.map(({ activeFrom }) => from(activeFrom)).filter((time) => time <= now));
  return (index) => {
    const entry = entries[index];
    if (entry === undefined || from(entry.announcedFrom) > now) return "later";
    return from(entry.activeFrom) < active ? "maybe" : "now";
  };
}

/** The key set that the OP of the configuration serves. */
function publishedOf({ config, name }: LoadedConfig): Promise<PublishedKeys> {
  const { issuer, mountPrefix, endpoints, allowInsecureIssuer } = config;
  return at(`${name}: `, () => {
    // Only its address is needed, so its source of keys is never called.
    const keys = (): never => {
      throw new TypeError("there are no keys");
    };
    return publishedKeys(createJwksEndpoint({ issuer, mountPrefix, endpoints, allowInsecureIssuer, keys }).jwksUri);
  });
}

interface Settings {
  readonly context: CliContext;
  readonly adapters: Readonly<Record<string, AdapterOptions>>;
  readonly ask: AskPin;
  readonly tryPin: TryPin;
  readonly published: PublishedKeys | undefined;
  readonly samples: number;
}

function toExamine(
  { name, uri, keyId, expected, certificates, span }: NamedKey,
  { context, adapters, ask, tryPin, published, samples }: Settings,
): KeyToExamine {
  const scheme = keyUriScheme(uri);
  const options = adapters[scheme] ?? {};
  return {
    name,
    scheme,
    uri,
    options,
    context,
    open: () => tryPin(uri, () => keyOpener(context, adapters, ask)(uri)),
    pin: () => pinReader(uri, options, context, ask),
    compared: ({ publicKey }) => ({ keyId: keyId ?? jwkThumbprint(publicKey), publicKey, expected }),
    published,
    samples,
    certificates,
    span,
  };
}

function exitCodeOf(reports: readonly KeyReport[]): ExitCode {
  if (reports.some(({ away }) => away)) return EXIT.backend;
  const bad = reports.some(({ findings }) => findings.some(({ level }) => level === "problem" || level === "warning"));
  return bad ? EXIT.finding : EXIT.ok;
}

function asJson({ name, uri, findings }: KeyReport): object {
  return { name, uri: uri ?? null, findings };
}
