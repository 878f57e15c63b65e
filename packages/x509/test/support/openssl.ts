import { execFileSync } from "node:child_process";

/** Runs openssl, which is not the code that is tested. Standard output and standard error as text. */
export function openssl(input: string | Uint8Array, ...args: readonly string[]): string {
  return execFileSync("openssl", [...args], { input, encoding: "utf8", stdio: ["pipe", "pipe", "pipe"] });
}

/** What `openssl asn1parse` prints of the structure. */
export function asn1(der: Uint8Array): string {
  return openssl(der, "asn1parse", "-inform", "DER", "-i");
}
