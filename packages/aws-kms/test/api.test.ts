import { describe, expect, test, vi } from "vitest";
import { apiFromClient, type AwsKmsCommands } from "../src/api.ts";

/** Commands whose middleware is combined by `resolve`. */
function commandsWith(resolve: (...given: unknown[]) => unknown): AwsKmsCommands {
  class Command {
    readonly input: unknown;
    constructor(input: unknown) {
      this.input = input;
    }
    resolveMiddleware(...given: unknown[]): unknown {
      return resolve(...given);
    }
  }
  class OtherCommand extends Command {}
  return { GetPublicKeyCommand: Command, SignCommand: OtherCommand } as unknown as AwsKmsCommands;
}

const key = { KeyId: "k" };
const digest = {
  ...key,
  Message: new Uint8Array(32),
  MessageType: "DIGEST",
  SigningAlgorithm: "ECDSA_SHA_256",
} as const;

test("both calls send their command with the signal of the call, if there is one", async () => {
  const commands = commandsWith(() => undefined);
  const send = vi.fn<(command: never, options?: object) => Promise<string>>(async () => "answer");
  const api = apiFromClient({ send }, commands);
  const { signal } = new AbortController();
  expect(await api.sign(digest, { signal })).toBe("answer");
  expect(await api.sign(digest, {})).toBe("answer");
  expect(await api.getPublicKey(key, { signal })).toBe("answer");
  const sent = send.mock.calls.map(([command, options]) => [
    Object(command) instanceof commands.SignCommand,
    Reflect.get(Object(command), "input"),
    options,
  ]);
  expect(sent).toEqual([
    [true, digest, { abortSignal: signal }],
    [true, digest, {}],
    [false, key, { abortSignal: signal }],
  ]);
});

describe("a client of the caller", () => {
  const send = async (): Promise<object> => ({});
  const [middlewareStack, config] = [{}, {}];

  test("is combined with a command once, and sends nothing", () => {
    const resolve = vi.fn<(...given: unknown[]) => void>();
    const sent = vi.fn<() => Promise<object>>(send);
    apiFromClient({ send: sent, middlewareStack, config } as never, commandsWith(resolve));
    expect(resolve.mock.calls).toEqual([[middlewareStack, config, {}]]);
    expect(resolve.mock.calls[0]?.[0]).toBe(middlewareStack);
    expect(sent).not.toHaveBeenCalled();
  });

  test.each([[{ send }], [{ send, config }], [{ send, middlewareStack }]])("of another kind is not", (client) => {
    const resolve = vi.fn<() => void>();
    apiFromClient(client, commandsWith(resolve));
    expect(resolve).not.toHaveBeenCalled();
  });

  test("that does not fit is refused, with the reason", () => {
    const cause = new Error("serializerMiddleware is not found");
    const commands = commandsWith(() => {
      throw cause;
    });
    const fault = expect.objectContaining({ name: "ConfigurationError", argument: "client", cause }) as Error;
    expect(() => apiFromClient({ send, middlewareStack, config } as never, commands)).toThrow(fault);
  });
});
