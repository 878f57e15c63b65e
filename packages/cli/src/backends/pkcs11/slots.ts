import type { TokenUri } from "./uri.ts";

/** What `C_GetTokenInfo` says of a token. */
export interface TokenInfo {
  readonly label: string;
  readonly model: string;
  readonly manufacturerID: string;
  readonly serialNumber: string;
  readonly flags: number;
}

/** The calls of `pkcs11js` that find a token. */
export interface SlotCalls {
  C_GetSlotList(tokenPresent: boolean): Buffer[];
  C_GetTokenInfo(slot: Buffer): TokenInfo;
}

/** The slots of a module, by a URI. */
export interface FoundSlots {
  readonly matching: readonly (readonly [slot: Buffer, info: TokenInfo])[];
  /** Slots that cannot be read. Another token may be the one. */
  readonly unreadable: readonly string[];
}

export function findSlots(module: SlotCalls, uri: TokenUri): FoundSlots {
  const unreadable: string[] = [];
  const tokens = module.C_GetSlotList(true).flatMap((slot) => {
    try {
      return [[slot, module.C_GetTokenInfo(slot)] as const];
    } catch (error) {
      unreadable.push(
        `slot ${slotNumber(slot)} cannot be read (${error instanceof Error ? error.message : "no code"})`,
      );
      return [];
    }
  });
  return { matching: tokens.filter(([slot, info]) => matches(uri, slot, info)), unreadable };
}

function matches(uri: TokenUri, slot: Buffer, info: TokenInfo): boolean {
  const same = (wanted: string | undefined, found: string): boolean =>
    wanted === undefined || trimPadding(wanted) === trimPadding(found);
  return (
    same(uri.token, info.label) &&
    same(uri.serial, info.serialNumber) &&
    same(uri.manufacturer, info.manufacturerID) &&
    same(uri.model, info.model) &&
    (uri.slotId === undefined || uri.slotId === slotNumber(slot))
  );
}

/** In decimal digits. A CK_ULONG has 8 bytes, on Windows 4. */
function slotNumber(slot: Buffer): string {
  return (slot.length === 8 ? slot.readBigUInt64LE() : slot.readUInt32LE()).toString();
}

/** Fixed-size texts are padded with spaces, by some modules with NULs. */
export function trimPadding(text: string): string {
  return text.replace(/[\0 ]+$/, "");
}
