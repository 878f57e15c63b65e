import { createRequire } from "node:module";
import { cryptoki, CryptokiError } from "./call.ts";

/** A CK_SLOT_ID, CK_SESSION_HANDLE or CK_OBJECT_HANDLE, as pkcs11js gives it. */
export type Handle = Buffer;

/** One CK_ATTRIBUTE. Without a value: one that is asked for. */
export interface Attribute {
  readonly type: number;
  readonly value?: Buffer | number | boolean;
}

/** The few calls of pkcs11js that are used here. */
export interface Binding {
  load(path: string): void;
  C_Initialize(args: { flags: number; libraryParameters?: string }): void;
  C_Finalize(): void;
  C_GetInfo(): { manufacturerID: string; libraryDescription: string; libraryVersion: Version };
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetSlotInfo(slot: Handle): { slotDescription: string; manufacturerID: string };
  C_GetTokenInfo(slot: Handle): TokenInfo;
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_GetSessionInfo(session: Handle): { state: number };
  C_Login(session: Handle, userType: number, pin: string): void;
  C_FindObjectsInit(session: Handle, template: readonly Attribute[]): void;
  C_FindObjects(session: Handle, maxObjectCount: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GetAttributeValue(session: Handle, object: Handle, template: readonly Attribute[]): { value: Buffer }[];
  C_SignInit(session: Handle, mechanism: { mechanism: number }, key: Handle): void;
  C_Sign(session: Handle, data: Buffer, output: Buffer): Buffer;
}

/** CK_TOKEN_INFO, as far as it is used. */
export interface TokenInfo {
  label: string;
  serialNumber: string;
  manufacturerID: string;
  model: string;
  flags: number;
  maxSessionCount: number;
}

interface Version {
  major: number;
  minor: number;
}

/** pkcs11js is not installed, or its native part was never built. */
export class BindingError extends Error {}

/** The module could not be loaded: its path, or what stands there. */
export class ModuleError extends Error {}

const HOW_TO_BUILD =
  "It is compiled when it is installed and needs python3, make and g++. Package managers skip the build unless they are told: " +
  'pnpm: allowBuilds: { pkcs11js: true } in pnpm-workspace.yaml; npm 12: "allowScripts": { "pkcs11js": true } in package.json';

/**
 * Loads pkcs11js and the PKCS#11 module. An object whose `load` failed is dropped: some modules are half
 * loaded then, and the next call would end the process.
 */
export function loadModule(path: string): Binding {
  const binding = new (requireBinding())();
  try {
    cryptoki("C_GetFunctionList", () => binding.load(path));
  } catch (error) {
    if (error instanceof CryptokiError) throw error;
    throw new ModuleError(error instanceof Error ? error.message : String(error));
  }
  return binding;
}

function requireBinding(): new () => Binding {
  const require = createRequire(import.meta.url);
  try {
    // CommonJS without usable types where it is not installed; the shape is pinned by `Binding`.
    const { PKCS11 } = require("pkcs11js") as { PKCS11: new () => Binding };
    return PKCS11;
  } catch (cause) {
    throw new BindingError(`pkcs11js is not installed or not built. ${HOW_TO_BUILD}`, { cause });
  }
}
