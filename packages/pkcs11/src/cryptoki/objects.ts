import { endianness } from "node:os";
import type { Attribute, Binding, Handle } from "./binding.ts";
import { codeFrom, cryptoki, CryptokiError } from "./call.ts";
import { CKA_CLASS, CKA_ID, CKA_LABEL, CKR_ATTRIBUTE_SENSITIVE, CKR_ATTRIBUTE_TYPE_INVALID } from "./constants.ts";
import { describeLabel } from "./label.ts";

const BATCH = 64;

/** One session of one module. */
export interface CryptokiSession {
  readonly binding: Binding;
  readonly handle: Handle;
}

/** Handles of at most `limit` objects that match. The search is always ended; otherwise the session would stay busy. */
export function findObjects(
  session: CryptokiSession,
  template: readonly Attribute[],
  limit: number,
): readonly Handle[] {
  const { binding, handle } = session;
  cryptoki("C_FindObjectsInit", () => binding.C_FindObjectsInit(handle, template));
  const found: Handle[] = [];
  try {
    while (found.length < limit) {
      const batch = cryptoki("C_FindObjects", () =>
        binding.C_FindObjects(handle, Math.min(BATCH, limit - found.length)),
      );
      if (batch.length === 0) break;
      found.push(...batch);
    }
  } finally {
    codeFrom(() => binding.C_FindObjectsFinal(handle));
  }
  return found;
}

/**
 * One attribute, or undefined when the object has none or the module refuses it. Attributes are requested one by one,
 * because a single missing one fails the call for all.
 */
export function readAttribute(session: CryptokiSession, object: Handle, type: number): Buffer | undefined {
  const { binding, handle } = session;
  let value: Buffer | undefined;
  const code = codeFrom(() => {
    value = binding.C_GetAttributeValue(handle, object, [{ type }])[0]?.value;
  });
  if (code === CKR_ATTRIBUTE_TYPE_INVALID || code === CKR_ATTRIBUTE_SENSITIVE) return undefined;
  if (code !== undefined) throw new CryptokiError("C_GetAttributeValue", code);
  return value === undefined || value.length === 0 ? undefined : Buffer.from(value);
}

/** The module's refusals, in order. */
export type Refusals = CryptokiError[];

/** An optional attribute. A module may answer with any code. A refusal is noted in `refusals`. */
export function readOptional(
  session: CryptokiSession,
  object: Handle,
  type: number,
  refusals?: Refusals,
): Buffer | undefined {
  return unlessSessionLost(session, () => readAttribute(session, object, type), refusals);
}

/** A search for optional objects. A module may refuse the search itself, which is noted in `refusals`. */
export function findOptional(
  session: CryptokiSession,
  template: readonly Attribute[],
  limit: number,
  refusals?: Refusals,
): readonly Handle[] {
  return unlessSessionLost(session, () => findObjects(session, template, limit), refusals) ?? [];
}

/**
 * Undefined if the work failed but the session is alive. Modules use different codes for unknown requests, and no code says
 * whether the session is lost. So the session itself is asked.
 */
function unlessSessionLost<Value>(
  { binding, handle }: CryptokiSession,
  work: () => Value,
  refusals: Refusals = [],
): Value | undefined {
  try {
    return work();
  } catch (error) {
    if (codeFrom(() => binding.C_GetSessionInfo(handle)) !== undefined) throw error;
    if (error instanceof CryptokiError) refusals.push(error);
    return undefined;
  }
}

const LITTLE_ENDIAN = endianness() === "LE";

/**
 * A CK_ULONG in the byte order and size of this machine's module, read exactly: slots and vendors' numbers may be above
 * 2^53.
 */
export function readUlong(value: Buffer | undefined): bigint | undefined {
  if (value?.length === 8) return LITTLE_ENDIAN ? value.readBigUInt64LE() : value.readBigUInt64BE();
  if (value?.length === 4) return BigInt(LITTLE_ENDIAN ? value.readUInt32LE() : value.readUInt32BE());
  return undefined;
}

/** CKA_LABEL, or no bytes. */
export function readLabel(session: CryptokiSession, object: Handle): Uint8Array {
  return new Uint8Array(readOptional(session, object, CKA_LABEL) ?? []);
}

/** CKA_ID, or no bytes. */
export function readId(session: CryptokiSession, object: Handle, refusals?: Refusals): Uint8Array {
  return new Uint8Array(readOptional(session, object, CKA_ID, refusals) ?? []);
}

/** Label and id of an object as text for an operator: `"sig-2026" (id 01)`. */
export function describeObject(session: CryptokiSession, object: Handle): string {
  const id = Buffer.from(readId(session, object)).toString("hex");
  return `${describeLabel(readLabel(session, object))} (id ${id === "" ? "none" : id})`;
}

/** A search for objects of one class, with one CKA_ID where it is given. */
export function classTemplate(objectClass: number, id?: Uint8Array): Attribute[] {
  const template: Attribute[] = [{ type: CKA_CLASS, value: objectClass }];
  if (id !== undefined) template.push({ type: CKA_ID, value: Buffer.from(id) });
  return template;
}
