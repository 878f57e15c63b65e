// The child process: loads a PKCS#11 module, does one task, sends the answer and ends.
import { createRequire } from "node:module";
import { codeName } from "./code-name.ts";
import { initializeArguments, type InitializeArguments } from "./initialize.ts";
import {
  KEY_ATTRIBUTES,
  type KeyAttributes,
  type ModuleAnswer,
  type ModuleRequest,
  type TokenState,
} from "./messages.ts";
import { findSlots, type SlotCalls, type TokenInfo, trimPadding } from "./slots.ts";
import type { TokenUri } from "./uri.ts";

/** The part of `pkcs11js` that is used. */
interface Binding {
  readonly PKCS11: new () => Module;
  readonly [constant: string]: unknown;
}
interface Attribute {
  readonly type: number;
  readonly value?: unknown;
}
interface Module extends SlotCalls {
  load(path: string): void;
  C_Initialize(args: InitializeArguments): void;
  C_Finalize(): void;
  C_OpenSession(slot: Buffer, flags: number): Buffer;
  C_Login(session: Buffer, user: number, pin: string): void;
  C_FindObjectsInit(session: Buffer, template: readonly Attribute[]): void;
  C_FindObjects(session: Buffer, max: number): Buffer[];
  C_FindObjectsFinal(session: Buffer): void;
  C_GetAttributeValue(session: Buffer, object: Buffer, template: readonly Attribute[]): Attribute[];
  C_GenerateKeyPair(
    session: Buffer,
    mechanism: { readonly mechanism: number; readonly parameter: null },
    publicTemplate: readonly Attribute[],
    privateTemplate: readonly Attribute[],
  ): object;
}

/** An answer that is not the module's own. */
class TaskError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

process.once("message", (request: ModuleRequest) => {
  const answer = answerTo(request);
  process.send?.(answer, () => process.disconnect());
});

function answerTo(request: ModuleRequest): ModuleAnswer {
  try {
    return { ok: true, value: run(request) };
  } catch (error) {
    const code = Reflect.get(Object(error), "code");
    // The messages of the module are names such as CKR_PIN_INCORRECT, and contain no argument.
    const text = error instanceof Error ? error.message : "the module threw something that is not an Error";
    const message = codeName(error) ?? text;
    return { ok: false, code: typeof code === "string" ? code : "module_failed", message };
  }
}

function run(request: ModuleRequest): unknown {
  const binding = createRequire(request.binding)(request.binding) as Binding;
  const module = new binding.PKCS11();
  load(module, request.module);
  const calls = { module, number: (name: string) => Number(binding[name]) };
  module.C_Initialize(initializeArguments(calls.number, request.parameters));
  try {
    const [slot, info] = findToken(calls, request.uri);
    const state = tokenState(calls, info);
    const asks = state.loginRequired;
    if (request.task === "token") return asks ? state : { ...state, loginRequired: hidesKey(calls, slot, request.uri) };
    // Only a new key is written.
    const access = request.task === "generate" ? calls.number("CKF_RW_SESSION") : 0;
    const session = module.C_OpenSession(slot, calls.number("CKF_SERIAL_SESSION") | access);
    // Where the adapter has not logged in either, nothing has proven the PIN.
    if (asks || request.task === "generate" || !showsKey(calls, session, request.uri)) {
      requireSpareTry(calls, info);
      logIn(calls, session, request.pin);
    }
    return request.task === "attributes"
      ? attributesOf(calls, session, request.uri)
      : generate(calls, session, request);
  } finally {
    module.C_Finalize();
  }
}

/** The error of the system begins with the path, which may hold a PIN after a wrong separator. */
function load(module: Module, path: string): void {
  try {
    module.load(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "no reason";
    throw new TaskError(
      "module_failed",
      `the PKCS#11 module cannot be loaded: ${reason.replaceAll(path, "the module")}`,
    );
  }
}

/** Not every token that needs a login sets the flag. One that shows the key without a login needs none. */
function hidesKey(calls: Calls, slot: Buffer, uri: TokenUri): boolean {
  const session = calls.module.C_OpenSession(slot, calls.number("CKF_SERIAL_SESSION"));
  return !showsKey(calls, session, uri);
}

/** Some tokens refuse the search itself without a login. */
function showsKey(calls: Calls, session: Buffer, uri: TokenUri): boolean {
  try {
    return find(calls, session, "CKO_PRIVATE_KEY", uri).length > 0;
  } catch {
    return false;
  }
}

/** With some modules, the login of one process covers others: the token has not seen this PIN, and needs none. */
function logIn({ module, number }: Calls, session: Buffer, pin: string): void {
  try {
    module.C_Login(session, number("CKU_USER"), pin);
  } catch (error) {
    if (codeName(error) !== "CKR_USER_ALREADY_LOGGED_IN") throw error;
  }
}

/** A PIN that turns out to be wrong must not lock the token. */
function requireSpareTry(calls: Calls, info: TokenInfo): void {
  const { pinLocked, pinFinalTry } = tokenState(calls, info);
  if (pinLocked) throw new TaskError("pin_locked", "the PIN of the token is locked");
  if (pinFinalTry) {
    throw new TaskError("pin_final_try", "one wrong PIN from now locks the token, so no login was tried");
  }
}

interface Calls {
  readonly module: Module;
  readonly number: (name: string) => number;
}

function findToken({ module }: Calls, uri: TokenUri): readonly [Buffer, TokenInfo] {
  const { matching, unreadable } = findSlots(module, uri);
  const [token] = matching;
  if (token === undefined) {
    throw new TaskError("token_not_found", ["the module has no such token", ...unreadable].join("; "));
  }
  if (matching.length > 1)
    throw new TaskError("token_ambiguous", "more than one token matches: add serial= to the URI");
  return token;
}

function tokenState({ number }: Calls, { label, model, flags }: TokenInfo): TokenState {
  const has = (name: string): boolean => (flags & number(name)) !== 0;
  return {
    label: trimPadding(label),
    model: trimPadding(model),
    loginRequired: has("CKF_LOGIN_REQUIRED"),
    pinCountLow: has("CKF_USER_PIN_COUNT_LOW"),
    pinFinalTry: has("CKF_USER_PIN_FINAL_TRY"),
    pinLocked: has("CKF_USER_PIN_LOCKED"),
    pinToBeChanged: has("CKF_USER_PIN_TO_BE_CHANGED"),
  };
}

function find(
  { module, number }: Calls,
  session: Buffer,
  objectClass: string,
  uri: Pick<TokenUri, "object" | "id">,
): Buffer[] {
  const template: Attribute[] = [{ type: number("CKA_CLASS"), value: number(objectClass) }];
  if (uri.object !== undefined) template.push({ type: number("CKA_LABEL"), value: Buffer.from(uri.object, "hex") });
  if (uri.id !== undefined) template.push({ type: number("CKA_ID"), value: Buffer.from(uri.id, "hex") });
  module.C_FindObjectsInit(session, template);
  try {
    return module.C_FindObjects(session, 2);
  } finally {
    module.C_FindObjectsFinal(session);
  }
}

function attributesOf(calls: Calls, session: Buffer, uri: TokenUri): KeyAttributes {
  const [key] = find(calls, session, "CKO_PRIVATE_KEY", uri);
  if (key === undefined) throw new TaskError("key_not_found", "the token has no such private key");
  const read = (name: string): boolean | undefined => {
    try {
      // Each by itself, since a module may refuse one of them.
      const [attribute] = calls.module.C_GetAttributeValue(session, key, [{ type: calls.number(name) }]);
      return Buffer.from(Object(attribute?.value))[0] === 1;
    } catch {
      return undefined;
    }
  };
  return Object.fromEntries(KEY_ATTRIBUTES.map((name) => [name, read(name)])) as KeyAttributes;
}

/** The object identifier of P-256 (RFC 5480 section 2.1.1.1), in DER. */
const P256 = Buffer.from("06082a8648ce3d030107", "hex");

function generate(calls: Calls, session: Buffer, { label, id }: { readonly label: string; readonly id: string }): null {
  const { module, number } = calls;
  for (const taken of [
    { object: label, id: undefined },
    { object: undefined, id },
  ]) {
    if (["CKO_PRIVATE_KEY", "CKO_PUBLIC_KEY"].some((kind) => find(calls, session, kind, taken).length > 0)) {
      throw new TaskError("key_exists", "the token has a key with this label or id");
    }
  }
  const common = [
    { type: number("CKA_TOKEN"), value: true },
    { type: number("CKA_LABEL"), value: Buffer.from(label, "hex") },
    { type: number("CKA_ID"), value: Buffer.from(id, "hex") },
  ];
  module.C_GenerateKeyPair(
    session,
    { mechanism: number("CKM_EC_KEY_PAIR_GEN"), parameter: null },
    [...common, { type: number("CKA_VERIFY"), value: true }, { type: number("CKA_EC_PARAMS"), value: P256 }],
    [
      ...common,
      { type: number("CKA_PRIVATE"), value: true },
      { type: number("CKA_SENSITIVE"), value: true },
      { type: number("CKA_EXTRACTABLE"), value: false },
      { type: number("CKA_SIGN"), value: true },
      { type: number("CKA_DECRYPT"), value: false },
      { type: number("CKA_UNWRAP"), value: false },
      { type: number("CKA_DERIVE"), value: false },
    ],
  );
  return null;
}
