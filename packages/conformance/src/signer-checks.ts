import { ConfigurationError, type GuardPolicy } from "@signpost/core";
import { assertOptions, given, readCallback, readWholeNumber, type OptionNames } from "@signpost/core/adapter";
import { abortChecks } from "./checks/abort.ts";
import { closeChecks } from "./checks/close.ts";
import { concurrencyChecks } from "./checks/concurrency.ts";
import { digestChecks } from "./checks/digest.ts";
import { faultChecks } from "./checks/faults.ts";
import { identityChecks } from "./checks/identity.ts";
import { openingChecks, openingFaultChecks } from "./checks/opening.ts";
import { secrecyChecks } from "./checks/secrecy.ts";
import { signatureChecks } from "./checks/signature.ts";
import { FAULT_EXPECTATIONS } from "./fault-expectations.ts";
import type { Fault } from "./fault.ts";
import type { CheckContext, CheckDefinition, SignerCheck, SignerForm, SignerHarness } from "./harness.ts";

const MIN_SECRET_LENGTH = 6;
const DEFAULT_RECOVERY_MS = 5000;
const MAX_RECOVERY_MS = 600_000;
const FORMS: readonly SignerForm[] = ["bare", "guarded"];

const HARNESS: OptionNames<SignerHarness> = {
  open: true,
  openWith: true,
  secrets: true,
  faults: true,
  recoveryMs: true,
};

const FAULTS = Object.keys(FAULT_EXPECTATIONS) as readonly Fault[];
const FAULT_NAMES = Object.fromEntries(FAULTS.map((fault) => [fault, true])) as OptionNames<Record<Fault, unknown>>;

/**
 * The checks that every signer must pass, in both forms that an adapter can open: bare (`open(false)`) and guarded
 * (`open(policy)`). They work with any test runner: each check is a name and a function that rejects if the signer is
 * wrong. Give each check a timeout of one minute. On a fast backend all checks together take seconds, plus a few seconds
 * for each fault.
 *
 * @throws ConfigurationError for a harness member that is missing, unknown or of the wrong type, for a secret shorter than
 * 6 characters, and for an unknown fault.
 * @example
 * ```ts
 * import { signerChecks } from "@signpost/conformance";
 * import { openLocalSigner } from "@signpost/local";
 *
 * declare function test(name: string, run: () => Promise<void>): void;
 * declare const privateKey: string;
 *
 * for (const check of signerChecks({
 *   open: (policy) => openLocalSigner({ privateKey, policy }),
 *   secrets: [privateKey],
 * })) {
 *   test(check.name, check.run);
 * }
 * ```
 */
export function signerChecks(harness: SignerHarness): SignerCheck[] {
  assertOptions("options", harness, HARNESS);
  if (typeof harness.open !== "function") {
    throw new ConfigurationError("open", `expected a function, got ${given(harness.open)}`);
  }
  readCallback("openWith", harness.openWith);
  assertSecrets(harness.secrets);
  const definitions = [
    ...identityChecks,
    ...signatureChecks,
    ...digestChecks,
    ...abortChecks,
    ...concurrencyChecks,
    ...closeChecks,
    ...secrecyChecks,
    ...(harness.openWith === undefined ? [] : openingChecks),
    ...offeredFaults(harness),
  ];
  return FORMS.flatMap((form) => definitions.map((definition) => bind(definition, contextOf(harness, form))));
}

function assertSecrets(secrets: unknown): void {
  if (!Array.isArray(secrets)) throw new ConfigurationError("secrets", `expected a list, got ${given(secrets)}`);
  secrets.forEach((secret: unknown, index) => {
    if (typeof secret === "string" && secret.length >= MIN_SECRET_LENGTH) return;
    throw new ConfigurationError(
      `secrets[${index}]`,
      `expected a string of at least ${MIN_SECRET_LENGTH} characters, since a shorter one could match by chance`,
    );
  });
}

function offeredFaults({ openWith, faults = {}, recoveryMs = DEFAULT_RECOVERY_MS }: SignerHarness): CheckDefinition[] {
  assertOptions("faults", faults, FAULT_NAMES);
  readWholeNumber("recoveryMs", recoveryMs, 0, MAX_RECOVERY_MS);
  return FAULTS.flatMap((fault) => {
    const toggle = readCallback(`faults.${fault}`, faults[fault]);
    if (toggle === undefined) return [];
    const switchable = { fault, toggle, recoveryMs };
    return [...faultChecks(switchable), ...(openWith === undefined ? [] : openingFaultChecks(switchable))];
  });
}

function contextOf(harness: SignerHarness, form: SignerForm): CheckContext {
  const { secrets, openWith } = harness;
  const policyOf = (policy: GuardPolicy): GuardPolicy | false => (form === "bare" ? false : policy);
  return {
    form,
    secrets,
    open: async (policy) => harness.open(policyOf(policy)),
    ...(openWith !== undefined && {
      openWith: async ({ policy, ...limits }) => openWith({ ...limits, policy: policyOf(policy) }),
    }),
  };
}

function bind({ name, run }: CheckDefinition, context: CheckContext): SignerCheck {
  return { name: `${context.form}: ${name}`, run: () => run(context) };
}
