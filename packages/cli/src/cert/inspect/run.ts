import { currentKeySet, jwkThumbprint, type JwkInput } from "@signpost/core";
import { openConfigKeys } from "../../config/config-keys.ts";
import { loadConfig } from "../../config/load-config.ts";
import { loadX509, type CertificateInfo } from "../../keys/x509-package.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT, type ExitCode } from "../../program/exit-codes.ts";
import type { InspectFlags } from "./command.ts";
import { findingsOf, type Compared, type ConfigKey } from "./findings.ts";
import { printChain, type ChainReport } from "./render.ts";
import { readSource, readTrusted } from "./source.ts";

const DEFAULT_DAYS = 30;

export async function runInspect(context: CliContext, flags: InspectFlags, source: string): Promise<ExitCode> {
  const { trust, within = DEFAULT_DAYS, config, json } = flags;
  const x509 = await loadX509(context.cwd);
  const found = await readSource(source, x509, context, config);
  const trustAnchors = trust === undefined ? undefined : await readTrusted(trust, x509, context);
  const keys = config === undefined ? undefined : await configKeys(context, config);
  const compared: Compared = { now: Date.now(), withinDays: within, keys };
  const reports = found.map((each) => {
    const inspected = x509.inspectChain(each.certificates, { now: new Date(compared.now), trustAnchors });
    return { kid: each.jwk?.kid, inspected, chain: inspected.chain, findings: findingsOf(inspected, each, compared) };
  });
  const levels = reports.flatMap(({ findings }) => findings.map(({ level }) => level));
  const isGood = !levels.includes("problem") && !levels.includes("warning");
  if (json === true) {
    const chains = reports.map((report) => ({ ...asJson(report), ...facts(report.inspected) }));
    context.output.json({ ok: isGood, chains });
  } else {
    for (const [index, report] of reports.entries()) {
      if (index > 0) context.output.line();
      printChain(report, context.output);
    }
  }
  return isGood ? EXIT.ok : EXIT.finding;
}

/** The keys of a configuration, which sign nothing. */
async function configKeys(context: CliContext, named: string): Promise<readonly ConfigKey[]> {
  const { keys, close } = await openConfigKeys(await loadConfig(context, named), context);
  try {
    return currentKeySet(keys).keys.map(({ keyId, publicKey }) => ({
      keyId,
      thumbprint: jwkThumbprint(publicKey as JwkInput),
    }));
  } finally {
    await close();
  }
}

function asJson({ kid, chain, findings }: ChainReport): object {
  return { kid: kid ?? null, certificates: chain.map(certificateJson), findings };
}

function facts({ isInOrder, endsWithRoot, isTrusted, unrelated }: ReturnType<Inspect>): object {
  return { isInOrder, endsWithRoot, isTrusted: isTrusted ?? null, unrelated: unrelated.map(certificateJson) };
}

type Inspect = Awaited<ReturnType<typeof loadX509>>["inspectChain"];

/** PEM says the same as DER, and is text. */
function certificateJson({ der: _der, ...certificate }: CertificateInfo): object {
  return certificate;
}
