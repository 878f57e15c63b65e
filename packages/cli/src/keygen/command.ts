import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { ADAPTERS_FLAG, asText, JSON_FLAG } from "../program/flags.ts";
import { helpText } from "../program/help.ts";
import { runnable, type CommonFlags } from "../program/runnable.ts";

/** The flags of `signpost keygen`. */
export interface KeygenFlags extends CommonFlags {
  readonly config?: string | undefined;
  readonly keyId?: string | undefined;
  readonly newVersion?: boolean | undefined;
  readonly protection?: "hsm" | "software" | undefined;
}

export const keygenCommand: Command<CliContext> = buildCommand<KeygenFlags, [string], CliContext>({
  loader: async () => runnable((await import("./run.ts")).runKeygen),
  parameters: {
    flags: {
      keyId: {
        kind: "parsed",
        brief: "kid in the printed entry. Default: the thumbprint",
        parse: asText,
        optional: true,
      },
      newVersion: {
        kind: "boolean",
        brief: "Google Cloud KMS, Vault, Azure: make a new version of a key that exists",
        optional: true,
        withNegated: false,
      },
      protection: {
        kind: "enum",
        brief: "Google Cloud KMS, Azure: where the new key is. Default: hsm",
        values: ["hsm", "software"],
        optional: true,
      },
      config: ADAPTERS_FLAG,
      json: JSON_FLAG,
    },
    positional: {
      kind: "tuple",
      parameters: [{ brief: "URI of the key to make", placeholder: "uri", parse: asText }],
    },
  },
  docs: {
    brief: "Make a P-256 key, and print its entry for the configuration",
    fullDescription: helpText({
      description: [
        "Makes a key for ES256 and prints the entry for `keys`. It never replaces a key, an alias or a file. Then it opens the",
        "key, and signs and verifies a probe.",
        "",
        "AWS KMS: an ECC_NIST_P256 key for signatures, and the alias of the URI. Google Cloud KMS, Vault and Azure Key Vault:",
        "a key with its first version, or with --new-version another version. It only signs where the backend knows that, and",
        "it cannot be exported. PKCS#11: a key pair that only signs, is sensitive and not extractable. local: a PEM file that",
        "only you can read. The keys of a cloud cost money until you delete them.",
      ].join("\n"),
      examples: [
        ["signpost keygen 'awskms:///alias/op-2027?region=eu-west-1'", "a key in AWS KMS with an alias"],
        ["signpost keygen gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/op", "a key in Google Cloud KMS"],
        ["signpost keygen vault:///transit/keys/op", "a key in Vault or OpenBao, with VAULT_ADDR and VAULT_TOKEN"],
        ["signpost keygen azurekms:///op.vault.azure.net/keys/op", "a key in Azure Key Vault, in an HSM"],
        [
          "signpost keygen 'pkcs11:token=op;object=sig-2027?module-path=/usr/lib/softhsm/libsofthsm2.so'",
          "a key in a token, whose PIN is asked for",
        ],
        ["signpost keygen local:keys/op.pem", "a key in a file, for development"],
      ],
      exitCodes: { 3: "the backend refused, or did not answer" },
    }),
  },
});
