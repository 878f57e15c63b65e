import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// In the order of `enum function` in shim.c.
const FUNCTIONS = [
  "C_Sign",
  "C_SignInit",
  "C_OpenSession",
  "C_Login",
  "C_FindObjectsInit",
  "C_GetAttributeValue",
  "C_Initialize",
  "C_Finalize",
  "C_CloseSession",
  "C_Logout",
  "C_CloseAllSessions",
  "C_GetSlotList",
  "C_GetTokenInfo",
  "C_GetSessionInfo",
  "C_GetSlotInfo",
  "C_GetInfo",
] as const;

// In the order of the cells after the arrays of `struct control`.
const SETTINGS = [
  "release",
  "serial",
  "tamper",
  "crash",
  "tokenFlags",
  "maxSessions",
  "hideObjects",
  "pointForm",
  "strikeCloseAll",
  "strikeLogout",
  "strikeFinalize",
  "slotBase",
  "slotsSwapped",
  "flagsRemoved",
  "failAttribute",
  "failClass",
] as const;
const COUNTERS = ["inFlight", "maxInFlight", "hung", "initializeFlags", "openSessions", "finalizeInFlight"] as const;

const ARRAY_CELLS = 16;
const ARRAYS = { delayUs: 0, failEvery: 1, failCode: 2, calls: 3, hangNext: 4, failLeft: 5 } as const;
/** Tokens whose logins are counted. */
const SLOTS = 8;
const SCALARS = Object.keys(ARRAYS).length * ARRAY_CELLS;
const MODULE_OFFSET = 1024;
const DIGESTS_OFFSET = 4096;
const DIGESTS = 65_536;

const TAMPER = { none: 0, flip: 1, "zero-r": 2, short: 3, "other-digest": 4, empty: 5 } as const;
const POINT_FORM = { "as-is": 0, unwrapped: 1, bare: 2 } as const;

export type ShimFunction = (typeof FUNCTIONS)[number];

/** What other code may do to an instance of a module. */
const STRIKES = { "close-all": "strikeCloseAll", logout: "strikeLogout", finalize: "strikeFinalize" } as const;
/** Settings that take effect as changes, so that they are not undone. */
const LASTING: readonly string[] = ["release", ...Object.values(STRIKES)];

/** Which calls of a function fail. */
export interface FailurePlan {
  /** Default 1: each one. */
  readonly every?: number;
  /** Default: no limit. */
  readonly times?: number;
  /** C_GetAttributeValue: only for this attribute. */
  readonly attribute?: number;
  /** C_FindObjectsInit: only in a search for this CKA_CLASS. */
  readonly objectClass?: number;
}

/** A module between Signpost and a real one. Everything takes effect at the next call. */
export interface Pkcs11Shim extends AsyncDisposable {
  /** Path of the module to open. Each shim is a separate library, so one process can use several. */
  readonly module: string;
  /** Delays each call of the function. Milliseconds, 0 for none. */
  delay(name: ShimFunction, ms: number): void;
  /** Calls of the function return the CKR code: each `every`th (default 1), this many `times` (default no limit). */
  fail(name: ShimFunction, code: number, plan?: FailurePlan): void;
  /** The next `count` calls of the function do not return before `release`. */
  hang(name: ShimFunction, count?: number): void;
  /** Hanging calls continue, and none hangs any more. */
  release(): void;
  /** How signatures are changed: a bit flipped, r zero, a byte or all of it missing, or made over another digest. */
  tamper(how: keyof typeof TAMPER): void;
  /** The form of CKA_EC_POINT: as the module returns it, without the OCTET STRING, or only x‖y. */
  pointForm(form: keyof typeof POINT_FORM): void;
  /** `serial`: one C_Sign at a time; `crash`: C_Sign aborts the process; `hideObjects`: searches find nothing. */
  set(setting: "serial" | "crash" | "hideObjects", on: boolean): void;
  /** Flags to add to the token's, or to remove; the most sessions that it allows, 0 for its own number. */
  token(values: { readonly flags?: number; readonly withoutFlags?: number; readonly maxSessions?: number }): void;
  /**
   * Initialized tokens, in the order of their labels, are in slots with these numbers: `first`, and those that follow it.
   * The others are absent. `swapped`: the first two tokens have changed places.
   */
  slots(numbers: { readonly first: bigint; readonly swapped?: boolean }): void;
  /** Calls of C_Login since then, by the places of the tokens in the order of their labels. */
  logins(): readonly number[];
  /**
   * Every instance loses its sessions, its login, or is finalized before its next call. For modules with an instance for
   * each thread (p11-kit's client), which other code cannot reach otherwise. Other modules are not affected.
   */
  strike(what: keyof typeof STRIKES): void;
  /** Undoes all of the above. */
  clear(): void;
  calls(name: ShimFunction): number;
  counter(name: (typeof COUNTERS)[number]): number;
  /** Digests passed to C_Sign, in hexadecimal, at most the latest 65,536. */
  digests(): readonly string[];
  /** Removes the library's folder. */
  stop(): Promise<void>;
}

/** Builds the shim, once for each version of its source, and puts one in front of the module at a path. */
export async function startShim(realModule: string): Promise<Pkcs11Shim> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-shim-"));
  const module = join(folder, "shim.so");
  await copyFile(await buildShim(), module);
  const file = openSync(`${module}.control`, "w+", 0o600);
  ftruncateSync(file, DIGESTS_OFFSET + DIGESTS * 32);
  writeSync(file, realModule, MODULE_OFFSET);

  const read = (cell: number): number => {
    const buffer = Buffer.alloc(8);
    readSync(file, buffer, 0, 8, cell * 8);
    return Number(buffer.readBigInt64LE());
  };
  const write = (cell: number, value: number | bigint): void => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
    writeSync(file, buffer, 0, 8, cell * 8);
  };
  const cellOf = (array: keyof typeof ARRAYS, name: ShimFunction): number =>
    ARRAYS[array] * ARRAY_CELLS + FUNCTIONS.indexOf(name);
  const setting = (name: (typeof SETTINGS)[number]): number => SCALARS + SETTINGS.indexOf(name);
  const advance = (name: (typeof SETTINGS)[number]): void => write(setting(name), read(setting(name)) + 1);
  let open = true;

  const shim: Pkcs11Shim = {
    module,
    delay: (name, ms) => write(cellOf("delayUs", name), ms * 1000),
    fail: (name, code, { every = 1, times = -1, attribute, objectClass } = {}) => {
      if (name === "C_GetAttributeValue") write(setting("failAttribute"), attribute === undefined ? 0 : attribute + 1);
      if (name === "C_FindObjectsInit") write(setting("failClass"), objectClass === undefined ? 0 : objectClass + 1);
      write(cellOf("failCode", name), code);
      write(cellOf("failLeft", name), times);
      write(cellOf("failEvery", name), every);
    },
    hang: (name, count = 1) => write(cellOf("hangNext", name), count),
    release: () => {
      for (const name of FUNCTIONS) write(cellOf("hangNext", name), 0);
      advance("release");
    },
    tamper: (how) => write(setting("tamper"), TAMPER[how]),
    pointForm: (form) => write(setting("pointForm"), POINT_FORM[form]),
    set: (name, on) => write(setting(name), on ? 1 : 0),
    token: ({ flags, withoutFlags, maxSessions }) => {
      if (flags !== undefined) write(setting("tokenFlags"), flags);
      if (withoutFlags !== undefined) write(setting("flagsRemoved"), withoutFlags);
      if (maxSessions !== undefined) write(setting("maxSessions"), maxSessions);
    },
    slots: ({ first, swapped = false }) => {
      write(setting("slotsSwapped"), swapped ? 1 : 0);
      write(setting("slotBase"), first);
    },
    logins: () => {
      const first = SCALARS + SETTINGS.length + COUNTERS.length;
      return Array.from({ length: SLOTS }, (_, place) => read(first + place));
    },
    strike: (what) => advance(STRIKES[what]),
    clear: () => {
      for (const name of FUNCTIONS) {
        for (const array of ["delayUs", "failEvery"] as const) write(cellOf(array, name), 0);
      }
      for (const name of SETTINGS) if (!LASTING.includes(name)) write(setting(name), 0);
      shim.release();
    },
    calls: (name) => read(cellOf("calls", name)),
    counter: (name) => read(SCALARS + SETTINGS.length + COUNTERS.indexOf(name)),
    digests: () => {
      const count = Math.min(shim.calls("C_Sign"), DIGESTS);
      const buffer = Buffer.alloc(count * 32);
      readSync(file, buffer, 0, buffer.length, DIGESTS_OFFSET);
      return Array.from({ length: count }, (_, index) => buffer.toString("hex", index * 32, index * 32 + 32));
    },
    stop: async () => {
      if (!open) return;
      open = false;
      shim.clear();
      closeSync(file);
      await rm(folder, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => shim.stop(),
  };
  return shim;
}

/** Compiles shim.c into the cache folder, under the name of its hash. Resolves with the path. */
export async function buildShim(): Promise<string> {
  const source = fileURLToPath(new URL("../shim/shim.c", import.meta.url));
  const hash = createHash("sha256")
    .update(await readFile(source))
    .digest("hex")
    .slice(0, 16);
  const cache = cacheFolder();
  const library = join(cache, `pkcs11-shim-${hash}.so`);
  if (existsSync(library)) return library;
  await mkdir(cache, { recursive: true });
  // Under another name first: several test processes may build it at the same time.
  const unfinished = `${library}.${process.pid}`;
  const headers = join(dirname(createRequire(import.meta.url).resolve("pkcs11js/package.json")), "includes");
  const args = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-Wall",
    "-I",
    headers,
    "-o",
    unfinished,
    source,
    "-ldl",
    "-lpthread",
  ];
  await promisify(execFile)("cc", args);
  await rename(unfinished, library);
  return library;
}

function cacheFolder(): string {
  const { SIGNPOST_CACHE: own, XDG_CACHE_HOME: xdg } = process.env;
  return own ?? join(xdg ?? join(homedir(), ".cache"), "signpost");
}
