import { type EntryCertificates, SignerError, type GuardedSigner } from "@signpost/core";
import { ownConnection } from "../backends/own-connection.ts";
import { failureOf } from "../program/failure.ts";
import { printable } from "../terminal/printable.ts";
import { AWS_KMS } from "./aws-kms.ts";
import { AZURE_KEY_VAULT } from "./azure-key-vault.ts";
import type { BackendChecks, Subject } from "./backend.ts";
import type { PublishedSpan } from "../config/published-spans.ts";
import { certificateFinding } from "./certificates.ts";
import { checkClock } from "./clock.ts";
import { note, ok, problem, type Finding, type KeyReport } from "./finding.ts";
import { GCP_KMS } from "./gcp-kms.ts";
import { LOCAL } from "./local.ts";
import { PKCS11 } from "./pkcs11.ts";
import { latencyFinding, measureLatency, probeFinding, probeOnce } from "./probe.ts";
import type { ComparedKey, PublishedKeys } from "./published.ts";
import { VAULT } from "./vault.ts";

/** What each kind of backend can tell, by the scheme of its URIs. */
const BACKENDS: Readonly<Record<string, BackendChecks>> = {
  local: LOCAL,
  awskms: AWS_KMS,
  gcpkms: GCP_KMS,
  vault: VAULT,
  azurekms: AZURE_KEY_VAULT,
  pkcs11: PKCS11,
};

/** A key to examine, and what to compare it with. */
export interface KeyToExamine extends Subject {
  /** Its name for people: the `keyId`, or the place in the configuration. */
  readonly name: string;
  readonly scheme: string;
  readonly open: () => Promise<GuardedSigner>;
  /** What should be published of it. */
  readonly compared: (key: GuardedSigner) => ComparedKey;
  /** Undefined: there is no published set to compare with. */
  readonly published: PublishedKeys | undefined;
  /** How many signatures to time. */
  readonly samples: number;
  /** What the configuration says of its certificates. */
  readonly certificates: EntryCertificates | undefined;
  /** When its schedule publishes it. Undefined for a key of a list. */
  readonly span: PublishedSpan | undefined;
}

/** Examines a key: whatever fails is a finding. Rejects only if the command was stopped. */
export async function examineKey(subject: KeyToExamine): Promise<KeyReport> {
  const { name, scheme } = subject;
  const backend = BACKENDS[scheme] ?? { examine: async () => [] };
  const before = await guarded(subject, async () => (await backend.before?.(subject)) ?? []);
  if (before.some(({ level }) => level === "problem")) return { name, uri: undefined, findings: before, away: false };

  const start = performance.now();
  const key = await subject.open().catch((error: unknown) => ({ error }));
  subject.context.signal.throwIfAborted();
  if ("error" in key) {
    const { code, message, hint } = failureOf(key.error);
    const todo = hint ?? "Read the message, and the guide of this backend";
    const away = key.error instanceof SignerError && key.error.transient;
    return {
      name,
      uri: undefined,
      findings: [...before, problem("open", `${printable(message)} (${code})`, todo)],
      away,
    };
  }
  try {
    const opened = ok("open", `opened in ${(performance.now() - start).toFixed(0)} ms`);
    return {
      name,
      uri: key.uri,
      findings: [opened, ...before, ...(await examineOpened(subject, backend, key))],
      away: false,
    };
  } finally {
    await key.close();
  }
}

async function examineOpened(
  subject: KeyToExamine,
  backend: BackendChecks,
  key: GuardedSigner,
): Promise<readonly Finding[]> {
  const { published, context, samples } = subject;
  const { signal } = context;
  const own = ownConnection(subject.options);
  const clockUrl = (own === undefined ? backend.clockUrl?.(subject, key) : undefined) ?? published?.jwksUri;
  const failed = await probeOnce(key, signal).then(
    () => undefined,
    (error: unknown) => failureOf(error),
  );
  signal.throwIfAborted();
  return [
    probeFinding(failed),
    ...(failed === undefined && samples > 0
      ? await guarded(subject, async () => [latencyFinding(await measureLatency(key, samples, signal))])
      : []),
    ...(published === undefined ? [] : [await published.compare(subject.compared(key), signal)]),
    ...certificateFinding(subject.certificates, subject.compared(key), subject.span),
    ...(clockUrl === undefined ? [] : [await checkClock(clockUrl, signal)]),
    ...(own === undefined ? await guarded(subject, () => backend.examine(subject, key)) : [unexamined(own)]),
  ];
}

/** These calls have the credentials of the environment, which may be those of another account. */
function unexamined(own: string): Finding {
  return note("key", `not examined: this command cannot use the option ${own} of the adapter`);
}

/** What cannot be examined is a note, and does not hide what was found before. */
async function guarded(
  { context }: KeyToExamine,
  work: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await work();
  } catch (error) {
    context.signal.throwIfAborted();
    const { message } = failureOf(error);
    return [note("key", `not examined: ${printable(message.split("\n")[0] ?? "")}`)];
  }
}
