import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openRawToken } from "../../src/bench/raw/pkcs11.ts";
import type { Side } from "../../src/bench/side.ts";
import { readTokenUri } from "../../src/backends/pkcs11/uri.ts";
import { createKeyFolder, type KeyFolder } from "../support/key-folder.ts";
import { recordingContext } from "../support/recording-context.ts";

// The bare call of a PKCS#11 module, with a binding that writes down each call of the module.

/** As PKCS#11 numbers them. */
const CKF_LOGIN_REQUIRED = 0x4;
const ALREADY_INITIALIZED = 0x191;
const ALREADY_LOGGED_IN = 0x100;

interface FakeModule {
  calls: unknown[][];
  flags: number;
  tokens: number;
  /** Whether a search finds the key before a login, and after it. */
  shown: boolean;
  found: boolean;
  fails: Record<string, object | string>;
  /** CKA_ALWAYS_AUTHENTICATE. */
  careful: Buffer | undefined;
  sign: () => Promise<unknown>;
}
let module: FakeModule;
const fake = vi.hoisted(() => ({ isThere: true, binding: "" }));
vi.mock("../../src/backends/pkcs11/module.ts", () => ({
  findModule: async (uri: string) => (fake.isThere ? { uri } : undefined),
  placeOfOpened: ({ uri }: { uri: string }, keyUri: string) => ({
    module: "/lib/m.so",
    parameters: uri.includes("parameters") ? "a=b" : undefined,
    binding: fake.binding,
    uri: readTokenUri(keyUri),
  }),
}));

const BINDING = `
const fake = () => globalThis.fakeModule;
const call = (name, ...args) => {
  fake().calls.push([name, ...args]);
  const failure = fake().fails[name];
  if (failure !== undefined) throw typeof failure === "string" ? failure : Object.assign(new Error(failure.message), failure);
};
let isLoggedIn = false;
module.exports = {
  CKF_OS_LOCKING_OK: 2, CKF_SERIAL_SESSION: 4, CKF_LOGIN_REQUIRED: 4, CKU_USER: 1, CKU_CONTEXT_SPECIFIC: 2, CKA_ALWAYS_AUTHENTICATE: 0x202, CKM_ECDSA: 0x1041,
  CKA_CLASS: 0, CKO_PRIVATE_KEY: 3, CKA_LABEL: 3, CKA_ID: 0x102,
  PKCS11: class {
    load(path) { isLoggedIn = false; call("load", path); }
    C_Initialize(...args) { call("C_Initialize", ...args); }
    C_Finalize() { call("C_Finalize"); }
    C_GetSlotList() { return Array.from({ length: fake().tokens }, (_, index) => Buffer.from([index, 0, 0, 0, 0, 0, 0, 0])); }
    C_GetTokenInfo() { return { label: "op", model: "", manufacturerID: "", serialNumber: "", flags: 0x400 | fake().flags }; }
    C_OpenSession(slot, flags) {
      const session = Buffer.from([fake().calls.filter(([name]) => name === "C_OpenSession").length]);
      call("C_OpenSession", slot[0], flags);
      return session;
    }
    C_CloseSession(session) { call("C_CloseSession", session[0]); }
    C_Login(session, user, pin) { call("C_Login", session[0], user, pin); isLoggedIn = true; }
    C_FindObjectsInit(session, template) { call("C_FindObjectsInit", session[0], template); }
    C_FindObjects(session, max) { return (isLoggedIn ? fake().found : fake().shown) ? [Buffer.from([100 + session[0]])] : []; }
    C_FindObjectsFinal(session) { call("C_FindObjectsFinal", session[0]); }
    C_GetAttributeValue(session, key, [{ type }]) { call("C_GetAttributeValue", session[0], key[0], type); return [{ type, value: fake().careful }]; }
    C_SignInit(session, mechanism, key) { call("C_SignInit", session[0], mechanism, key[0]); }
    C_SignAsync(session, data, output) { call("C_SignAsync", session[0], data.length, output.length); return fake().sign(); }
  },
};
`;

let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.write("binding.cjs", BINDING);
  fake.binding = join(folder.path, "binding.cjs");
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => {
  fake.isThere = true;
  module = {
    calls: [],
    flags: CKF_LOGIN_REQUIRED,
    tokens: 1,
    shown: true,
    found: true,
    fails: {},
    careful: Buffer.of(0),
    sign: async () => Buffer.alloc(64),
  };
  Reflect.set(globalThis, "fakeModule", module);
});

interface Given {
  readonly uri?: string;
  readonly keyUri?: string;
  readonly concurrency?: number;
  readonly pin?: string;
}

function open({ uri = "pkcs11:token=op", keyUri, concurrency = 1, pin = "1234" }: Given = {}): Promise<Side> {
  return openRawToken({
    uri,
    keyUri: keyUri ?? "pkcs11:token=op;object=k%C3%A4;id=%01",
    options: {},
    context: recordingContext("/"),
    concurrency,
    pin: async () => (pin === "" ? undefined : pin),
  });
}

const callsOf = (name: string): readonly unknown[][] =>
  module.calls.filter(([called]) => called === name).map(([, ...args]) => args);

test("the module is loaded, with a session for each call at once, and one login", async () => {
  const side = await open({ concurrency: 3 });
  expect(side.name).toBe("bare module");
  expect(callsOf("load")).toEqual([["/lib/m.so"]]);
  // With CKF_OS_LOCKING_OK: the calls of all sessions run at the same time.
  expect(callsOf("C_Initialize")).toEqual([[{ flags: 2 }]]);
  expect(callsOf("C_OpenSession")).toEqual([
    [0, 4],
    [0, 4],
    [0, 4],
  ]);
  expect(callsOf("C_Login")).toEqual([[0, 1, "1234"]]);
  await side.close();
});

test("parameters of the module are passed whole, although pkcs11js drops their last character", async () => {
  await open({ uri: "pkcs11:parameters" });
  expect(callsOf("C_Initialize")).toEqual([[{ flags: 2, libraryParameters: "a=b " }]]);
});

describe("a key with CKA_ALWAYS_AUTHENTICATE", () => {
  const logins = (): readonly unknown[][] => callsOf("C_Login").slice(1);

  test("gets a context-specific login in the session of each signature, after C_SignInit", async () => {
    module.careful = Buffer.of(1);
    const side = await open();
    await side.sign();
    await side.sign();
    expect(logins()).toEqual([
      [0, 2, "1234"],
      [0, 2, "1234"],
    ]);
    const names = module.calls.map(([name]) => name);
    expect(names.slice(-3)).toEqual(["C_SignInit", "C_Login", "C_SignAsync"]);
  });

  test.each<[what: string, prepare: () => void]>([
    ["says that it is not", () => (module.careful = Buffer.of(0))],
    ["has no such attribute", () => (module.careful = undefined)],
    ["is of a module that refuses the question", () => (module.fails = { C_GetAttributeValue: { message: "no" } })],
  ])("is none if it %s", async (_what, prepare) => {
    prepare();
    await (await open()).sign();
    expect(logins()).toEqual([]);
  });

  test("gets no more logins once one is refused, because each may bring the token nearer to its lock", async () => {
    module.careful = Buffer.of(1);
    const side = await open();
    module.fails = { C_Login: { message: "CKR_PIN_INCORRECT:160" } };
    for (let count = 0; count < 3; count += 1) {
      await expect(side.sign()).rejects.toThrow("CKR_PIN_INCORRECT:160");
    }
    expect(logins()).toHaveLength(1);
    expect(callsOf("C_SignAsync")).toEqual([]);
  });

  test("gets none without a PIN", async () => {
    module.careful = Buffer.of(1);
    await (await open({ pin: "" })).sign();
    expect(callsOf("C_Login")).toEqual([]);
  });
});

test.each<[keyUri: string, more: readonly object[]]>([
  [
    "pkcs11:object=k%C3%A4;id=%01",
    [
      { type: 3, value: Buffer.from("kä") },
      { type: 0x102, value: Buffer.from([1]) },
    ],
  ],
  ["pkcs11:object=k", [{ type: 3, value: Buffer.from("k") }]],
  ["pkcs11:id=%FF", [{ type: 0x102, value: Buffer.from([255]) }]],
])("the private key of %s is searched for in each session", async (keyUri, more) => {
  await open({ keyUri, concurrency: 2 });
  const template = [{ type: 0, value: 3 }, ...more];
  expect(callsOf("C_FindObjectsInit")).toEqual([
    [0, template],
    [1, template],
  ]);
  expect(callsOf("C_FindObjectsFinal")).toEqual([[0], [1]]);
});

test("a signature is that of a digest, in a session that no other call has", async () => {
  let resolve: (value: unknown) => void = () => undefined;
  module.sign = () => new Promise((settle) => (resolve = settle));
  const side = await open({ concurrency: 2 });
  const slow = side.sign();
  module.sign = async () => Buffer.alloc(64);
  await side.sign();
  await side.sign();
  resolve(Buffer.alloc(64));
  await slow;
  await side.sign();
  const [busy, ...others] = callsOf("C_SignInit").map(([session]) => session);
  expect(others.slice(0, 2)).not.toContain(busy);
  for (const [session, mechanism, key] of callsOf("C_SignInit")) {
    expect([mechanism, key]).toEqual([{ mechanism: 0x1041 }, 100 + Number(session)]);
  }
  expect(callsOf("C_SignAsync").map(([, data, output]) => [data, output])).toEqual(
    Array.from({ length: 4 }, () => [32, 64]),
  );
});

test("a session is free again after a call that failed", async () => {
  const side = await open();
  module.sign = () => Promise.reject(new Error("CKR_DEVICE_ERROR:48"));
  await expect(side.sign()).rejects.toThrow("CKR_DEVICE_ERROR");
  module.sign = async () => Buffer.alloc(64);
  await expect(side.sign()).resolves.toBeUndefined();
});

test("more calls than sessions are a mistake of the caller", async () => {
  const side = await open();
  module.sign = () => new Promise(() => undefined);
  void side.sign();
  await expect(side.sign()).rejects.toThrow(TypeError);
});

describe("the login", () => {
  test.each<[what: string, state: Partial<FakeModule>, pin: string, logins: number]>([
    ["is made where the token asks for it", { flags: CKF_LOGIN_REQUIRED }, "1234", 1],
    ["is left out where it does not ask, and shows the key", { flags: 0 }, "1234", 0],
    ["is made where it does not ask, and hides the key", { flags: 0, shown: false }, "1234", 1],
    ["is left out without a PIN", {}, "", 0],
  ])("%s", async (_what, state, pin, logins) => {
    Object.assign(module, state);
    await open({ pin });
    expect(callsOf("C_Login")).toHaveLength(logins);
  });

  test("that the adapter has made is used", async () => {
    module.fails = { C_Login: { message: "CKR_USER_ALREADY_LOGGED_IN:256", code: ALREADY_LOGGED_IN } };
    await expect(open()).resolves.toMatchObject({ name: "bare module" });
  });
});

describe("the end", () => {
  test("closes the sessions and the module", async () => {
    const side = await open({ concurrency: 2 });
    await side.close();
    expect(new Set(callsOf("C_CloseSession").flat())).toEqual(new Set([0, 1]));
    expect(module.calls.at(-1)).toEqual(["C_Finalize"]);
  });

  test("leaves the module to the adapter that has initialized it", async () => {
    module.fails = { C_Initialize: { message: "CKR_CRYPTOKI_ALREADY_INITIALIZED:401", code: ALREADY_INITIALIZED } };
    const side = await open();
    await side.close();
    expect(callsOf("C_CloseSession")).toEqual([[0]]);
    expect(callsOf("C_Finalize")).toEqual([]);
  });

  test("waits for a call that ends soon", async () => {
    let resolve: (value: unknown) => void = () => undefined;
    module.sign = () => new Promise((settle) => (resolve = settle));
    const side = await open();
    const call = side.sign();
    const closed = side.close();
    resolve(Buffer.alloc(64));
    await Promise.all([call, closed]);
    expect(callsOf("C_CloseSession")).toEqual([[0]]);
    expect(module.calls.at(-1)).toEqual(["C_Finalize"]);
  });

  test("leaves everything to calls that are still under way", async () => {
    const side = await open({ concurrency: 2 });
    module.sign = () => new Promise(() => undefined);
    void side.sign();
    await side.close();
    expect([callsOf("C_CloseSession"), callsOf("C_Finalize")]).toEqual([[], []]);
  });
});

describe("what the module refuses", () => {
  test.each(["C_Initialize", "C_OpenSession", "C_Login"])("is named without its words: %s", async (name) => {
    module.fails = { [name]: { message: "CKR_SESSION_COUNT:177 secret", code: 177 } };
    await expect(open()).rejects.toMatchObject({
      exitCode: 3,
      code: "module_failed",
      message: "--raw: the PKCS#11 module refused: CKR_SESSION_COUNT",
    });
  });

  test("is passed on if it is no answer of the module", async () => {
    module.fails = { C_OpenSession: { message: "a mistake" } };
    await expect(open()).rejects.toThrow("a mistake");
    module.fails = { C_OpenSession: "text" };
    await expect(open()).rejects.toBe("text");
  });

  test("in a call is called by its name", async () => {
    const { codeOf } = await open();
    const ofVendor = Object.assign(new Error("CKR_VENDOR_DEFINED"), { code: 0x80000123 });
    const errors = [new Error("CKR_DEVICE_ERROR:48 secret"), ofVendor, new TypeError("secret"), "text"];
    expect(errors.map(codeOf)).toEqual(["CKR_DEVICE_ERROR", "CKR 0x80000123", "TypeError", "Error"]);
  });
});

test.each<[what: string, state: Partial<FakeModule>, code: string]>([
  ["no token", { tokens: 0 }, "token_not_found"],
  ["several tokens", { tokens: 2 }, "token_ambiguous"],
  ["no key", { shown: false, found: false }, "key_not_found"],
])("%s of this URI is a failure of the backend", async (_what, state, code) => {
  Object.assign(module, state);
  await expect(open()).rejects.toMatchObject({ exitCode: 3, code });
});

test("the binding must be installed", async () => {
  fake.isThere = false;
  await expect(open()).rejects.toMatchObject({
    exitCode: 2,
    code: "sdk_missing",
    hint: expect.stringMatching(/pkcs11js/),
  });
});
