import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { LoginPins } from "../src/pool/login-pins.ts";
import { TokenLogin } from "../src/pool/login.ts";
import { PinLedger } from "../src/pool/pin-ledger.ts";
import { type PinSource, pinSource, readPin } from "../src/request/pin.ts";
import { ProcessPins } from "../src/sharing/process-pins.ts";
import { CommandError } from "../src/wire/command-error.ts";
import type { PinVerdict } from "../src/wire/pin-outcomes.ts";
import { HungCallError } from "../src/wire/hung-call.ts";
import type { CommandInput, CommandName, CommandOutput, RunCommand } from "../src/wire/commands.ts";

const PIN_INITIALIZED = 0x8;
const TOKEN = { label: "op", serial: "1" };
const refusedPin = new CommandError({ kind: "cryptoki", call: "C_Login", code: 0xa0 });

/** A session that wants a login, and the commands that reach it. */
function loggedOutSession(): { readonly run: RunCommand; readonly commands: string[] } {
  const commands: string[] = [];
  const run = async <Name extends CommandName>(
    name: Name,
    _input: CommandInput<Name>,
  ): Promise<CommandOutput<Name>> => {
    commands.push(name);
    const outputs: Partial<{ [Key in CommandName]: CommandOutput<Key> }> = {
      session: { loginNeeded: true, loggedIn: false, tokenFlags: PIN_INITIALIZED },
      login: { covered: false },
      authenticate: null,
    };
    return outputs[name] as CommandOutput<Name>;
  };
  return { run, commands };
}

/** PINs as their sources give them, of which nothing is known. */
const pins: LoginPins = {
  forgotten: 0,
  take: async (source) => ({ pin: await readPin(source), done: () => {} }),
  compare: async () => "unproven",
  offer: () => () => {},
};

describe("a PIN that is refused while the source of another login is working", () => {
  test.each<[what: string, login: (login: TokenLogin, run: RunCommand) => Promise<void>]>([
    ["the login of a session", (login, run) => login.login(run)],
    ["the login for a signature", (login, run) => login.authenticate(run, 0, { signal: undefined, hangMs: 1_000 })],
  ])("is not tried by %s", async (_what, start) => {
    let answer: (pin: string) => void = () => {};
    const login = new TokenLogin(TOKEN, pins, () => {});
    login.signers.add(pinSource(() => new Promise<string>((resolve) => (answer = resolve))));
    const { run, commands } = loggedOutSession();
    const ended = start(login, run).catch((error: unknown) => error);
    while (!commands.includes("session")) await Promise.resolve();
    await turn();
    login.refused(refusedPin);
    answer("1234");
    expect(await ended).toMatchObject({ code: "pin_incorrect" });
    expect(commands).toEqual(["session"]);
  });
});

describe("a refusal", () => {
  test.each([
    ["the wall clock, after the machine slept", 0, 5_000],
    ["the monotonic clock, where the other was set back", 5_000, -3_600_000],
  ])("ends after five seconds by %s", async (_what, monotonicMs, wallMs) => {
    const login = new TokenLogin(TOKEN, pins, () => {});
    login.signers.add(pinSource("1234"));
    const { run } = loggedOutSession();
    const refusing: RunCommand = (name, input) => (name === "login" ? Promise.reject(refusedPin) : run(name, input));
    const moved = { monotonic: 0, wall: 0 };
    // Whole numbers, of which sums and differences are exact.
    const [monotonic, wall] = [Math.round(performance.now()), Date.now()];
    vi.spyOn(performance, "now").mockImplementation(() => monotonic + moved.monotonic);
    vi.spyOn(Date, "now").mockImplementation(() => wall + moved.wall);
    onTestFinished(() => void vi.restoreAllMocks());
    await expect(login.login(refusing)).rejects.toMatchObject({ code: "pin_incorrect" });
    Object.assign(moved, { monotonic: monotonicMs && monotonicMs - 1, wall: wallMs > 0 ? wallMs - 1 : wallMs });
    expect(login.blocked).toMatchObject({ code: "pin_incorrect" });
    Object.assign(moved, { monotonic: monotonicMs, wall: wallMs });
    expect(login.blocked).toBeUndefined();
  });
});

describe("a refusal, while another thread's login covers the token", () => {
  /** Refused more than five seconds ago. `verdict`: what a comparison with the accepted PIN finds. */
  async function refused(
    verdict: () => PinVerdict,
    reason = refusedPin,
  ): Promise<{
    readonly login: TokenLogin;
    readonly source: PinSource;
    /** A signature, some time after the last one. Resolves with the comparisons made so far. */
    readonly signed: (afterMs: number) => Promise<number>;
  }> {
    let [compared, now] = [0, Math.round(performance.now())];
    vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => void vi.restoreAllMocks());
    const compare = async (): Promise<PinVerdict> => ((compared += 1), verdict());
    const login = new TokenLogin(TOKEN, { ...pins, compare }, () => {});
    const source = pinSource(() => "1234");
    login.signers.add(source);
    const { run } = loggedOutSession();
    const refusing: RunCommand = (name, input) => (name === "login" ? Promise.reject(reason) : run(name, input));
    await expect(login.login(refusing)).rejects.toMatchObject({ name: "SignerError" });
    const signed = async (afterMs: number): Promise<number> => {
      now += afterMs;
      login.signed();
      await turn();
      return compared;
    };
    return { login, source, signed };
  }

  test("ends once its source returns the accepted PIN, which is compared at most every five seconds", async () => {
    let verdict: PinVerdict = "changed";
    const { login, signed } = await refused(() => verdict);
    expect([await signed(5_000), await signed(1), await signed(1), await signed(5_000)]).toEqual([0, 1, 1, 2]);
    expect(login.refusal).toMatchObject({ code: "pin_incorrect" });
    verdict = "proven";
    expect([await signed(4_999), await signed(2)]).toEqual([2, 3]);
    expect(login.refusal).toBeUndefined();
    expect(await signed(10_000)).toBe(3);
  });

  test("stays while the source fails, or returns another PIN", async () => {
    const { login, signed } = await refused(() => {
      throw new Error("away");
    });
    expect([await signed(5_001), await signed(5_001)]).toEqual([1, 2]);
    expect(login.refusal).toMatchObject({ code: "pin_incorrect" });
  });

  test("ends with the signer whose PIN it was", async () => {
    const { login, source, signed } = await refused(() => "unproven");
    login.signers.remove(source);
    expect(await signed(5_001)).toBe(0);
    expect(login.refusal).toBeUndefined();
  });

  test("stays if the token accepts no PIN at all", async () => {
    const { login, signed } = await refused(
      () => "proven",
      new CommandError({ kind: "cryptoki", call: "C_Login", code: 0xa4 }),
    );
    expect(await signed(5_001)).toBe(0);
    expect(login.finalRefusal).toBeDefined();
  });
});

describe("the error of a refused PIN", () => {
  test.each([
    ["\uFEFF1234\n", /It begins with a byte order mark: /],
    ["1234\n", /It ends with a line end: /],
    ["1234\r", /It ends with a line end: /],
    [" 1234", /It begins or ends with white space: /],
    ["1234\u00A0", /It begins or ends with white space: /],
    ['"1234"', /It is in quotes: /],
    ["12 34", /\(C_Login: CKR_PIN_INCORRECT \(0xa0\)\)\. This process/],
  ])("says what is unusual at the ends of %j, and reveals nothing else", async (pin, said) => {
    const { run } = loggedOutSession();
    const refusing: RunCommand = (name, input) => (name === "login" ? Promise.reject(refusedPin) : run(name, input));
    const login = new TokenLogin(TOKEN, pins, () => {});
    login.signers.add(pinSource(() => pin));
    const error = await login.login(refusing).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "pin_incorrect", message: expect.stringMatching(said) as string });
    expect(String(error)).not.toContain("34");
  });
});

test.each([
  [0x200, "access_denied", "C_Login: CKR_FUNCTION_REJECTED (0x200)"],
  [
    0xa4,
    "pin_locked",
    "C_Login: CKR_PIN_LOCKED (0xa4) (PIN from the option pin). No PIN is tried until every signer of the token is closed and " +
      "one is opened again",
  ],
])("the error of code %i names a token that accepts no login", async (code, signerCode, text) => {
  const { run } = loggedOutSession();
  const rejected = new CommandError({ kind: "cryptoki", call: "C_Login", code });
  const rejecting: RunCommand = (name, input) => (name === "login" ? Promise.reject(rejected) : run(name, input));
  const login = new TokenLogin(TOKEN, pins, () => {});
  login.signers.add(pinSource("1234"));
  await expect(login.login(rejecting)).rejects.toMatchObject({
    code: signerCode,
    message: `token "op" (serial 1): ${text}`,
  });
});

/** Commands whose logins hang, until `comeBack` makes them return with this error, or with this output. */
function hangingLogin(run: RunCommand, late: { readonly error: unknown } | { readonly output: unknown }) {
  let comeBack = (): void => {};
  const returned = new Promise<void>((resolve) => (comeBack = resolve)).then(() => {
    if ("error" in late) throw late.error;
    return late.output;
  });
  const hung = new HungCallError("hung", returned);
  const isLogin = (name: CommandName): boolean => name === "login" || name === "authenticate";
  const hanging: RunCommand = (name, input) => (isLogin(name) ? Promise.reject(hung) : run(name, input));
  return { hanging, comeBack };
}

describe("a login that hangs", () => {
  test.each<[string, { readonly error: unknown } | { readonly output: unknown }, string]>([
    ["refused in the end", { error: refusedPin }, "refused"],
    [
      "lost with its session",
      { error: new CommandError({ kind: "cryptoki", call: "C_Login", code: 0xb3 }) },
      "unknown",
    ],
    ["accepted in the end", { output: { covered: false } }, "accepted"],
    ["covered by the login of other code", { output: { covered: true } }, "unknown"],
  ])("keeps the token's turn until it returns: %s", async (_what, late, outcome) => {
    const outcomes: string[] = [];
    const take: LoginPins["take"] = async (source) => {
      return { pin: await readPin(source), done: (became) => void outcomes.push(became) };
    };
    const login = new TokenLogin(TOKEN, { ...pins, take }, () => {});
    login.signers.add(pinSource("1234"));
    const { hanging, comeBack } = hangingLogin(loggedOutSession().run, late);
    await expect(login.login(hanging)).rejects.toMatchObject({ code: "timeout" });
    await turn();
    expect(outcomes).toEqual([]);
    comeBack();
    await turn();
    expect(outcomes[0]).toBe(outcome);
  });

  const ledgerFor = (): LoginPins => new PinLedger(new ProcessPins());

  test.each<[string, (login: TokenLogin, run: RunCommand) => Promise<void>, unknown]>([
    ["a session", (login, run) => login.login(run), { covered: false }],
    ["a signature", (login, run) => login.authenticate(run, 0, { signal: undefined, hangMs: 1_000 }), null],
  ])("and succeeds in the end, for %s, lets no signer with another PIN in", async (_what, start, output) => {
    const login = new TokenLogin({ label: "late", serial: "1" }, ledgerFor(), () => {});
    const [first, same, other] = ["1234", "1234", "4321"].map((pin) => pinSource(pin)) as [
      PinSource,
      PinSource,
      PinSource,
    ];
    login.signers.add(first);
    const { hanging, comeBack } = hangingLogin(loggedOutSession().run, { output });
    await expect(start(login, hanging)).rejects.toMatchObject({ code: "timeout" });
    comeBack();
    await turn();
    // Another session of the pool finds the token logged in.
    login.sawLogin({ loggedIn: true });
    login.signers.add(same);
    await login.signers.admit(same);
    expect(login.signers.note(same)).toBeUndefined();
    login.signers.add(other);
    await expect(login.signers.admit(other)).rejects.toMatchObject({ code: "pin_incorrect", reason: "compared" });
  });

  test("and succeeds in the end says less than a login that came later", async () => {
    const outcomes: string[] = [];
    const take: LoginPins["take"] = async (source) => {
      return { pin: await readPin(source), done: (became) => void outcomes.push(became) };
    };
    const late = new TokenLogin(TOKEN, { ...pins, take }, () => {});
    late.signers.add(pinSource("1234"));
    const { run } = loggedOutSession();
    const { hanging, comeBack } = hangingLogin(run, { output: { covered: false } });
    await expect(late.login(hanging)).rejects.toMatchObject({ code: "timeout" });
    await late.login(run);
    const before = outcomes.length;
    comeBack();
    await turn();
    expect(outcomes.slice(before)).toEqual(["unknown"]);
  });

  test("and succeeds after every signer is closed keeps no source of a PIN", async () => {
    const login = new TokenLogin(TOKEN, pins, () => {});
    login.signers.add(pinSource("1234"));
    const { hanging, comeBack } = hangingLogin(loggedOutSession().run, { output: { covered: false } });
    await expect(login.login(hanging)).rejects.toMatchObject({ code: "timeout" });
    login.signers.close();
    comeBack();
    await turn();
    expect(login.signers.source).toBeUndefined();
  });
});

describe("a login for a signature", () => {
  test("proves a PIN that another code's login had covered", async () => {
    const login = new TokenLogin(TOKEN, pins, () => {});
    const pin = pinSource("1234");
    login.signers.add(pin);
    login.sawLogin({ loggedIn: true });
    await login.signers.admit(pin);
    expect(login.signers.note(pin)).toMatch(/was not proven/);
    await login.authenticate(loggedOutSession().run, 0, { signal: undefined, hangMs: 1_000 });
    expect(login.signers.note(pin)).toBeUndefined();
  });
});
