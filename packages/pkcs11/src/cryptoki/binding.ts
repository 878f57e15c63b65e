import { createRequire } from "node:module";
import { cryptoki, CryptokiError } from "./call.ts";

/** A CK_SLOT_ID, CK_SESSION_HANDLE or CK_OBJECT_HANDLE, as pkcs11js gives it. */
export type Handle = Buffer;

/** One CK_ATTRIBUTE. Without a value, it asks for one. */
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

/** The members of CK_TOKEN_INFO that are used. */
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

/** pkcs11js is not installed, or its native part was not built. */
export class BindingError extends Error {}

/** The module could not be loaded. The path may be wrong, or the file there. */
export class ModuleError extends Error {}

const HOW_TO_BUILD =
  "Its installation compiles it and needs python3, make and g++. Package managers skip the build unless you allow it: " +
  'pnpm: allowBuilds: { pkcs11js: true } in pnpm-workspace.yaml; npm 12: "allowScripts": { "pkcs11js": true } in package.json';

/**
 * Loads pkcs11js and the PKCS#11 module. An object whose `load` failed is dropped: some modules are only half loaded then,
 * and the next call would crash the process.
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
    // CommonJS, which has no usable types if it is not installed. `Binding` pins the shape.
    const { PKCS11 } = require("pkcs11js") as { PKCS11: new () => Binding };
    return PKCS11;
  } catch (cause) {
    throw new BindingError(loadingFailure(cause), { cause });
  }
}

/** Says why pkcs11js did not load. Its native part may be there and not fit the machine: another libc, a missing library. */
export function loadingFailure(error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "MODULE_NOT_FOUND") return `pkcs11js is not installed or not built. ${HOW_TO_BUILD}`;
  const [message = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return `expected pkcs11js to load, but it failed with "${message}". Build its native part where it runs`;
}
