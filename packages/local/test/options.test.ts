import { describe, expect, test } from "vitest";
import { guardSigner, openSigner } from "@signpost/core";
import { local, openLocalSigner } from "@signpost/local";

describe("options that cannot work are refused by name", () => {
  test.each<[string, unknown, string]>([
    ["a misspelled key", { privatekey: "x" }, "privatekey"],
    ["an option of another adapter", { signal: AbortSignal.timeout(1000) }, "signal"],
    ["no object", null, "options"],
    ["a list", [], "options"],
    ["a text", "key.pem", "options"],
    ["a misspelled policy", { policy: { deadlineMS: 5 } }, "policy.deadlineMS"],
    ["a policy that is none", { policy: true }, "policy"],
    ["a policy of null", { policy: null }, "policy"],
    ["a policy out of bounds", { policy: { maxAttempts: Number.NaN } }, "policy.maxAttempts"],
    ["a number as text", { policy: { deadlineMs: "5" } }, "policy.deadlineMs"],
    ["an infinite number", { policy: { attemptTimeoutMs: Number.POSITIVE_INFINITY } }, "policy.attemptTimeoutMs"],
    ["a private key of null", { privateKey: null }, "privateKey"],
    ["a private key of another type", { privateKey: 5 }, "privateKey"],
  ])("%s", async (_what, options, argument) => {
    const opening = openLocalSigner(options as object);
    await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
  });

  test.each<[string, unknown, string]>([
    ["a misspelled option", { polcy: {} }, "polcy"],
    ["a misspelled policy", { policy: { deadlineMS: 5 } }, "policy.deadlineMS"],
    ["a signal that is none", { signal: {} }, "signal"],
    ["no object", null, "options"],
  ])("of the adapter's open: %s", async (_what, options, argument) => {
    for (const uri of ["local:", "local:missing.pem"]) {
      const opening = local().open(uri, options as object);
      await expect(opening).rejects.toMatchObject({ name: "ConfigurationError", argument });
    }
  });

  test("an unknown one that is undefined is none", async () => {
    const options: object = { privatekey: undefined };
    await expect(openLocalSigner(options)).resolves.toMatchObject({ uri: expect.stringMatching(/^local:#/) });
  });

  test("hedges are refused wherever they are asked for, with the reason", async () => {
    const policy = { hedgeAfterMs: 100 };
    const bare = await openLocalSigner({ policy: false });
    for (const open of [
      () => openLocalSigner({ policy }),
      () => local().open("local:", { policy }),
      () => local().open("local:missing.pem", { policy }),
      () => openSigner("local:", [local()], { policy }),
      async () => guardSigner(bare, policy),
    ]) {
      await expect(open()).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "policy.hedgeAfterMs",
        message: expect.stringContaining("cannot be aborted"),
      });
    }
  });
});
