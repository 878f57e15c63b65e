import { resolve } from "node:path";
import { ConfigurationError, jwkThumbprint, type JwkInput, SignpostError } from "@signpost/core";
import { readRegularFile } from "@signpost/core/adapter";
import { loadConfig } from "../../config/load-config.ts";
import { ADAPTERS, keyUriScheme, type AdapterOptions } from "../../keys/adapters.ts";
import { importPackage } from "../../keys/import-package.ts";
import { inChild } from "../../keys/open-key.ts";
import type { CertificateInfo, X509Package } from "../../keys/x509-package.ts";
import { CliError } from "../../program/cli-error.ts";
import type { CliContext } from "../../program/context.ts";
import { EXIT } from "../../program/exit-codes.ts";
import { readJson } from "../../program/json.ts";
import { at } from "../../program/place.ts";
import { readStdin } from "../../program/stdin.ts";
import { download, MAX_BYTES } from "./download.ts";

/** Certificates that belong together, in the order in which they were found. */
export interface FoundCertificates {
  readonly certificates: readonly CertificateInfo[];
  /** The JWK that has them as `x5c`. */
  readonly jwk: { readonly kid: string | undefined; readonly thumbprint: string | undefined } | undefined;
}

/** Reads the certificates of a file, a URL, a token or stdin. */
export async function readSource(
  source: string,
  x509: X509Package,
  context: CliContext,
  config: string | undefined,
): Promise<readonly FoundCertificates[]> {
  if (source === "-") return parsed("stdin", Buffer.from(await readStdin(context, "certificates", MAX_BYTES)), x509);
  if (/^https?:/i.test(source)) {
    const { host, bytes } = await download(source, context);
    return parsed(host, bytes, x509);
  }
  if (isKeyUri(source)) return ofToken(source, x509, context, config);
  return parsed(source, await readFile(source, context), x509);
}

/** The certificates of a file. */
export async function readTrusted(
  name: string,
  x509: X509Package,
  context: CliContext,
): Promise<readonly CertificateInfo[]> {
  const found = await parsed(name, await readFile(name, context), x509);
  return found.flatMap(({ certificates }) => certificates);
}

function isKeyUri(source: string): boolean {
  const [, scheme = ""] = /^([a-z][a-z\d+.-]*):/i.exec(source) ?? [];
  return Object.hasOwn(ADAPTERS, scheme.toLowerCase());
}

async function readFile(name: string, { cwd }: CliContext): Promise<Uint8Array> {
  return readRegularFile("source", resolve(cwd, name), MAX_BYTES).catch((cause: unknown) => {
    const why = cause instanceof ConfigurationError ? cause.message : String(Reflect.get(Object(cause), "code"));
    const hint = "The source is a file, a URL that begins with https://, or the URI of a key in a token";
    throw new CliError(EXIT.usage, "file_unreadable", `${name}: cannot be read (${why})`, { cause, hint });
  });
}

async function parsed(name: string, bytes: Uint8Array, x509: X509Package): Promise<readonly FoundCertificates[]> {
  const text = new TextDecoder().decode(bytes);
  if (/^\s*\{/.test(text)) return ofKeySet(name, text, x509);
  // DER may have PEM in one of its texts. A SEQUENCE with a long length is not UTF-8, and PEM is.
  const isPem = text.includes("-----BEGIN") && !(bytes[0] === SEQUENCE && (bytes[1] ?? 0) >= 0x80);
  const certificates = await at(`${name}: `, () => x509.readCertificates(isPem ? text : new Uint8Array(bytes)));
  return [{ certificates, jwk: undefined }];
}

const SEQUENCE = 0x30;

/** The keys with `x5c` of a JWK Set, or a JWK (RFC 7517 section 4.7). */
async function ofKeySet(name: string, text: string, x509: X509Package): Promise<readonly FoundCertificates[]> {
  const read = await readJson(text);
  const value: unknown = read !== undefined && "value" in read ? read.value : undefined;
  const keys: unknown = Reflect.get(Object(value), "keys") ?? [value];
  const withChain = (Array.isArray(keys) ? keys : []).flatMap((jwk: unknown, index) =>
    Array.isArray(Reflect.get(Object(jwk), "x5c")) ? [{ jwk: Object(jwk) as Jwk, index }] : [],
  );
  if (withChain.length === 0) {
    throw new CliError(
      EXIT.usage,
      "no_certificates",
      `${name}: expected a JWK Set whose keys have x5c, or certificates`,
    );
  }
  return Promise.all(
    withChain.map(async ({ jwk, index }) => ({
      certificates: await at(`${name}: keys[${index}].x5c: `, () => x509.readCertificates(jwk.x5c)),
      jwk: { kid: typeof jwk.kid === "string" ? jwk.kid : undefined, thumbprint: thumbprintOf(jwk) },
    })),
  );
}

interface Jwk {
  readonly kid?: unknown;
  readonly x5c: readonly string[];
}

/** Undefined for a key of another type. */
function thumbprintOf(jwk: Jwk): string | undefined {
  try {
    return jwkThumbprint(jwk as unknown as JwkInput);
  } catch (error) {
    if (!(error instanceof SignpostError)) throw error;
    return undefined;
  }
}

/** What this program uses of `@signpost/pkcs11` for certificates. */
interface Pkcs11Package {
  pkcs11Certificates(options: object): Promise<readonly (readonly { readonly der: Uint8Array }[])[]>;
}

/** The options of the adapter that say where the module is. Secrets are not read. */
const MODULE_OPTIONS = ["module", "modules", "allowedModules", "libraryParameters", "isolation", "openDeadlineMs"];

async function ofToken(
  uri: string,
  x509: X509Package,
  context: CliContext,
  config: string | undefined,
): Promise<readonly FoundCertificates[]> {
  if (keyUriScheme(uri) !== "pkcs11") {
    throw new CliError(EXIT.usage, "no_certificates", "Only a PKCS#11 token holds certificates next to its keys", {
      hint: "Name the file or the URL of the certificates",
    });
  }
  const adapters = config === undefined ? {} : (await loadConfig(context, config)).config.adapters;
  const given: AdapterOptions = adapters?.["pkcs11"] ?? {};
  const options = Object.fromEntries(MODULE_OPTIONS.map((name) => [name, given[name]]));
  const module = await importPackage("@signpost/pkcs11", context.cwd, ADAPTERS["pkcs11"]?.load);
  if (module === undefined) {
    throw new CliError(EXIT.usage, "adapter_missing", "@signpost/pkcs11 is not installed, and this token needs it", {
      hint: "npm install @signpost/pkcs11 pkcs11js",
    });
  }
  const chains = await context.during("Reading the token", () =>
    (module as Pkcs11Package).pkcs11Certificates({ ...inChild(options), uri, signal: context.signal }),
  );
  if (chains.length === 0) {
    throw new CliError(EXIT.finding, "no_certificates", "The token shows no certificate for this key", {
      hint: "Certificates that a token hides before a login are not shown",
    });
  }
  return chains.map((chain) => ({
    certificates: chain.flatMap(({ der }) => x509.readCertificates(der)),
    jwk: undefined,
  }));
}
