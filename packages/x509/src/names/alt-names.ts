import { isIP } from "node:net";
import { GeneralName, GeneralNames } from "pkijs";
import { OctetString } from "asn1js";
import { ConfigurationError } from "@signpost/core";
import { given, isPlainObject } from "@signpost/core/adapter";
import { derOf, exactBuffer } from "../encode/der.ts";
import { readOid } from "../encode/oid.ts";
import { domainNameFault } from "./dns-name.ts";
import { ipBytes } from "./ip-address.ts";

/** A name of the subject (RFC 5280 section 4.2.1.6), as an object with exactly one member. */
export type SubjectAltName =
  /** A domain name, which may begin with `*.`. Internationalized names must be in A-labels (`xn--…`). */
  | { readonly dns: string }
  /** An absolute URI in ASCII, such as an issuer: `https://op.example`. */
  | { readonly uri: string }
  /** An email address in ASCII. */
  | { readonly email: string }
  /** An IPv4 or IPv6 address. */
  | { readonly ip: string }
  /** An object identifier. */
  | { readonly registeredId: string };

/** A GeneralName. `same` is equal for names that are equal. */
interface ReadAltName {
  readonly name: GeneralName;
  readonly same: string;
}

type Reader = (argument: string, text: string) => ReadAltName;

// With the tags of GeneralName (RFC 5280 section 4.2.1.6).
const READERS: Readonly<Record<string, Reader>> = {
  email: (argument, text) => ({
    name: new GeneralName({ type: 1, value: readEmail(argument, text) }),
    same: `email ${text}`,
  }),
  dns: (argument, text) => ({
    name: new GeneralName({ type: 2, value: readDns(argument, text) }),
    same: `dns ${text.toLowerCase()}`,
  }),
  uri: (argument, text) => ({
    name: new GeneralName({ type: 6, value: readUri(argument, text) }),
    same: `uri ${text}`,
  }),
  ip: (argument, text) => {
    const bytes = readIp(argument, text);
    const value = new OctetString({ valueHex: exactBuffer(bytes) });
    return { name: new GeneralName({ type: 7, value }), same: `ip ${bytes.join()}` };
  },
  registeredId: (argument, text) => ({
    name: new GeneralName({ type: 8, value: readOid(argument, text) }),
    same: `oid ${text}`,
  }),
};

const MOST_NAMES = 1000;

/** Reads the names that a caller gave, and encodes them as GeneralNames. Undefined for none. */
export function readAltNames(argument: string, value: unknown): Uint8Array | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw new ConfigurationError(argument, `expected an array, got ${given(value)}`);
  if (value.length > MOST_NAMES) throw new ConfigurationError(argument, `expected at most ${MOST_NAMES} names`);
  const names = value.map((each: unknown, index) => readAltName(`${argument}[${index}]`, each));
  const seen = new Set<string>();
  for (const [index, { same }] of names.entries()) {
    if (seen.has(same)) throw new ConfigurationError(`${argument}[${index}]`, "this name is in the list twice");
    seen.add(same);
  }
  if (names.length === 0) return undefined;
  return derOf(new GeneralNames({ names: names.map(({ name }) => name) }).toSchema());
}

function readAltName(argument: string, value: unknown): ReadAltName {
  const members = isPlainObject(value) ? Object.entries(value).filter(([, text]) => text !== undefined) : [];
  const [[kind, text] = ["", undefined], another] = members;
  const read = Object.hasOwn(READERS, kind) ? READERS[kind] : undefined;
  if (read === undefined || another !== undefined) {
    const got = isPlainObject(value) ? `an object with ${members.length} members` : given(value);
    const kinds = Object.keys(READERS).join(", ");
    throw new ConfigurationError(
      argument,
      `expected an object like { dns: "op.example" } with one of ${kinds}, got ${got}`,
    );
  }
  if (typeof text === "string" && text !== "") return read(`${argument}.${kind}`, text);
  throw new ConfigurationError(`${argument}.${kind}`, `expected a text that is not empty, got ${given(text)}`);
}

function readDns(argument: string, name: string): string {
  const fault = domainNameFault(name.replace(/^\*\./, ""));
  if (fault !== undefined) throw new ConfigurationError(argument, fault);
  return name;
}

// RFC 5321 section 4.1.2, without quoted local parts.
const LOCAL_PART = /^[A-Za-z\d!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z\d!#$%&'*+\-/=?^_`{|}~]+)*$/;

function readEmail(argument: string, address: string): string {
  const at = address.lastIndexOf("@");
  const [local, domain] = [address.slice(0, Math.max(at, 0)), address.slice(at + 1)];
  const fault = domainNameFault(domain);
  if (LOCAL_PART.test(local) && local.length <= 64 && fault === undefined) return address;
  throw new ConfigurationError(
    argument,
    `expected an email address like ops@op.example in ASCII${isAscii(address) || fault === undefined ? "" : `; ${fault}`}`,
  );
}

// RFC 3986 section 3: what follows the scheme, with brackets in the authority only, and one fragment.
const URI =
  /^[A-Za-z][A-Za-z\d+.-]*:(?!$)(?:\/\/[^/?#]*(?=[/?#]|$)|(?!\/\/))(?:[\w\-.~:/@!$&'()*+,;=]|%[\dA-Fa-f]{2})*(?:\?(?:[\w\-.~:/?@!$&'()*+,;=]|%[\dA-Fa-f]{2})*)?(?:#(?:[\w\-.~:/?@!$&'()*+,;=]|%[\dA-Fa-f]{2})*)?$/;

function readUri(argument: string, uri: string): string {
  if (!isAscii(uri)) {
    throw new ConfigurationError(
      argument,
      "expected ASCII: A-labels in the host, and percent escapes after it (RFC 3987)",
    );
  }
  if (!URI.test(uri)) throw new ConfigurationError(argument, "expected an absolute URI like https://op.example");
  const [, authority] = /^[^:]+:\/\/([^/?#]*)/.exec(uri) ?? [];
  if (authority !== undefined) requireAuthority(argument, authority);
  return uri;
}

/** RFC 5280 section 4.2.1.6: the host is a domain name or an IP address. */
function requireAuthority(argument: string, authority: string): void {
  const [, credentials, host = "", port = ""] = /^(.*@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(authority) ?? [];
  if (credentials !== undefined)
    throw new ConfigurationError(argument, "a URI in a certificate must have no user name or password");
  const address = host.replace(/^\[(.*)\]$/, "$1");
  const isAddress = host.startsWith("[") ? host.endsWith("]") && ipBytes(address)?.length === 16 : isIP(host) === 4;
  const fault = isAddress ? undefined : domainNameFault(host);
  if (fault !== undefined) throw new ConfigurationError(argument, `the host: ${fault}`);
  if (Number(port) > 65_535) throw new ConfigurationError(argument, "the port is above 65535");
}

function readIp(argument: string, address: string): Uint8Array {
  const bytes = ipBytes(address);
  if (bytes !== undefined) return bytes;
  throw new ConfigurationError(argument, "expected an IPv4 or IPv6 address without a zone and a prefix length");
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
