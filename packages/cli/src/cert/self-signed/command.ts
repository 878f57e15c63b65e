import { buildCommand, type Command } from "@stricli/core";
import { NAME_FLAGS, type NameFlags } from "../../csr/name-flags.ts";
import type { CliContext } from "../../program/context.ts";
import { asNumber, asText } from "../../program/flags.ts";
import { helpText } from "../../program/help.ts";
import { runnable } from "../../program/runnable.ts";

/** The flags of `signpost cert self-signed`. */
export interface SelfSignedFlags extends NameFlags {
  readonly days?: number | undefined;
}

export const selfSignedCommand: Command<CliContext> = buildCommand<SelfSignedFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runSelfSigned),
  parameters: {
    flags: {
      subject: {
        kind: "parsed",
        brief: "Subject and issuer, such as CN=op.example,O=Example,C=DE. Required",
        parse: asText,
        optional: true,
      },
      days: {
        kind: "parsed",
        brief: "For how many days it is valid, from now on: 1 to 36525. Default: 365",
        parse: asNumber,
        optional: true,
      },
      ...NAME_FLAGS,
    },
    positional: { kind: "tuple", parameters: [{ brief: "Key URI", placeholder: "uri", parse: asText }] },
  },
  docs: {
    brief: "Make a certificate that a key signs for itself",
    fullDescription: helpText({
      description: [
        "Makes a certificate (X.509 version 3, RFC 5280) for a key, which signs it once with ecdsa-with-SHA256: for",
        "development, and for HSM tools that hide a key without a certificate object. Relying parties do not trust it unless",
        "you give it to them, and HAIP forbids it. The signature is verified before anything is printed. It counts as one on",
        "the bill of your cloud. Needs the package @signpost/x509.",
      ].join("\n"),
      examples: [
        ["signpost cert self-signed local:op.pem --subject CN=op.example --uri https://op.example", "prints PEM"],
        [
          "signpost cert self-signed 'pkcs11:token=op;object=sig' --subject CN=op --days 3650 --der --out op.der",
          "writes DER, which pkcs11-tool --write-object puts next to the key",
        ],
      ],
      exitCodes: { 2: "the command line is wrong, a name cannot be in a certificate, or the file exists" },
    }),
  },
});
