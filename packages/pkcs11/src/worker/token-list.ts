import type { Binding, Handle, TokenInfo } from "../cryptoki/binding.ts";
import { type CkrCode, codeFrom, cryptoki, CryptokiError } from "../cryptoki/call.ts";
import { ckrRule } from "../cryptoki/ckr.ts";
import {
  CKF_TOKEN_INITIALIZED,
  CKR_BUFFER_TOO_SMALL,
  CKR_CRYPTOKI_NOT_INITIALIZED,
  CKR_SLOT_ID_INVALID,
  CKR_TOKEN_NOT_PRESENT,
  CKR_TOKEN_NOT_RECOGNIZED,
} from "../cryptoki/constants.ts";
import type { LibraryDescription, TokenDescription, TokenList, UnreadableSlot } from "../cryptoki/descriptions.ts";
import { readUlong } from "../cryptoki/objects.ts";

// pkcs11js turns CK_UNAVAILABLE_INFORMATION into this: it keeps the lower 32 bits of each count and of the flags. No known
// token has more than 2^32 sessions, and no flag has a higher bit.
const UNKNOWN_COUNT = 0xffff_ffff;

/** A slot may appear between the two calls that pkcs11js makes: one counts the slots, the other lists them. */
const LISTINGS = 3;

const READINGS = 3;
const READ_AGAIN_MS = 20;

/** CKR codes for a missing token, or for one of an unknown kind. */
const ABSENT: ReadonlySet<CkrCode> = new Set([CKR_SLOT_ID_INVALID, CKR_TOKEN_NOT_PRESENT, CKR_TOKEN_NOT_RECOGNIZED]);

/** Every slot that holds a token, with the slot's handle. */
export function listTokens(binding: Binding): {
  readonly list: TokenList;
  readonly slots: ReadonlyMap<string, Handle>;
} {
  const library = describeLibrary(binding);
  const slots = new Map<string, Handle>();
  const tokens: TokenDescription[] = [];
  const unreadable: UnreadableSlot[] = [];
  for (const slot of listSlots(binding)) {
    const slotId = readUlong(slot)?.toString();
    if (slotId === undefined) continue;
    const token = describeToken(binding, slot, slotId);
    if (typeof token === "object") {
      slots.set(slotId, slot);
      tokens.push(token);
    } else if (!ABSENT.has(token)) unreadable.push({ slotId, code: token });
  }
  return { list: { library, tokens, unreadable }, slots };
}

function listSlots(binding: Binding): readonly Handle[] {
  for (let listings = 1; ; listings += 1) {
    try {
      return cryptoki("C_GetSlotList", () => binding.C_GetSlotList(true));
    } catch (error) {
      const grown = error instanceof CryptokiError && error.code === CKR_BUFFER_TOO_SMALL;
      if (!grown || listings === LISTINGS) throw error;
    }
  }
}

// Needed only for a selector with the library's texts, so a failure is not fatal.
function describeLibrary(binding: Binding): LibraryDescription {
  let info: ReturnType<Binding["C_GetInfo"]> | undefined;
  const code = codeFrom(() => (info = binding.C_GetInfo()));
  if (code === CKR_CRYPTOKI_NOT_INITIALIZED) throw new CryptokiError("C_GetInfo", code);
  if (info === undefined) return { manufacturer: "", description: "", version: "" };
  return {
    manufacturer: trimPadding(info.manufacturerID),
    description: trimPadding(info.libraryDescription),
    version: `${info.libraryVersion.major}.${info.libraryVersion.minor}`,
  };
}

/** The token in a slot, or the CKR code of the module's refusal. */
function describeToken(binding: Binding, slot: Handle, slotId: string): TokenDescription | CkrCode {
  const slotInfo = describeSlot(binding, slot);
  let token: TokenInfo | undefined;
  const code = codeFrom(() => (token = readToken(binding, slot)));
  if (token === undefined) return code ?? CKR_TOKEN_NOT_PRESENT;
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
}

/**
 * CK_TOKEN_INFO. While another process logs in to a token, SoftHSM cannot read it, or returns it without a name. Retries
 * and blocks meanwhile.
 */
export function readToken(binding: Binding, slot: Handle): TokenInfo {
  for (let readings = 1; ; readings += 1) {
    const isLast = readings === READINGS;
    try {
      const token = cryptoki("C_GetTokenInfo", () => binding.C_GetTokenInfo(slot));
      if (isLast || !isNameless(token)) return token;
    } catch (error) {
      const mayPass = error instanceof CryptokiError && ckrRule(error.code).action === "repeated";
      if (!mayPass || isLast) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, READ_AGAIN_MS);
  }
}

function isNameless({ flags, label, serialNumber }: TokenInfo): boolean {
  return (flags & CKF_TOKEN_INITIALIZED) !== 0 && trimPadding(label) === "" && trimPadding(serialNumber) === "";
}

// Needed only for a selector with the slot's texts, so a failure is not fatal.
function describeSlot(binding: Binding, slot: Handle): { slotDescription: string; manufacturerID: string } {
  try {
    return binding.C_GetSlotInfo(slot);
  } catch {
    return { slotDescription: "", manufacturerID: "" };
  }
}

/** Fixed-size texts are padded with spaces, by some modules with NULs. */
export function trimPadding(text: string): string {
  return text.replace(/[\0 ]+$/, "");
}
