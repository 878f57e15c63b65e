import { lstat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigurationError, jwkThumbprint, type Signer } from "@signpost/core";
import { standIn, uriOpener } from "../config/config-keys.ts";
import { withKey } from "../keys/open-key.ts";
import type { SubjectAltName } from "../keys/x509-package.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT, type ExitCode } from "../program/exit-codes.ts";
import { printable } from "../terminal/printable.ts";
import type { NameFlags } from "./name-flags.ts";

/** The flags that are names, in the order of the extension. */
const ALT_NAMES = ["dns", "uri", "email", "ip"] as const;

/** A name, and how the command line gave it. */
interface GivenName {
  readonly name: SubjectAltName;
  readonly flag: string;
}

/** What both functions of `@signpost/x509` that sign take. */
export interface SignedOptions {
  readonly subject: string;
  readonly subjectAltNames: readonly SubjectAltName[];
  readonly extensions: { readonly extendedKeyUsage: readonly string[] | undefined };
  readonly signal: AbortSignal;
}

/** What a key signs: a request or a certificate. */
export interface Signed {
  /** What it is called in the text about the progress. */
  readonly what: string;
  /** Makes it. */
  readonly make: (key: Signer, options: SignedOptions) => Promise<{ readonly der: Uint8Array; readonly pem: string }>;
}

/** Has the key of a URI sign what the flags say, and prints or writes it. */
export async function signNames(context: CliContext, flags: NameFlags, uri: string, signed: Signed): Promise<ExitCode> {
  const { subject = "", purpose, out, der, config, json } = flags;
  requireOneForm(context, flags);
  const names = namesOf(flags);
  const options = {
    subject,
    subjectAltNames: names.map(({ name }) => name),
    extensions: { extendedKeyUsage: purpose },
    signal: context.signal,
  };
  // A mistake in a name is found before a key is opened, and before a PIN is asked for.
  const dry: unknown = await signed.make(standIn(), options).catch((error: unknown) => error);
  if (dry instanceof ConfigurationError) throw ofCommandLine(dry, names);
  // So is a file that must not be replaced. Writing refuses it too.
  if (out !== undefined && (await exists(context, out))) throw existsError(out);
  return withKey(await uriOpener(context, config), uri, async (key) => {
    const made = await context.during(`Signing the ${signed.what}`, () => signed.make(key, options));
    const bytes = der === true ? made.der : made.pem;
    if (out !== undefined) await write(context, out, bytes);
    if (json === true) {
      const kid = jwkThumbprint(key.publicKey);
      context.output.json({ uri: key.uri, kid, publicKey: key.publicKey, pem: made.pem, ...(out && { file: out }) });
    } else if (out === undefined) context.output.write(bytes);
    return EXIT.ok;
  });
}

function requireOneForm({ output }: CliContext, { der, json, out }: NameFlags): void {
  if (der !== true) return;
  if (json === true && out === undefined) {
    throw new CliError(EXIT.usage, "flags", "--der goes with --json only if there is --out");
  }
  if (out === undefined && output.isTerminal) {
    throw new CliError(EXIT.usage, "flags", "DER is not for a terminal", { hint: "Add --out op.der" });
  }
}

function namesOf(flags: NameFlags): readonly GivenName[] {
  return ALT_NAMES.flatMap((flag) =>
    (flags[flag] ?? []).map((text, index, all) => ({
      name: { [flag]: text } as unknown as SubjectAltName,
      flag: all.length === 1 ? `--${flag}` : `--${flag} number ${index + 1}`,
    })),
  );
}

/** The error for an argument of the function, in the words of the command line. */
function ofCommandLine(error: ConfigurationError, names: readonly GivenName[]): Error {
  const { argument } = error;
  const [, index] = /^subjectAltNames\[(\d+)\]/.exec(argument) ?? [];
  const flag = index === undefined ? otherFlag(argument) : names[Number(index)]?.flag;
  if (flag === undefined) return error;
  const words = error.message.slice(`${argument}: `.length);
  return new CliError(EXIT.usage, error.code, `${flag}: ${words}`, { cause: error });
}

function otherFlag(argument: string): string | undefined {
  if (argument === "subjectAltNames") return "--dns, --uri, --email and --ip";
  if (argument.startsWith("subject")) return argument.replace("subject", "--subject");
  if (argument === "validityDays") return "--days";
  return argument.startsWith("extensions.extendedKeyUsage") ? "--purpose" : undefined;
}

async function write({ cwd, messages }: CliContext, name: string, bytes: string | Uint8Array): Promise<void> {
  await writeFile(resolve(cwd, name), bytes, { flag: "wx" }).catch((cause: unknown) => {
    const code = String(Reflect.get(Object(cause), "code"));
    if (code !== "EEXIST") {
      throw new CliError(EXIT.usage, "file", `${name} cannot be written (${code})`, { cause });
    }
    throw existsError(name);
  });
  messages.line(`${messages.colors.green("✓")} wrote ${printable(name)}`);
}

async function exists({ cwd }: CliContext, name: string): Promise<boolean> {
  return lstat(resolve(cwd, name)).then(
    () => true,
    () => false,
  );
}

function existsError(name: string): CliError {
  return new CliError(EXIT.usage, "file_exists", `${name} exists, and is not replaced`, { hint: "Name another file" });
}
