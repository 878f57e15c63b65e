import { OctetString } from "asn1js";
import { dottedOid } from "../encode/oid.ts";
import { ipText } from "./ip-address.ts";
import type { SubjectAltName } from "./alt-names.ts";

/** A name that a certificate has, in the form in which a request takes it. `other` is a kind that requests do not take. */
export type CertificateName = SubjectAltName | { readonly other: string };

/** What is read of a GeneralName. The declarations of pkijs need the DOM's, so they must not be part of ours. */
interface GeneralNameLike {
  readonly type: number;
  readonly value: unknown;
}

const OTHER_KINDS = ["otherName", "", "", "x400Address", "directoryName", "ediPartyName"];

/** The names of a certificate. */
export function certificateNames(names: readonly GeneralNameLike[]): readonly CertificateName[] {
  return names.map(({ type, value }): CertificateName => {
    const text = typeof value === "string" ? value : undefined;
    const ip = type === 7 && value instanceof OctetString ? ipText(new Uint8Array(value.getValue())) : undefined;
    if (ip !== undefined) return { ip };
    if (type === 1 && text !== undefined) return { email: text };
    if (type === 2 && text !== undefined) return { dns: text };
    if (type === 6 && text !== undefined) return { uri: text };
    if (type === 8 && text !== undefined) return { registeredId: dottedOid(text) };
    return { other: OTHER_KINDS[type] ?? "a name of another kind" };
  });
}
