import type { Binding, Handle } from "../cryptoki/binding.ts";
import { cryptoki } from "../cryptoki/call.ts";
import { CKF_TOKEN_INITIALIZED } from "../cryptoki/constants.ts";
import type { TokenDescription, TokenList } from "../cryptoki/descriptions.ts";
import { readUlong } from "../cryptoki/objects.ts";

// What pkcs11js makes of CK_UNAVAILABLE_INFORMATION: it keeps the lower 32 bits of each count and of the flags. No token that
// has more than 2^32 sessions is known, and no flag has a higher bit.
const UNKNOWN_COUNT = 0xffff_ffff;

/** Every slot that holds a token, with the slot's handle beside it. */
export function listTokens(binding: Binding): {
  readonly list: TokenList;
  readonly slots: ReadonlyMap<string, Handle>;
} {
  const info = cryptoki("C_GetInfo", () => binding.C_GetInfo());
  const slots = new Map<string, Handle>();
  const tokens: TokenDescription[] = [];
  for (const slot of cryptoki("C_GetSlotList", () => binding.C_GetSlotList(true))) {
    const slotId = readUlong(slot)?.toString();
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
function describeToken(binding: Binding, slot: Handle, slotId: string): TokenDescription | undefined {
  try {
    const slotInfo = describeSlot(binding, slot);
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
      maxSessions: token.maxSessionCount === UNKNOWN_COUNT ? 0 : token.maxSessionCount,
    };
  } catch {
    return undefined;
  }
}

// What it says of the slot is for those who ask for it, and a token that is there can do without.
function describeSlot(binding: Binding, slot: Handle): { slotDescription: string; manufacturerID: string } {
  try {
    return binding.C_GetSlotInfo(slot);
  } catch {
    return { slotDescription: "", manufacturerID: "" };
  }
}

/** Fixed-size texts are padded with blanks, by some modules with NULs. */
export function trimPadding(text: string): string {
  return text.replace(/[\0 ]+$/, "");
}
