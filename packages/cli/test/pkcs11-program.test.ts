import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { KEY_ATTRIBUTES } from "../src/backends/pkcs11/messages.ts";
import { createKeyFolder } from "./support/key-folder.ts";

// The program that loads a module, with a binding that writes down each call of the module. It runs in this process here: the tests
// of backends start it as a child.

let receive: ((request: object) => void) | undefined;

beforeAll(async () => {
  const { once } = process;
  const spy = vi.spyOn(process, "once").mockImplementation((event: string | symbol, listener) => {
    if (event !== "message") return once.call(process, event, listener);
    receive = listener;
    return process;
  });
  await import("../src/backends/pkcs11/program.ts");
  spy.mockRestore();
});

/** The answer of the program. It ends by itself once the answer is sent. */
function reply(request: object): unknown {
  const send = vi.spyOn(process, "send" as "disconnect").mockReturnValue();
  const disconnect = vi.spyOn(process, "disconnect").mockReturnValue();
  try {
    receive?.(request);
    expect(disconnect).not.toHaveBeenCalled();
    expect(send).toHaveBeenCalledOnce();
    const [answer, sent] = send.mock.calls[0] as unknown as [unknown, () => void];
    sent();
    expect(disconnect).toHaveBeenCalledOnce();
    // As the channel does it.
    return JSON.parse(JSON.stringify(answer));
  } finally {
    send.mockRestore();
    disconnect.mockRestore();
  }
}

/** As PKCS#11 numbers them. */
const FLAGS = {
  CKF_LOGIN_REQUIRED: 0x4,
  CKF_USER_PIN_COUNT_LOW: 0x10000,
  CKF_USER_PIN_FINAL_TRY: 0x20000,
  CKF_USER_PIN_LOCKED: 0x40000,
  CKF_USER_PIN_TO_BE_CHANGED: 0x80000,
} as const;
const [RW_SESSION, SERIAL_SESSION, INITIALIZED] = [0x2, 0x4, 0x400];

interface State {
  readonly flags?: number;
  readonly tokens?: number;
  /** Classes of the keys that a search without a login, and one with it, finds. */
  readonly shown?: readonly string[];
  readonly found?: readonly string[];
  /** Calls that throw, and what: an Error with these members, or a text. */
  readonly fails?: Readonly<Record<string, string | { readonly message: string; readonly code?: unknown }>>;
  /** The first byte of each attribute. One without a byte has no value. */
  readonly attributes?: Readonly<Record<string, number | null>>;
}

const BINDING = `
const { appendFileSync, readFileSync } = require("node:fs");
const state = JSON.parse(readFileSync(__dirname + "/state.json", "utf8"));
const NAMES = ["CKO_PRIVATE_KEY", "CKO_PUBLIC_KEY", "CKM_EC_KEY_PAIR_GEN", "CKA_CLASS", "CKA_LABEL", "CKA_ID", "CKA_TOKEN",
  "CKA_VERIFY", "CKA_EC_PARAMS", "CKA_PRIVATE", ...state.names];
NAMES.forEach((name, index) => { exports[name] = 1000 + index; });
Object.assign(exports, ${JSON.stringify(FLAGS)}, { CKF_RW_SESSION: 2, CKF_SERIAL_SESSION: 4, CKF_OS_LOCKING_OK: 2, CKU_USER: 1 });
const nameOf = (number) => NAMES[number - 1000] ?? number;
const shown = (template) => template.map(({ type, value }) => [nameOf(type), Buffer.isBuffer(value) ? value.toString("hex") : nameOf(value)]);
const record = (name, ...given) => {
  appendFileSync(__dirname + "/calls", JSON.stringify([name, ...given]) + "\\n");
  const failure = state.fails?.[name];
  if (failure === undefined) return;
  throw typeof failure === "string" ? failure : Object.assign(new Error(failure.message), failure);
};
let isLoggedIn = false;
let searched = [];
exports.PKCS11 = class {
  load(path) { record("load", path); }
  C_Initialize(...given) { record("C_Initialize", ...given); }
  C_Finalize() { record("C_Finalize"); }
  C_GetSlotList() { return Array.from({ length: state.tokens ?? 1 }, (_, index) => Buffer.of(index, 0, 0, 0, 0, 0, 0, 0)); }
  C_GetTokenInfo() {
    record("C_GetTokenInfo");
    const flags = ${INITIALIZED} | (state.flags ?? 0);
    return { label: "op  ", model: "HSM ", manufacturerID: "Example", serialNumber: "7", flags };
  }
  C_OpenSession(slot, flags) { record("C_OpenSession", slot[0], flags); return Buffer.of(9); }
  C_Login(session, user, pin) { record("C_Login", session[0], user, pin); isLoggedIn = true; }
  C_FindObjectsInit(session, template) { searched = shown(template); record("C_FindObjectsInit", session[0], searched); }
  C_FindObjects(session, max) {
    record("C_FindObjects", session[0], max);
    const [[, kind], ...names] = searched;
    const found = (isLoggedIn ? state.found : state.shown) ?? [];
    return found.some((each) => each === kind || each === kind + " by " + names.map(([name]) => name)) ? [Buffer.of(5)] : [];
  }
  C_FindObjectsFinal(session) { record("C_FindObjectsFinal", session[0]); }
  C_GetAttributeValue(session, object, template) {
    const name = nameOf(template[0].type);
    record(name, session[0], object[0], template.length);
    const byte = state.attributes?.[name];
    return byte === undefined ? [] : [{ type: template[0].type, ...(byte === null ? {} : { value: Buffer.of(byte) }) }];
  }
  C_GenerateKeyPair(session, { mechanism, parameter }, ...templates) {
    record("C_GenerateKeyPair", session[0], nameOf(mechanism), parameter, ...templates.map(shown));
    return {};
  }
};
`;

type Call = readonly [name: string, ...given: readonly unknown[]];

/** What the program answers to a request, and the calls of the module. */
async function answered(
  request: object,
  state: State = {},
): Promise<{ readonly answer: unknown; readonly calls: readonly Call[]; readonly names: readonly string[] }> {
  await using folder = await createKeyFolder();
  await writeFile(join(folder.path, "state.json"), JSON.stringify({ names: KEY_ATTRIBUTES_OF_SPEC, ...state }));
  await writeFile(join(folder.path, "calls"), "");
  await folder.write("binding.cjs", BINDING);
  const answer = reply({ binding: join(folder.path, "binding.cjs"), module: "/lib/m.so", uri: {}, ...request });
  const lines = (await readFile(join(folder.path, "calls"), "utf8")).trim().split("\n");
  const calls = lines.map((line) => JSON.parse(line) as Call);
  return { answer, calls, names: calls.map(([name]) => name) };
}

/** Written out: a name that is wrong is no attribute of the module. */
const KEY_ATTRIBUTES_OF_SPEC = [
  "CKA_SENSITIVE",
  "CKA_ALWAYS_SENSITIVE",
  "CKA_EXTRACTABLE",
  "CKA_NEVER_EXTRACTABLE",
  "CKA_SIGN",
  "CKA_DECRYPT",
  "CKA_UNWRAP",
  "CKA_DERIVE",
  "CKA_MODIFIABLE",
  "CKA_LOCAL",
  "CKA_ALWAYS_AUTHENTICATE",
];

const PRIVATE = "CKO_PRIVATE_KEY";
const ATTRIBUTES = { task: "attributes", pin: "1234" };
const GENERATE = { task: "generate", pin: "1234", label: "6f70", id: "01" };
const QUIET = {
  label: "op",
  model: "HSM",
  loginRequired: true,
  pinCountLow: false,
  pinFinalTry: false,
  pinLocked: false,
  pinToBeChanged: false,
};

test("the attributes of a key are those of PKCS #11", () => {
  expect(KEY_ATTRIBUTES).toEqual(KEY_ATTRIBUTES_OF_SPEC);
});

describe("the state of a token", () => {
  test.each<[flag: keyof typeof FLAGS, member: object]>([
    ["CKF_LOGIN_REQUIRED", {}],
    ["CKF_USER_PIN_COUNT_LOW", { pinCountLow: true }],
    ["CKF_USER_PIN_FINAL_TRY", { pinFinalTry: true }],
    ["CKF_USER_PIN_LOCKED", { pinLocked: true }],
    ["CKF_USER_PIN_TO_BE_CHANGED", { pinToBeChanged: true }],
  ])("has the flag %s, and needs no session", async (flag, member) => {
    const flags = FLAGS.CKF_LOGIN_REQUIRED | FLAGS[flag];
    const { answer, names } = await answered({ task: "token" }, { flags });
    expect(answer).toEqual({ ok: true, value: { ...QUIET, ...member } });
    expect(names).toEqual(["load", "C_Initialize", "C_GetTokenInfo", "C_Finalize"]);
  });

  test.each<[what: string, state: State, loginRequired: boolean]>([
    ["shows the key needs no login", { shown: [PRIVATE] }, false],
    ["hides the key needs one", { found: [PRIVATE] }, true],
    ["refuses the search needs one", { shown: [PRIVATE], fails: { C_FindObjects: "refused" } }, true],
  ])("without the flag: a token that %s", async (_what, state, loginRequired) => {
    const { answer, calls } = await answered({ task: "token" }, state);
    expect(answer).toEqual({ ok: true, value: { ...QUIET, loginRequired } });
    expect(calls.slice(3)).toEqual([
      ["C_OpenSession", 0, SERIAL_SESSION],
      ["C_FindObjectsInit", 9, [["CKA_CLASS", PRIVATE]]],
      ["C_FindObjects", 9, 2],
      ["C_FindObjectsFinal", 9],
      ["C_Finalize"],
    ]);
  });
});

describe("a module", () => {
  test("is loaded, and initialized as the adapter does it", async () => {
    const { calls } = await answered({ task: "token" }, { flags: FLAGS.CKF_LOGIN_REQUIRED });
    expect(calls.slice(0, 2)).toEqual([
      ["load", "/lib/m.so"],
      ["C_Initialize", { flags: 2 }],
    ]);
  });

  test("gets its parameters with one more character, which pkcs11js drops", async () => {
    const { calls } = await answered({ task: "token", parameters: "configdir=/nss" });
    expect(calls[1]).toEqual(["C_Initialize", { flags: 2, libraryParameters: "configdir=/nss " }]);
  });

  test.each<[what: string, fails: NonNullable<State["fails"]>, answer: object]>([
    [
      "an Error with a code",
      { C_OpenSession: { message: "CKR_GENERAL_ERROR", code: "CKR" } },
      { code: "CKR", message: "CKR_GENERAL_ERROR" },
    ],
    [
      "an Error with a number",
      { C_OpenSession: { message: "CKR_GENERAL_ERROR", code: 5 } },
      { code: "module_failed", message: "CKR_GENERAL_ERROR" },
    ],
    [
      "an Error for a code of a vendor",
      { C_OpenSession: { message: "CKR_VENDOR_DEFINED", code: 0x80000123 } },
      { code: "module_failed", message: "CKR 0x80000123" },
    ],
    [
      "a text",
      { C_OpenSession: "secret" },
      { code: "module_failed", message: "the module threw something that is not an Error" },
    ],
    [
      "a text while it is loaded",
      { load: "secret" },
      { code: "module_failed", message: "the PKCS#11 module cannot be loaded: no reason" },
    ],
  ])("that throws %s is a failure", async (_what, fails, answer) => {
    const run = await answered(ATTRIBUTES, { fails });
    expect(run.answer).toEqual({ ok: false, ...answer });
    if ("C_OpenSession" in fails) expect(run.names.at(-1)).toBe("C_Finalize");
  });

  test.each<[state: State, code: string, message: string]>([
    [{ tokens: 0 }, "token_not_found", "the module has no such token"],
    [
      { fails: { C_GetTokenInfo: { message: "away", code: 224 } } },
      "token_not_found",
      "the module has no such token; slot 0 cannot be read (",
    ],
    [{ tokens: 2 }, "token_ambiguous", "more than one token matches: add serial= to the URI"],
  ])("with %j has no token: %s", async (state, code, message) => {
    const { answer, names } = await answered({ task: "token" }, state);
    expect(answer).toMatchObject({ ok: false, code, message: expect.stringContaining(message) });
    expect(names.at(-1)).toBe("C_Finalize");
  });
});

describe("the attributes of a key", () => {
  test("are read one by one, after a login. What the module does not tell is left out", async () => {
    const { answer, calls } = await answered(
      { ...ATTRIBUTES, uri: { object: "6f70", id: "0a" } },
      {
        flags: FLAGS.CKF_LOGIN_REQUIRED,
        found: [PRIVATE],
        attributes: { CKA_SENSITIVE: 1, CKA_EXTRACTABLE: 0, CKA_SIGN: 2, CKA_DERIVE: null, CKA_LOCAL: 1 },
        fails: { CKA_LOCAL: "refused" },
      },
    );
    expect(answer).toEqual({
      ok: true,
      value: { CKA_SENSITIVE: true, CKA_EXTRACTABLE: false, CKA_SIGN: false },
    });
    expect(calls.slice(3, 8)).toEqual([
      ["C_OpenSession", 0, SERIAL_SESSION],
      ["C_Login", 9, 1, "1234"],
      [
        "C_FindObjectsInit",
        9,
        [
          ["CKA_CLASS", PRIVATE],
          ["CKA_LABEL", "6f70"],
          ["CKA_ID", "0a"],
        ],
      ],
      ["C_FindObjects", 9, 2],
      ["C_FindObjectsFinal", 9],
    ]);
    expect(calls.slice(8, -1)).toEqual(KEY_ATTRIBUTES_OF_SPEC.map((name) => [name, 9, 5, 1]));
    expect(calls.at(-1)).toEqual(["C_Finalize"]);
  });

  test.each<[what: string, state: State, logins: number]>([
    ["a token that asks for one", { flags: FLAGS.CKF_LOGIN_REQUIRED, shown: [PRIVATE], found: [PRIVATE] }, 1],
    ["a token that hides the key", { found: [PRIVATE] }, 1],
    ["no token that shows the key", { shown: [PRIVATE], found: [PRIVATE] }, 0],
  ])("need a login at %s", async (_what, state, logins) => {
    const { answer, names } = await answered(ATTRIBUTES, state);
    expect(answer).toEqual({ ok: true, value: {} });
    expect(names.filter((name) => name === "C_Login")).toHaveLength(logins);
  });

  test("are read where the login of another process covers this one", async () => {
    const fails = { C_Login: { message: "CKR_USER_ALREADY_LOGGED_IN:256", code: 256 } };
    const state = { flags: FLAGS.CKF_LOGIN_REQUIRED, shown: [PRIVATE] };
    expect((await answered(ATTRIBUTES, { ...state, fails })).answer).toEqual({ ok: true, value: {} });
    const refused = { C_Login: { message: "CKR_PIN_INCORRECT:160", code: 160 } };
    expect((await answered(ATTRIBUTES, { ...state, fails: refused })).answer).toMatchObject({ ok: false });
  });

  test("are none without the key", async () => {
    const { answer } = await answered(ATTRIBUTES, { found: ["CKO_PUBLIC_KEY"] });
    expect(answer).toEqual({ ok: false, code: "key_not_found", message: "the token has no such private key" });
  });

  test.each([
    ["CKF_USER_PIN_LOCKED", "pin_locked", "the PIN of the token is locked"],
    ["CKF_USER_PIN_FINAL_TRY", "pin_final_try", "one wrong PIN from now locks the token, so no login was tried"],
  ] as const)("are not read with %s, because the PIN may be wrong", async (flag, code, message) => {
    const { answer, names } = await answered(ATTRIBUTES, { flags: FLAGS[flag], found: [PRIVATE] });
    expect(answer).toEqual({ ok: false, code, message });
    expect(names).not.toContain("C_Login");
  });
});

describe("a new key", () => {
  test("is sign-only, sensitive and not extractable, in a session that writes", async () => {
    const { answer, calls } = await answered(GENERATE, { shown: [PRIVATE] });
    expect(answer).toEqual({ ok: true, value: null });
    expect(calls.slice(3, 5)).toEqual([
      ["C_OpenSession", 0, SERIAL_SESSION | RW_SESSION],
      ["C_Login", 9, 1, "1234"],
    ]);
    const common = [
      ["CKA_TOKEN", true],
      ["CKA_LABEL", "6f70"],
      ["CKA_ID", "01"],
    ];
    expect(calls.filter(([name]) => name === "C_FindObjectsInit").map(([, , template]) => template)).toEqual(
      [common[1], common[2]].flatMap((name) => [PRIVATE, "CKO_PUBLIC_KEY"].map((kind) => [["CKA_CLASS", kind], name])),
    );
    expect(calls.at(-2)).toEqual([
      "C_GenerateKeyPair",
      9,
      "CKM_EC_KEY_PAIR_GEN",
      null,
      [...common, ["CKA_VERIFY", true], ["CKA_EC_PARAMS", "06082a8648ce3d030107"]],
      [
        ...common,
        ["CKA_PRIVATE", true],
        ["CKA_SENSITIVE", true],
        ["CKA_EXTRACTABLE", false],
        ["CKA_SIGN", true],
        ["CKA_DECRYPT", false],
        ["CKA_UNWRAP", false],
        ["CKA_DERIVE", false],
      ],
    ]);
    expect(calls.at(-1)).toEqual(["C_Finalize"]);
  });

  test.each([PRIVATE, "CKO_PUBLIC_KEY"].flatMap((kind) => ["CKA_LABEL", "CKA_ID"].map((name) => `${kind} by ${name}`)))(
    "is not made if the token has a %s",
    async (found) => {
      const { answer, names } = await answered(GENERATE, { found: [found] });
      expect(answer).toEqual({ ok: false, code: "key_exists", message: "the token has a key with this label or id" });
      expect(names).not.toContain("C_GenerateKeyPair");
    },
  );
});
