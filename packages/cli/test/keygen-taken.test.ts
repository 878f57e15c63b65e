import { SignerError, type GuardedSigner } from "@signpost/core";
import { describe, expect, test } from "vitest";
import { failed, NO_CLOUD_KEY, opensKey } from "../src/keygen/maker.ts";

// Whether something is in the place of a new key, and who says that there is not.

const refusing = (code: string, cause?: unknown) => () =>
  Promise.reject(new SignerError(code as "unavailable", "no", { cause }));

test("a key that opens is in the way, and is closed before anything else is done", async () => {
  let isClosed = false;
  const close = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    isClosed = true;
  };
  const opened: string[] = [];
  const open = async (uri: string): Promise<GuardedSigner> => {
    opened.push(uri);
    return { close } as unknown as GuardedSigner;
  };
  expect(await opensKey(open, "local:a.pem")).toBe(true);
  expect([isClosed, opened]).toEqual([true, ["local:a.pem"]]);
});

describe("a key that does not open", () => {
  test.each(["key_not_found", "ambiguous_key", "unsupported_key"])("because of %s is not in the way", async (code) => {
    expect(await opensKey(refusing(code), "pkcs11:a")).toBe(false);
  });

  test("because it is disabled is in the way, but not in a cloud", async () => {
    await expect(opensKey(refusing("key_disabled"), "pkcs11:a")).rejects.toMatchObject({ code: "key_disabled" });
    expect(await opensKey(refusing("key_disabled"), "awskms:///alias/a", NO_CLOUD_KEY)).toBe(false);
  });

  test.each(["unavailable", "pin_incorrect", "access_denied"])("because of %s is a failure", async (code) => {
    await expect(opensKey(refusing(code), "pkcs11:a")).rejects.toMatchObject({ code });
  });

  test("because of another error is one too", async () => {
    const error = new TypeError("key_not_found");
    await expect(opensKey(() => Promise.reject(error), "local:a")).rejects.toBe(error);
  });
});

describe("a cloud that denies access", () => {
  test.each<[what: string, cause: unknown, isAnswer: boolean]>([
    ["with a status of AWS", { $metadata: { httpStatusCode: 400 } }, true],
    ["with a code of gRPC", { code: 7 }, true],
    ["with a status of HTTP", new Error("HTTP status 403"), true],
    ["with text that is no status", { $metadata: { httpStatusCode: "400" }, code: "7" }, false],
    ["with a status in the middle", new Error("got HTTP status 403"), false],
    ["without a cause", undefined, false],
  ])("%s is the service: %s", async (_what, cause, isAnswer) => {
    const isThere = opensKey(refusing("access_denied", cause), "awskms:///alias/a", NO_CLOUD_KEY);
    await expect(isThere.catch(() => "refused")).resolves.toBe(isAnswer ? false : "refused");
  });
});

test.each<[cause: unknown, message: string]>([
  [new Error("no room"), "create: Error: no room"],
  [Object.assign(new Error("no room"), { name: "LimitExceeded" }), "create: LimitExceeded: no room"],
  [new Error(""), "create: Error"],
  ["text", "create: Error: no message"],
  [new Error("Authorization: x"), "create: Error"],
  [new Error("bearer x"), "create: Error"],
  [new Error("x-amz-security-token: x"), "create: Error"],
  [new Error("eyJ"), "create: Error"],
  [new Error("ya29.x"), "create: Error"],
  [new Error("unauthorizations"), "create: Error: unauthorizations"],
])("a refusal by %o is told as %s", (cause, message) => {
  expect(failed("create", cause, "Look")).toMatchObject({
    exitCode: 3,
    code: "keygen_failed",
    message,
    cause,
    hint: "Look",
  });
});
