import { describe, expect, test } from "vitest";
import { TokenLogin } from "../src/pool/login.ts";
import { pinSource } from "../src/request/pin.ts";
import { CommandError } from "../src/wire/command-error.ts";
import type { CommandInput, CommandName, CommandOutput, RunCommand } from "../src/wire/commands.ts";

const PIN_INITIALIZED = 0x8;
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

describe("a PIN that is refused while the source of another login is thinking", () => {
  test.each<[what: string, login: (login: TokenLogin, run: RunCommand) => Promise<void>]>([
    ["the login of a session", (login, run) => login.login(run)],
    ["the login for a signature", (login, run) => login.authenticate(run, 0, { signal: undefined, hangMs: 1_000 })],
  ])("is not tried by %s", async (_what, start) => {
    let answer: (pin: string) => void = () => {};
    const login = new TokenLogin(() => {});
    login.add(pinSource(() => new Promise<string>((resolve) => (answer = resolve))));
    const { run, commands } = loggedOutSession();
    const ended = start(login, run).catch((error: unknown) => error);
    while (!commands.includes("session")) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    login.refused(refusedPin);
    answer("1234");
    expect(await ended).toMatchObject({ code: "pin_incorrect" });
    expect(commands).toEqual(["session"]);
  });
});

describe("a login for a signature", () => {
  test("proves a PIN that somebody else's login had covered", async () => {
    const login = new TokenLogin(() => {});
    const pin = pinSource("1234");
    login.add(pin);
    expect(login.proves(pin)).toBe(false);
    await login.authenticate(loggedOutSession().run, 0, { signal: undefined, hangMs: 1_000 });
    expect(login.proves(pin)).toBe(true);
  });
});
