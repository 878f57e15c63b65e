import { isIPv4, isIPv6 } from "node:net";

/** The 4 or 16 bytes of an IP address, or undefined if it is none or has a zone. */
export function ipBytes(address: string): Uint8Array | undefined {
  if (isIPv4(address)) return Uint8Array.from(address.split("."), Number);
  if (!isIPv6(address) || address.includes("%")) return undefined;
  // In its short form, with a dotted end as hexadecimal digits.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = "", after] = text.split("::");
  const [head, tail] = [groups(before), groups(after ?? "")];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => 0);
  return Uint8Array.from([...head, ...zeros, ...tail].flatMap((group) => [group >> 8, group & 0xff]));
}

function groups(text: string): readonly number[] {
  return text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
}

/** The address of 4 or 16 bytes. Undefined for another length. */
export function ipText(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.length !== 16) return undefined;
  const hex = Buffer.from(bytes).toString("hex").match(/.{4}/g) ?? [];
  return new URL(`http://[${hex.join(":")}]`).hostname.slice(1, -1);
}
