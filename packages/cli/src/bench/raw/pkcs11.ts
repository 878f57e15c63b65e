import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { codeName } from "../../backends/pkcs11/code-name.ts";
import { initializeArguments, type InitializeArguments } from "../../backends/pkcs11/initialize.ts";
import { findModule, placeOfOpened, type ModulePlace } from "../../backends/pkcs11/module.ts";
import { findSlots, type SlotCalls, type TokenInfo } from "../../backends/pkcs11/slots.ts";
import { CliError } from "../../program/cli-error.ts";
import { EXIT } from "../../program/exit-codes.ts";
import type { OpenRaw, Side } from "../side.ts";
import { missingSdk } from "./missing-sdk.ts";
import { probeDigest } from "./text.ts";

/** The part of `pkcs11js` that is used. */
interface Binding {
  readonly PKCS11: new () => Module;
  readonly [constant: string]: unknown;
}
interface Attribute {
  readonly type: number;
  readonly value: unknown;
}
interface Module extends SlotCalls {
  load(path: string): void;
  C_Initialize(args: InitializeArguments): void;
  C_Finalize(): void;
  C_OpenSession(slot: Buffer, flags: number): Buffer;
  C_CloseSession(session: Buffer): void;
  C_Login(session: Buffer, user: number, pin: string): void;
  C_FindObjectsInit(session: Buffer, template: readonly Attribute[]): void;
  C_FindObjects(session: Buffer, max: number): Buffer[];
  C_FindObjectsFinal(session: Buffer): void;
  C_GetAttributeValue(
    session: Buffer,
    object: Buffer,
    template: readonly { readonly type: number }[],
  ): readonly object[];
  C_SignInit(session: Buffer, mechanism: { readonly mechanism: number }, key: Buffer): void;
  C_SignAsync(session: Buffer, data: Buffer, output: Buffer): Promise<Buffer>;
}

/** Shorter than a command has to close its keys. */
const LAST_CALLS_MS = 1000;
const ALREADY_INITIALIZED = 0x191;
const ALREADY_LOGGED_IN = 0x100;

/** `C_SignInit` and `C_Sign` of the module by pkcs11js, in a session for each call at once. The key was opened before, so the PIN is right. */
export const openRawToken: OpenRaw = async ({ uri, keyUri, options, context, concurrency, pin }) => {
  const found = await findModule(uri, options, context);
  if (found === undefined) throw missingSdk("pkcs11js");
  const place = placeOfOpened(found, keyUri);
  const binding = createRequire(place.binding)(place.binding) as Binding;
  const number = (name: string): number => Number(binding[name]);
  const module = new binding.PKCS11();
  module.load(place.module);
  return inModule(async () => openSessions({ module, number, place, concurrency, secret: await pin() }));
};

interface SessionsOrder {
  readonly module: Module;
  readonly number: (name: string) => number;
  readonly place: ModulePlace;
  readonly concurrency: number;
  readonly secret: string | undefined;
}

function openSessions({ module, number, place, concurrency, secret }: SessionsOrder): Side {
  const isOurs = unless(ALREADY_INITIALIZED, () => module.C_Initialize(initializeArguments(number, place.parameters)));
  const [slot, { flags }] = findSlot(module, place);
  const openSession = (): Buffer => module.C_OpenSession(slot, number("CKF_SERIAL_SESSION"));
  const first = openSession();
  const sessions = [first, ...Array.from({ length: concurrency - 1 }, openSession)];
  const template: Attribute[] = [
    { type: number("CKA_CLASS"), value: number("CKO_PRIVATE_KEY") },
    ...(place.uri.object === undefined
      ? []
      : [{ type: number("CKA_LABEL"), value: Buffer.from(place.uri.object, "hex") }]),
    ...(place.uri.id === undefined ? [] : [{ type: number("CKA_ID"), value: Buffer.from(place.uri.id, "hex") }]),
  ];
  // Where the token asks for no login and shows the key, the adapter has not logged in, and nothing has proven the PIN.
  const asks = (flags & number("CKF_LOGIN_REQUIRED")) !== 0;
  if (secret !== undefined && (asks || !showsKey(module, first, template))) {
    unless(ALREADY_LOGGED_IN, () => module.C_Login(first, number("CKU_USER"), secret));
  }
  const free = sessions.map((session) => ({ session, key: findKey(module, session, template) }));
  const [found] = free;
  const wantsLogin = found !== undefined && isCareful(module, found, number("CKA_ALWAYS_AUTHENTICATE"));
  const login =
    wantsLogin && secret !== undefined
      ? unlessRefused((session) => module.C_Login(session, number("CKU_CONTEXT_SPECIFIC"), secret))
      : undefined;
  const running = new Set<Promise<Buffer>>();
  const mechanism = { mechanism: number("CKM_ECDSA") };
  return {
    name: "bare module",
    sign: async () => {
      const taken = free.pop();
      if (taken === undefined) throw new TypeError("there is a session for each caller");
      try {
        module.C_SignInit(taken.session, mechanism, taken.key);
        login?.(taken.session);
        const call = module.C_SignAsync(taken.session, probeDigest(), Buffer.alloc(64));
        running.add(call);
        await call.finally(() => running.delete(call));
      } finally {
        free.push(taken);
      }
    },
    codeOf: (error) => codeName(error) ?? (error instanceof Error ? error.name : "Error"),
    close: async () => {
      // Ctrl-C leaves calls behind, and a module may not be finalized during one: not here, and not by the adapter after this.
      await Promise.race([Promise.allSettled(running), delay(LAST_CALLS_MS, undefined, { ref: false })]);
      if (running.size > 0) return;
      for (const session of sessions) module.C_CloseSession(session);
      // Otherwise the adapter in this process would lose its sessions.
      if (isOurs) module.C_Finalize();
    },
  };
}

/** What the module refuses is no mistake in this program: too many sessions, a login that another program prevents. */
async function inModule(open: () => Promise<Side>): Promise<Side> {
  try {
    return await open();
  } catch (error) {
    const code = codeName(error);
    if (error instanceof CliError || code === undefined) throw error;
    throw new CliError(EXIT.backend, "module_failed", `--raw: the PKCS#11 module refused: ${code}`, { cause: error });
  }
}

/** Whether the call was needed. */
function unless(done: number, call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if (Reflect.get(Object(error), "code") === done) return false;
    throw error;
  }
}

function findSlot(module: Module, { uri }: ModulePlace): readonly [slot: Buffer, info: TokenInfo] {
  const { matching, unreadable } = findSlots(module, uri);
  const [token] = matching;
  if (token !== undefined && matching.length === 1) return token;
  if (token !== undefined) {
    throw new CliError(EXIT.backend, "token_ambiguous", "more than one token matches: add serial= to the URI");
  }
  throw new CliError(EXIT.backend, "token_not_found", ["the module has no such token", ...unreadable].join("; "));
}

function findKeys(module: Module, session: Buffer, template: readonly Attribute[]): readonly Buffer[] {
  module.C_FindObjectsInit(session, template);
  const keys = module.C_FindObjects(session, 1);
  module.C_FindObjectsFinal(session);
  return keys;
}

/** Some tokens refuse the search itself without a login. */
function showsKey(module: Module, session: Buffer, template: readonly Attribute[]): boolean {
  try {
    return findKeys(module, session, template).length > 0;
  } catch {
    return false;
  }
}

function findKey(module: Module, session: Buffer, template: readonly Attribute[]): Buffer {
  const [key] = findKeys(module, session, template);
  if (key === undefined) throw new CliError(EXIT.backend, "key_not_found", "the token has no such private key");
  return key;
}

/** A login that was refused is not tried again: the token may lock. */
function unlessRefused(login: (session: Buffer) => void): (session: Buffer) => void {
  let refusal: { readonly error: unknown } | undefined;
  return (session) => {
    if (refusal !== undefined) throw refusal.error;
    try {
      login(session);
    } catch (error) {
      refusal = { error };
      throw error;
    }
  };
}

interface KeyInSession {
  readonly session: Buffer;
  readonly key: Buffer;
}

/** Whether each signature needs a login (CKA_ALWAYS_AUTHENTICATE). Not every module knows the attribute. */
function isCareful(module: Module, { session, key }: KeyInSession, type: number): boolean {
  try {
    const [attribute] = module.C_GetAttributeValue(session, key, [{ type }]);
    return Buffer.from(Object(Reflect.get(Object(attribute), "value")))[0] === 1;
  } catch {
    return false;
  }
}
