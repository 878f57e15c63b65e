import { ConfigurationError } from "@signpost/core";
import { afterScheme, given } from "@signpost/core/adapter";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import type { KeyRequest, PrivateKeyQuery } from "./key-request.ts";
import { mayHoldPin, refuseMisplacedPin } from "./misplaced-pin.ts";
import type { TokenSelector } from "./select-token.ts";
import { slotIdFrom } from "./slot-id.ts";
import { decodeText, decodeValue, PATH_CHARACTERS, percentEncode, QUERY_CHARACTERS } from "./uri-values.ts";

/** A PKCS #11 URI (RFC 7512), read for a private key. */
export interface Pkcs11Uri {
  readonly selector: TokenSelector;
  readonly query: PrivateKeyQuery;
  /** `module-path`: the module's path. */
  readonly modulePath: string | undefined;
  /** `module-name`: the module's name, without path and suffix. */
  readonly moduleName: string | undefined;
  /** `pin-source`: where the PIN is. Usually a URI itself. */
  readonly pinSource: string | undefined;
  /** `pin-value`: the PIN itself. */
  readonly pinValue: string | undefined;
}

const SCHEME = "pkcs11:";

// RFC 7512 section 2.3, pk11-pattr, and the member for each.
const SELECTOR_ATTRIBUTES: ReadonlyMap<string, Exclude<keyof TokenSelector, "slotId">> = new Map([
  ["token", "token"],
  ["serial", "serial"],
  ["manufacturer", "manufacturer"],
  ["model", "model"],
  ["slot-description", "slotDescription"],
  ["slot-manufacturer", "slotManufacturer"],
  ["library-description", "libraryDescription"],
  ["library-manufacturer", "libraryManufacturer"],
  ["library-version", "libraryVersion"],
]);
const OTHER_PATH_ATTRIBUTES = ["slot-id", "object", "id", "type"] as const;
const QUERY_ATTRIBUTES = ["module-path", "module-name", "pin-source", "pin-value"] as const;

const VERSION = /^[0-9]{1,3}(\.[0-9]{1,3})?$/;

/**
 * Reads a PKCS #11 URI strictly. Unknown and repeated attributes are refused, because under RFC 7512 section 2.6 they
 * match nothing. So are characters that must be percent-encoded, and values that contain a PIN after a wrong
 * separator. No message repeats a value.
 *
 * @throws ConfigurationError
 */
export function parsePkcs11Uri(uri: string, type: "private" | "cert" = "private"): Pkcs11Uri {
  const rest = afterScheme(uri, "pkcs11");
  if (rest === undefined)
    throw new ConfigurationError("uri", `expected a key URI that begins with ${SCHEME}, got ${given(uri)}`);
  const mark = rest.indexOf("?");
  const path = attributes(mark < 0 ? rest : rest.slice(0, mark), ";", [
    ...SELECTOR_ATTRIBUTES.keys(),
    ...OTHER_PATH_ATTRIBUTES,
  ]);
  const query = attributes(mark < 0 ? "" : rest.slice(mark + 1), "&", QUERY_ATTRIBUTES);
  requireType(path.get("type"), type);
  return {
    selector: selectorFrom(path),
    query: {
      object: optional(path.get("object"), (value) => decodeValue("object", value, PATH_CHARACTERS)),
      id: optional(path.get("id"), (value) => decodeValue("id", value, PATH_CHARACTERS)),
    },
    modulePath: optional(query.get("module-path"), (value) => decodeText("module-path", value, QUERY_CHARACTERS)),
    moduleName: optional(query.get("module-name"), (value) => decodeText("module-name", value, QUERY_CHARACTERS)),
    pinSource: optional(query.get("pin-source"), (value) => decodeText("pin-source", value, QUERY_CHARACTERS)),
    pinValue: optional(query.get("pin-value"), (value) => decodeText("pin-value", value, QUERY_CHARACTERS)),
  };
}

/** What identifies a key that is open. */
interface KeyName {
  readonly token: Pick<TokenDescription, "label" | "serial">;
  readonly label: Uint8Array;
  readonly id: Uint8Array;
}

/** The canonical URI of an open key: token, serial, label, id and module. Never a PIN. */
export function formatKeyUri(module: string, { token, label, id }: KeyName): string {
  const path = [
    attribute("token", Buffer.from(token.label, "utf8")),
    attribute("serial", Buffer.from(token.serial, "utf8")),
    attribute("object", label),
    // CKA_ID is opaque bytes: each one is encoded (RFC 7512 section 2.3).
    id.length === 0 ? "" : `id=${percentEncode(id)}`,
    "type=private",
  ].filter((part) => part !== "");
  return withModule(path, module);
}

/**
 * The URI of a requested key, built from what the caller gave, for an error while opening it. Leaves out a value that may
 * contain a PIN after a wrong separator.
 */
export function formatRequestUri({
  module,
  selector,
  query,
}: Pick<KeyRequest, "module" | "selector" | "query">): string {
  const utf8 = (text: string | undefined): Uint8Array => Buffer.from(text ?? "", "utf8");
  const harmless = (value: Uint8Array | undefined): Uint8Array =>
    value === undefined || mayHoldPin(Buffer.from(value).toString("latin1")) ? new Uint8Array() : value;
  const path = [
    ...[...SELECTOR_ATTRIBUTES].map(([name, member]) => attribute(name, harmless(utf8(selector[member])))),
    attribute("slot-id", utf8(selector.slotId)),
    attribute("object", harmless(query.object)),
    query.id === undefined ? "" : `id=${percentEncode(harmless(query.id))}`,
    "type=private",
  ].filter((part) => part !== "" && part !== "id=");
  return withModule(path, mayHoldPin(module) ? undefined : module);
}

function withModule(path: readonly string[], module: string | undefined): string {
  const query = module === undefined ? "" : `?module-path=${percentEncode(Buffer.from(module, "utf8"), WRITTEN_QUERY)}`;
  return `${SCHEME}${path.join(";")}${query}`;
}

/** Without the equals sign: a label that contains `pin-value=` is read back unchanged. */
const WRITTEN_PATH = /^[A-Za-z0-9\-._~:[\]@!$'()*+,&]$/;
const WRITTEN_QUERY = /^[A-Za-z0-9\-._~:[\]@!$'()*+,/?|]$/;

function attribute(name: string, value: Uint8Array): string {
  return value.length === 0 ? "" : `${name}=${percentEncode(value, WRITTEN_PATH)}`;
}

/** Names an attribute of the other part of the URI. Any other text may be a PIN, and is not shown. */
function misplaced(name: string): string {
  if (QUERY_ATTRIBUTES.some((known) => known === name)) return `; ${name} belongs after the "?"`;
  const isOfPath = SELECTOR_ATTRIBUTES.has(name) || OTHER_PATH_ATTRIBUTES.some((known) => known === name);
  return isOfPath ? `; ${name} belongs before the "?"` : "";
}

/** Values by name, still encoded. */
function attributes(text: string, separator: string, known: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (text === "") return found;
  for (const part of text.split(separator)) {
    const equals = part.indexOf("=");
    const name = equals < 0 ? "" : part.slice(0, equals);
    if (!known.includes(name)) {
      throw new ConfigurationError(
        "uri",
        `expected attributes of RFC 7512 separated by "${separator}": ${known.join(", ")}${misplaced(name)}`,
      );
    }
    if (found.has(name)) throw new ConfigurationError("uri", `the attribute ${name} appears twice`);
    const value = part.slice(equals + 1);
    refuseMisplacedPin(name, value);
    found.set(name, value);
  }
  return found;
}

function selectorFrom(path: ReadonlyMap<string, string>): TokenSelector {
  const texts: Partial<Record<Exclude<keyof TokenSelector, "slotId">, string>> = {};
  for (const [name, member] of SELECTOR_ATTRIBUTES) {
    const value = path.get(name);
    if (value !== undefined) texts[member] = decodeText(name, value, PATH_CHARACTERS);
  }
  if (texts.libraryVersion !== undefined && !VERSION.test(texts.libraryVersion)) {
    throw new ConfigurationError("uri", "library-version: expected a number such as 3, or two such as 3.1");
  }
  return { ...texts, slotId: optional(path.get("slot-id"), decodeSlotId) };
}

function decodeSlotId(value: string): string {
  const slotId = slotIdFrom(value);
  if (slotId !== undefined) return slotId;
  throw new ConfigurationError("uri", "slot-id: expected a whole number from 0 to 2^64 - 1 in decimal digits");
}

/** The certificates of a key can be named by the key. */
function requireType(type: string | undefined, wanted: "private" | "cert"): void {
  if (type === undefined || type === "private" || type === wanted) return;
  const expected = wanted === "cert" ? "cert, private or no type" : "private, or no type: a signer needs a private key";
  throw new ConfigurationError("uri", `type: expected ${expected}`);
}

function optional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text);
}
