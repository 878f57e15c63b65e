import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { asText } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable } from "../program/runnable.ts";
import { NAME_FLAGS, type NameFlags } from "./name-flags.ts";

export const csrCommand: Command<CliContext> = buildCommand<NameFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runCsr),
  parameters: {
    flags: {
      subject: {
        kind: "parsed",
        brief: "Subject, such as CN=op.example,O=Example,C=DE. Default: empty, if there is another name",
        parse: asText,
        optional: true,
      },
      ...NAME_FLAGS,
    },
    positional: { kind: "tuple", parameters: [{ brief: "Key URI", placeholder: "uri", parse: asText }] },
  },
  docs: {
    brief: "Make a certificate request that a key signs, wherever it is held",
    fullDescription: helpText({
      description: [
        "Makes a certificate request (PKCS#10, RFC 2986) for a key, which signs it once with ecdsa-with-SHA256. The request",
        "proves to a certificate authority that you hold the key. The signature is verified before anything is printed. The",
        "signature counts as one on the bill of your cloud. Needs the package @signpost/x509.",
        "",
        "The subject is written as in RFC 4514, with the country last. Internationalized domain names are written in A-labels",
        "(xn--...). The request asks for the key usage digitalSignature. The authority decides what the certificate says.",
      ].join("\n"),
      examples: [
        ["signpost csr awskms:///alias/op-2026 --subject CN=op.example,O=Example,C=DE --dns op.example", "prints PEM"],
        [
          "signpost csr 'pkcs11:token=op;object=sig?module-path=/usr/lib/softhsm/libsofthsm2.so' --dns op.example --out op.csr",
          "writes a request without a subject, signed in a token whose PIN is asked for",
        ],
        [
          "signpost csr local:op.pem --uri https://op.example --der --out op.der",
          "writes DER, with the URI of an issuer",
        ],
      ],
      exitCodes: { 2: "the command line is wrong, a name cannot be in a certificate, or the file exists" },
    }),
  },
});
