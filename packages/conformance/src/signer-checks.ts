import { ConfigurationError } from "@signpost/core";
import { abortChecks } from "./checks/abort.ts";
import { closeChecks } from "./checks/close.ts";
import { concurrencyChecks } from "./checks/concurrency.ts";
import { digestChecks } from "./checks/digest.ts";
import { faultChecks } from "./checks/faults.ts";
import { identityChecks } from "./checks/identity.ts";
import { secrecyChecks } from "./checks/secrecy.ts";
import { signatureChecks } from "./checks/signature.ts";
import { FAULT_EXPECTATIONS } from "./fault-expectations.ts";
import type { Fault } from "./fault.ts";
import type { CheckContext, CheckDefinition, SignerCheck, SignerForm, SignerHarness } from "./harness.ts";

const MIN_SECRET_LENGTH = 6;
const DEFAULT_RECOVERY_MS = 5_000;
const FORMS: readonly SignerForm[] = ["bare", "guarded"];

/**
 * The checks that every signer must pass, in both forms in which an adapter hands it out: bare
 * (`open(false)`) and guarded (`open(policy)`). They know no test runner: each is a name and a function that
 * rejects when the signer is wrong. Give each check a minute; a run of all of them on a fast backend takes
 * seconds, plus some seconds for each fault.
 *
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
 *
 * @throws ConfigurationError for a secret under 6 characters, and for a fault that has no such name.
 */
export function signerChecks(harness: SignerHarness): SignerCheck[] {
  harness.secrets.forEach((secret, index) => {
    if (secret.length < MIN_SECRET_LENGTH) {
      throw new ConfigurationError(
        `secrets[${index}]`,
        `expected at least ${MIN_SECRET_LENGTH} characters, so that it is not found by chance`,
      );
    }
  });
  const definitions = [
    ...identityChecks,
    ...signatureChecks,
    ...digestChecks,
    ...abortChecks,
    ...concurrencyChecks,
    ...closeChecks,
    ...secrecyChecks,
    ...offeredFaults(harness),
  ];
  return FORMS.flatMap((form) => definitions.map((definition) => bind(definition, contextOf(harness, form))));
}

function offeredFaults({ faults = {}, recoveryMs = DEFAULT_RECOVERY_MS }: SignerHarness): CheckDefinition[] {
  return Object.entries(faults).flatMap(([fault, toggle]) => {
    if (!isFault(fault)) throw new ConfigurationError(`faults.${fault}`, "expected a word of Fault");
    return toggle === undefined ? [] : faultChecks({ fault, toggle, recoveryMs });
  });
}

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULT_EXPECTATIONS, name);
}

function contextOf(harness: SignerHarness, form: SignerForm): CheckContext {
  return {
    form,
    secrets: harness.secrets,
    open: async (policy) => harness.open(form === "bare" ? false : policy),
  };
}

function bind({ name, run }: CheckDefinition, context: CheckContext): SignerCheck {
  return { name: `${context.form}: ${name}`, run: () => run(context) };
}
