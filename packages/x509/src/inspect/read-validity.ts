import { type BaseBlock, fromBER, GeneralizedTime, Sequence, UTCTime } from "asn1js";
import { exactBuffer } from "../encode/der.ts";

/** When a certificate is valid. */
interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The validity of a TBSCertificate. pkijs takes times in every form, and gives some of them another meaning than OpenSSL. */
export function readValidity(tbs: Uint8Array): Validity {
  const members = childrenOf(fromBER(exactBuffer(tbs)).result);
  // The version is there from version 2 on, and is the only tagged member before the validity.
  const validity = members[members[0]?.idBlock.tagClass === CONTEXT_SPECIFIC ? 4 : 3];
  const [notBefore, notAfter] = childrenOf(validity).map(timeOf);
  if (notBefore === undefined || notAfter === undefined) throw new SyntaxError("no validity of RFC 5280");
  return { notBefore, notAfter };
}

const CONTEXT_SPECIFIC = 3;

function childrenOf(block: BaseBlock | undefined): readonly BaseBlock[] {
  return block instanceof Sequence ? block.valueBlock.value : [];
}

/** RFC 5280 section 4.1.2.5: with seconds and `Z`, and two digits of the year in a UTCTime. */
function timeOf(block: BaseBlock): Date | undefined {
  const digits = block instanceof GeneralizedTime ? 4 : block instanceof UTCTime ? 2 : 0;
  // After the tag and a short length.
  const text = Buffer.from(block.valueBeforeDecodeView.subarray(2)).toString("latin1");
  const [, year = "", month, day, hour, minute, second] =
    /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  if (year.length !== digits) return undefined;
  const whole = digits === 4 ? year : `${Number(year) < 50 ? "20" : "19"}${year}`;
  const iso = `${whole}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = new Date(iso);
  // Date takes the 30th of February for a day in March.
  return !Number.isNaN(time.getTime()) && time.toISOString() === iso ? time : undefined;
}
