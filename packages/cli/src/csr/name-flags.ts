import type { FlagParametersForType } from "@stricli/core";
import type { CliContext } from "../program/context.ts";
import { ADAPTERS_FLAG, asText, JSON_FLAG } from "../program/flags.ts";
import type { CommonFlags } from "../program/runnable.ts";

/** The flags of a command whose key signs a request or a certificate. */
export interface NameFlags extends CommonFlags {
  readonly subject?: string | undefined;
  readonly dns?: readonly string[] | undefined;
  readonly uri?: readonly string[] | undefined;
  readonly email?: readonly string[] | undefined;
  readonly ip?: readonly string[] | undefined;
  readonly purpose?: readonly string[] | undefined;
  readonly out?: string | undefined;
  readonly der?: boolean | undefined;
  readonly config?: string | undefined;
}

const NAME = { kind: "parsed", parse: asText, optional: true, variadic: true } as const;

/** All of them except the subject, as stricli declares them. */
export const NAME_FLAGS: FlagParametersForType<Omit<NameFlags, "subject">, CliContext> = {
  dns: { ...NAME, brief: "Domain name for the certificate. Can be repeated" },
  uri: { ...NAME, brief: "URI for the certificate, such as the issuer. Can be repeated" },
  email: { ...NAME, brief: "Email address for the certificate. Can be repeated" },
  ip: { ...NAME, brief: "IP address for the certificate. Can be repeated" },
  purpose: {
    ...NAME,
    brief: "Extended key usage: clientAuth, serverAuth or an object identifier. Can be repeated",
  },
  out: {
    kind: "parsed",
    brief: "File to write. A file that exists is not replaced. Default: stdout",
    parse: asText,
    optional: true,
  },
  der: { kind: "boolean", brief: "Write DER instead of PEM", optional: true, withNegated: false },
  config: ADAPTERS_FLAG,
  json: JSON_FLAG,
};
