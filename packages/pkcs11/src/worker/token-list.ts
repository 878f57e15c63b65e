import type { Binding, Handle } from "../cryptoki/binding.ts";
import { cryptoki } from "../cryptoki/call.ts";
import { CKF_TOKEN_INITIALIZED } from "../cryptoki/constants.ts";
import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { readUlong } from "../cryptoki/objects.ts";

// CK_UNAVAILABLE_INFORMATION, and what pkcs11js makes of it.
const UNKNOWN_COUNTS: ReadonlySet<number> = new Set([0xffff_ffff, 2 ** 64]);

/** Every slot that holds a token, with the slot's handle beside it. */
export function listTokens(binding: Binding): {
  readonly list: TokenList;
  readonly slots: ReadonlyMap<number, Handle>;
} {
  const info = cryptoki("C_GetInfo", () => binding.C_GetInfo());
  const slots = new Map<number, Handle>();
  const tokens: TokenDescription[] = [];
  for (const slot of cryptoki("C_GetSlotList", () => binding.C_GetSlotList(true))) {
    const slotId = readUlong(slot);
    const token = slotId === undefined ? undefined : describeToken(binding, slot, slotId);
    if (slotId === undefined || token === undefined) continue;
    slots.set(slotId, slot);
    tokens.push(token);
  }
  const library = {
    manufacturer: trimPadding(info.manufacturerID),
    description: trimPadding(info.libraryDescription),
    version: `${info.libraryVersion.major}.${info.libraryVersion.minor}`,
  };
  return { list: { library, tokens }, slots };
}

// A token that goes away between two calls is as good as not there.
function describeToken(binding: Binding, slot: Handle, slotId: number): TokenDescription | undefined {
  try {
    const slotInfo = cryptoki("C_GetSlotInfo", () => binding.C_GetSlotInfo(slot));
    const token = cryptoki("C_GetTokenInfo", () => binding.C_GetTokenInfo(slot));
    return {
      slotId,
      slotDescription: trimPadding(slotInfo.slotDescription),
      slotManufacturer: trimPadding(slotInfo.manufacturerID),
      label: trimPadding(token.label),
      serial: trimPadding(token.serialNumber),
      manufacturer: trimPadding(token.manufacturerID),
      model: trimPadding(token.model),
      initialized: (token.flags & CKF_TOKEN_INITIALIZED) !== 0,
      maxSessions: UNKNOWN_COUNTS.has(token.maxSessionCount) ? 0 : token.maxSessionCount,
    };
  } catch {
    return undefined;
  }
}

/** Fixed-size texts are padded with blanks, by some modules with NULs. */
export function trimPadding(text: string): string {
  return text.replace(/[\0 ]+$/, "");
}
