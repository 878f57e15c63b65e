import { ConfigurationError, createJwksEndpoint, SignpostError } from "@signpost/core";
import { isPlainObject, nearestName, readOwnKeys } from "@signpost/core/adapter";
import { secretMistakes } from "../../config/adapter-options.ts";
import { configMistakes, scheduleMistakes, type Config, type ConfigSchedule } from "../../config/config.ts";
import { standIn } from "../../config/config-keys.ts";
import { ADAPTERS, keyUriScheme } from "../../keys/adapters.ts";
import { CliError } from "../../program/cli-error.ts";
import { inspectRotation, withCertifiedKey } from "../inspect.ts";
import type { SourceFile } from "../source.ts";
import type { Finding } from "./finding.ts";

/**
 * Everything for which the program of the OP refuses the file, without opening keys. `unread` are the files of certificates that
 * cannot be read.
 */
export function mistakesIn(file: SourceFile, unread: readonly ConfigurationError[], now: number): readonly Finding[] {
  const checked = file.isBare ? scheduleMistakes(file.value) : configMistakes(file.value);
  const named = [...checked, ...unread].map(fromError);
  const config = (isPlainObject(file.value) ? file.value : {}) as Partial<Config>;
  const schedule = file.isBare ? config : config.keys;
  const others = [
    ...(file.isBare ? [] : [...addressMistakes(config), ...secretMistakes(config.adapters).map(fromError)]),
    ...(isPlainObject(schedule)
      ? scheduleFindings(schedule as unknown as ConfigSchedule, config, file.isBare, now)
      : listFindings(schedule, config, now)),
  ];
  const known = new Set(named.map(({ path }) => path));
  const all = [...named, ...others.filter(({ path }) => !known.has(path))];
  return all.toSorted((a, b) => a.path.localeCompare(b.path, "en", { numeric: true }));
}

function scheduleFindings(
  schedule: ConfigSchedule,
  trailing: Partial<Config>,
  isBare: boolean,
  now: number,
): readonly Finding[] {
  const path = isBare ? "" : "keys";
  const { mistakes } = inspectRotation(schedule, { path, now, trailing: isBare ? {} : trailing, certificates: true });
  return [...uriMistakes(schedule.entries, isBare ? "entries" : "keys.entries"), ...mistakes.map(fromError)];
}

function listFindings(list: unknown, trailing: Partial<Config>, now: number): readonly Finding[] {
  // The other keys are read as in a schedule, one after the other.
  const nothing: ConfigSchedule = { entries: [], maxTokenLifetimeSeconds: 1 };
  const others = inspectRotation(nothing, { path: "keys", now, trailing }).mistakes.filter(
    ({ argument }) => !argument.startsWith("keys"),
  );
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const each = entries.flatMap((entry, index) =>
    attempt(
      () => readOwnKeys([{ keyId: "-", signer: standIn() }, withCertifiedKey(entry)], {}),
      "keys[1]",
      `keys[${index}]`,
    ),
  );
  const isSound = Array.isArray(list) && each.length + others.length === 0;
  const { encryptionKeyset, legacyVerificationKeys } = trailing;
  const all = isSound
    ? attempt(() =>
        readOwnKeys(
          entries.map((entry) => withCertifiedKey(entry)),
          { encryptionKeyset, legacyVerificationKeys },
        ),
      )
    : [];
  return [...uriMistakes(list, "keys"), ...each, ...all, ...others.map(fromError)];
}

/** Each part of the address of the key set alone. */
function addressMistakes({ issuer, mountPrefix, endpoints, allowInsecureIssuer }: Partial<Config>): readonly Finding[] {
  const keys = (): never => {
    throw new TypeError("there are no keys");
  };
  const good = "https://op.example";
  return [
    ...attempt(() => createJwksEndpoint({ issuer: good, allowInsecureIssuer, keys })),
    // A wrong kind is reported already.
    ...(typeof issuer === "string"
      ? attempt(() => createJwksEndpoint({ issuer, allowInsecureIssuer: allowInsecureIssuer === true, keys }))
      : []),
    ...attempt(() => createJwksEndpoint({ issuer: good, mountPrefix, keys })),
    ...attempt(() => createJwksEndpoint({ issuer: good, endpoints, keys })),
  ];
}

function uriMistakes(entries: unknown, path: string): readonly Finding[] {
  return (Array.isArray(entries) ? entries : []).flatMap((entry: unknown, index) => {
    const { signer } = isPlainObject(entry) ? entry : {};
    if (typeof signer !== "string") return [];
    try {
      keyUriScheme(signer);
      return [];
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const place = `${path}[${index}].signer`;
      const nearest = error.code === "unknown_scheme" ? nearestScheme(signer) : undefined;
      return [mistake(place, error.message, nearest === undefined ? error.hint : `Did you mean ${nearest}:?`)];
    }
  });
}

/** Only the scheme is looked at: the rest may be a secret. */
function nearestScheme(uri: string): string | undefined {
  const scheme = /^[a-z][a-z\d+.-]{1,15}(?=:)/i.exec(uri)?.[0];
  return scheme === undefined ? undefined : nearestName(scheme, Object.keys(ADAPTERS));
}

/** What some work refuses. `from` in the path stands for `to`. */
function attempt(work: () => unknown, from = "", to = ""): readonly Finding[] {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof SignpostError)) throw error;
    const finding = fromError(error);
    return [finding.path.startsWith(from) ? { ...finding, path: to + finding.path.slice(from.length) } : finding];
  }
}

function fromError(error: SignpostError): Finding {
  if (!(error instanceof ConfigurationError)) return mistake("", error.message);
  const path = error.argument === "options" ? "" : error.argument;
  return mistake(path, error.message.slice(`${error.argument}: `.length));
}

function mistake(path: string, text: string, todo?: string): Finding {
  return { level: "mistake", rule: "valid", path, text, todo };
}
