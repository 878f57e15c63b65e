import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { askCredential, readCredential, type GivenToken } from "../src/credential.ts";

const NOW = 1_800_000_000_000;
beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

const SCOPE = "https://vault.azure.net/.default";
const open = new AbortController().signal;

const ask = (
  credential: Parameters<typeof askCredential>[0],
  request: { tenantId?: string; claims?: string } = {},
  closing: AbortSignal = open,
): Promise<GivenToken> =>
  askCredential(credential, closing)({ scope: SCOPE, tenantId: undefined, claims: undefined, ...request });

describe("a credential", () => {
  test.each([[() => "t"], [{ getToken: () => "t" }]])("may be %o", (credential) => {
    expect(() => readCredential(credential)).not.toThrow();
  });
  test.each([[undefined], [null], ["t"], [{}], [{ getToken: "t" }]])("may not be %j", (credential) => {
    expect(() => readCredential(credential)).toThrow(/^credential: expected a credential with the function getToken/);
  });

  test("is asked for the scope, with continuous access evaluation, and what a challenge named", async () => {
    const getToken = vi.fn<(scope: string, options: object) => Promise<string>>(async () => "t");
    await ask({ getToken } as never);
    await ask(getToken, { tenantId: "a-tenant", claims: "{}" });
    const abortSignal: unknown = expect.any(AbortSignal);
    expect(getToken.mock.calls).toEqual([
      [SCOPE, { enableCae: true, abortSignal }],
      [SCOPE, { enableCae: true, tenantId: "a-tenant", claims: "{}", abortSignal }],
    ]);
  });

  test("keeps its object", async () => {
    const credential = {
      getToken(): Promise<string> {
        return Promise.resolve(this === credential ? "t" : "");
      },
    };
    expect(await ask(credential as never)).toMatchObject({ token: "t" });
  });

  test("may take 10 seconds, and is told when they are over", async () => {
    let given: AbortSignal | undefined;
    const settled: unknown[] = [];
    ask(async (_scope, { abortSignal }) => {
      given = abortSignal;
      return new Promise<never>(() => undefined);
    }).catch((error: unknown) => settled.push(error));
    await vi.advanceTimersByTimeAsync(9999);
    expect([settled, given?.aborted]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(given?.aborted).toBe(true);
    expect(settled).toMatchObject([{ code: "timeout", message: "the credential gave no token within 10000 ms" }]);
  });

  test("is not waited for once its signer closes", async () => {
    const closing = new AbortController();
    const token = ask(async () => new Promise<never>(() => undefined), {}, closing.signal);
    closing.abort(new SignerError("closed", "closed"));
    await expect(token).rejects.toMatchObject({ code: "closed" });
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a token", () => {
  const END = NOW + 3_600_000;
  test.each<[what: string, answer: unknown, expected: GivenToken]>([
    ["alone has no known end", "t", { token: "t", lifeMs: Infinity, renewAfterMs: Infinity }],
    [
      "is renewed two minutes before its end",
      { token: "t", expiresOnTimestamp: END },
      { token: "t", lifeMs: 3_600_000, renewAfterMs: 3_480_000 },
    ],
    [
      "is renewed earlier if its credential says so",
      { token: "t", expiresOnTimestamp: END, refreshAfterTimestamp: NOW + 1000 },
      { token: "t", lifeMs: 3_600_000, renewAfterMs: 1000 },
    ],
    [
      "is not renewed later, whatever its credential says",
      { token: "t", expiresOnTimestamp: END, refreshAfterTimestamp: END },
      { token: "t", lifeMs: 3_600_000, renewAfterMs: 3_480_000 },
    ],
    [
      "is not renewed by what is no time",
      { token: "t", expiresOnTimestamp: END, refreshAfterTimestamp: Number.NaN },
      { token: "t", lifeMs: 3_600_000, renewAfterMs: 3_480_000 },
    ],
    ["may be over", { token: "t", expiresOnTimestamp: NOW - 1 }, { token: "t", lifeMs: -1, renewAfterMs: -120_001 }],
  ])("%s", async (_what, answer, expected) => {
    expect(await ask((() => answer) as never)).toEqual(expected);
  });

  test("has 1 to 32,768 visible characters", async () => {
    for (const token of ["!", "~", "t".repeat(32_768)]) expect(await ask(() => token)).toMatchObject({ token });
    for (const token of ["", "t".repeat(32_769), "a b", "t\n", "\u007f", "é"]) {
      await expect(ask(() => token)).rejects.toMatchObject({
        code: "access_denied",
        message: "the credential returned something else than a token",
      });
    }
  });

  test.each<[answer: unknown, text: string]>([
    [null, "the credential returned no token"],
    [undefined, "the credential returned no token"],
    [7, "the credential returned something else than a token"],
    [{ token: 7 }, "the credential returned something else than a token"],
    [{ token: "t" }, "the credential returned a token without expiresOnTimestamp"],
    [{ token: "t", expiresOnTimestamp: "soon" }, "the credential returned a token without expiresOnTimestamp"],
    [{ token: "t", expiresOnTimestamp: Infinity }, "the credential returned a token without expiresOnTimestamp"],
  ])("is missing in %j", async (answer, message) => {
    await expect(ask((() => answer) as never)).rejects.toMatchObject({ code: "access_denied", message });
  });
});
