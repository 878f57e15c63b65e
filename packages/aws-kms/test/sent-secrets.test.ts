import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { rememberingClient, sentSecretsOf, withSentSecrets } from "../src/sent-secrets.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] }));
afterEach(() => void vi.useRealTimers());

const wait = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};

const never = async (): Promise<never> => new Promise<never>(() => undefined);

describe("the session token that was sent", () => {
  const answered = Object.assign(new Error("denied"), { $metadata: { httpStatusCode: 400 } });
  const client = (error: Error, credentials?: unknown) => ({
    config: { credentials },
    send: async () => {
      throw error;
    },
  });
  const secretsAfter = async (given: object): Promise<unknown> => {
    const remembering = rememberingClient(given as Parameters<typeof rememberingClient>[0]);
    const error: unknown = await remembering.send({} as never, {}).catch((thrown: unknown) => thrown);
    return sentSecretsOf(error);
  };

  test("is remembered with the error of an answer, and with no other", async () => {
    const credentials = async (): Promise<object> => ({ sessionToken: "secret" });
    expect(await secretsAfter(client(answered, credentials))).toEqual(["secret"]);
    expect(await secretsAfter(client(new Error("cut"), credentials))).toBeUndefined();
    expect(await secretsAfter(client(Object.assign(new Error("x"), { $metadata: {} }), credentials))).toBeUndefined();
    expect(
      await secretsAfter(client(Object.assign(new Error("denied"), { $metadata: { httpStatusCode: 400 } }))),
    ).toBeUndefined();
  });

  test("is waited for 100 ms, since a client keeps it", async () => {
    let isOver = false;
    const error = Object.assign(new Error("denied"), { $metadata: { httpStatusCode: 400 } });
    const secrets = secretsAfter(client(error, never)).finally(() => (isOver = true));
    await wait(99);
    expect(isOver).toBe(false);
    await wait(1);
    expect(isOver).toBe(true);
    expect(await secrets).toBeUndefined();
  });

  test("of nothing that is an object is not remembered", () => {
    expect(withSentSecrets("text", ["secret"])).toBe("text");
    expect(withSentSecrets(null, ["secret"])).toBeNull();
    const error = new Error("x");
    expect(withSentSecrets(error, [7])).toBe(error);
    expect([sentSecretsOf("text"), sentSecretsOf(null), sentSecretsOf(error)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("leaves the other members of the client as they are", () => {
    const given = { ...client(answered), other: 7 };
    expect(Reflect.get(rememberingClient(given as never), "other")).toBe(7);
  });
});
