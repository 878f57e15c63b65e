import { endianness } from "node:os";
import { codeName } from "./code-name.ts";
import type { TokenUri } from "./uri.ts";

/** What `C_GetTokenInfo` says of a token. */
export interface TokenInfo {
  readonly label: string;
  readonly model: string;
  readonly manufacturerID: string;
  readonly serialNumber: string;
  readonly flags: number;
}

interface SlotInfo {
  readonly slotDescription: string;
  readonly manufacturerID: string;
}
interface LibraryInfo {
  readonly manufacturerID: string;
  readonly libraryDescription: string;
  readonly libraryVersion: { readonly major: number; readonly minor: number };
}

/** The calls of `pkcs11js` that find a token. */
export interface SlotCalls {
  C_GetInfo(): LibraryInfo;
  C_GetSlotList(tokenPresent: boolean): Buffer[];
  C_GetSlotInfo(slot: Buffer): SlotInfo;
  C_GetTokenInfo(slot: Buffer): TokenInfo;
}

/** The slots of a module, by a URI. */
export interface FoundSlots {
  readonly matching: readonly (readonly [slot: Buffer, info: TokenInfo])[];
  /** Slots that cannot be read. Another token may be the one. */
  readonly unreadable: readonly string[];
}

/** With all attributes of the URI that select a token: a PIN must go to no other one. Blank slots never match, as in the adapter. */
export function findSlots(module: SlotCalls, uri: TokenUri): FoundSlots {
  const unreadable: string[] = [];
  const tokens = module.C_GetSlotList(true).flatMap((slot) => {
    try {
      return [[slot, module.C_GetTokenInfo(slot)] as const];
    } catch (error) {
      unreadable.push(`slot ${slotNumber(slot)} cannot be read (${codeName(error) ?? "no code"})`);
      return [];
    }
  });
  const isOfLibrary = matchesLibrary(module, uri);
  const matching = tokens.filter(
    ([slot, info]) => isOfLibrary && matchesToken(uri, slot, info) && matchesSlot(module, uri, slot),
  );
  const initialized = matching.filter(([, { flags }]) => (flags & CKF_TOKEN_INITIALIZED) !== 0);
  // Not every module sets that flag.
  const others = matching.filter(([, { label }]) => uri.serial !== undefined || trimPadding(label) !== "");
  return { matching: initialized.length > 0 ? initialized : others, unreadable };
}

const CKF_TOKEN_INITIALIZED = 0x400;

function matchesToken(uri: TokenUri, slot: Buffer, info: TokenInfo): boolean {
  return (
    same(uri.token, info.label) &&
    same(uri.serial, info.serialNumber) &&
    same(uri.manufacturer, info.manufacturerID) &&
    same(uri.model, info.model) &&
    (uri.slotId === undefined || uri.slotId === slotNumber(slot))
  );
}

function matchesSlot(module: SlotCalls, uri: TokenUri, slot: Buffer): boolean {
  if (uri.slotDescription === undefined && uri.slotManufacturer === undefined) return true;
  const info = readable(() => module.C_GetSlotInfo(slot));
  return (
    info !== undefined &&
    same(uri.slotDescription, info.slotDescription) &&
    same(uri.slotManufacturer, info.manufacturerID)
  );
}

function matchesLibrary(module: SlotCalls, uri: TokenUri): boolean {
  const { libraryDescription, libraryManufacturer, libraryVersion } = uri;
  if ([libraryDescription, libraryManufacturer, libraryVersion].every((text) => text === undefined)) return true;
  const info = readable(() => module.C_GetInfo());
  if (info === undefined) return false;
  const { major, minor } = info.libraryVersion;
  return (
    same(libraryDescription, info.libraryDescription) &&
    same(libraryManufacturer, info.manufacturerID) &&
    (libraryVersion === undefined || [`${major}`, `${major}.${minor}`].includes(libraryVersion))
  );
}

function readable<Info>(read: () => Info): Info | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function same(wanted: string | undefined, found: string): boolean {
  return wanted === undefined || trimPadding(wanted) === trimPadding(found);
}

const LITTLE_ENDIAN = endianness() === "LE";

/** In decimal digits. A CK_ULONG has 8 bytes, on Windows 4, in the byte order of the machine. */
function slotNumber(slot: Buffer): string {
  const bytes = LITTLE_ENDIAN ? Buffer.from(slot.toReversed()) : slot;
  return (bytes.length === 8 ? bytes.readBigUInt64BE() : bytes.readUInt32BE()).toString();
}

/** Fixed-size texts are padded with spaces, by some modules with NULs. */
export function trimPadding(text: string): string {
  return text.replace(/[\0 ]+$/, "");
}
