/** The parts of a PKCS #11 URI (RFC 7512) that this package uses itself. */
export interface TokenUri {
  readonly token: string | undefined;
  readonly serial: string | undefined;
  readonly manufacturer: string | undefined;
  readonly model: string | undefined;
  /** In decimal digits: some modules number slots above 2^53. */
  readonly slotId: string | undefined;
  readonly slotDescription: string | undefined;
  readonly slotManufacturer: string | undefined;
  readonly libraryDescription: string | undefined;
  readonly libraryManufacturer: string | undefined;
  /** `3` or `3.1`. */
  readonly libraryVersion: string | undefined;
  /** `CKA_LABEL` in hexadecimal: it need not be UTF-8. */
  readonly object: string | undefined;
  /** `CKA_ID` in hexadecimal. */
  readonly id: string | undefined;
  readonly modulePath: string | undefined;
  readonly moduleName: string | undefined;
}

/** Reads the parts. The adapter checks the whole URI, strictly, when it opens the key. */
export function readTokenUri(uri: string): TokenUri {
  // A value of the query may have a "?" too.
  const [path = "", ...query] = uri.slice(uri.indexOf(":") + 1).split("?");
  const attributes = membersOf(path, ";");
  const parameters = membersOf(query.join("?"), "&");
  const id = attributes.get("id");
  const slot = attributes.get("slot-id");
  const text = (value: Buffer | undefined): string | undefined => value?.toString();
  return {
    token: text(attributes.get("token")),
    serial: text(attributes.get("serial")),
    manufacturer: text(attributes.get("manufacturer")),
    model: text(attributes.get("model")),
    slotId: slot === undefined ? undefined : slotNumber(slot.toString()),
    slotDescription: text(attributes.get("slot-description")),
    slotManufacturer: text(attributes.get("slot-manufacturer")),
    libraryDescription: text(attributes.get("library-description")),
    libraryManufacturer: text(attributes.get("library-manufacturer")),
    libraryVersion: text(attributes.get("library-version")),
    object: attributes.get("object")?.toString("hex"),
    id: id?.toString("hex"),
    modulePath: text(parameters.get("module-path")),
    moduleName: text(parameters.get("module-name")),
  };
}

/** Without leading zeros. What is no number matches no slot. */
function slotNumber(text: string): string {
  return /^\d{1,20}$/.test(text) ? BigInt(text).toString() : text;
}

function membersOf(text: string, separator: string): ReadonlyMap<string, Buffer> {
  const members = text.split(separator).map((member) => {
    const [name = "", ...value] = member.split("=");
    return [name, unescaped(value.join("="))] as const;
  });
  return new Map(members);
}

/** Percent-decoded bytes, which need not be UTF-8. */
function unescaped(text: string): Buffer {
  const parts = text.split(/(%[\da-fA-F]{2})/);
  return Buffer.concat(
    parts.map((part) => (part.startsWith("%") ? Buffer.from(part.slice(1), "hex") : Buffer.from(part))),
  );
}
