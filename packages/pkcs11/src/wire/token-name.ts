import type { ModuleFile } from "./commands.ts";

/** What identifies a token, independent of its slot: the slot may change on the next start. */
export interface TokenName {
  readonly label: string;
  readonly serial: string;
  /** Identifies the module of a token that has no serial number. Only for `pinKey`. */
  readonly module?: string | undefined;
}

/** The name of a token of this module. */
export function tokenName({ label, serial }: TokenName, { module, libraryParameters }: ModuleFile): TokenName {
  return { label, serial, module: NO_SERIAL.test(serial) ? JSON.stringify([module, libraryParameters]) : undefined };
}

/** All databases of NSS have the same label and this serial number. */
const NO_SERIAL = /^0*$/;

/** Among the tokens of one module, as a key for maps. */
export function tokenKey({ label, serial }: TokenName): string {
  return JSON.stringify([label, serial]);
}

/** The same among the tokens of all modules, for what is known about PINs. */
export function pinKey({ label, serial, module }: TokenName): string {
  return JSON.stringify([label, serial, module]);
}

/** As text for people. */
export function describeToken({ label, serial }: TokenName): string {
  return `token ${JSON.stringify(label)} (serial ${serial === "" ? "none" : serial})`;
}
