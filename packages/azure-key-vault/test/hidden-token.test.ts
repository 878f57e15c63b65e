import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { AzureKeyVaultDispatcherLike } from "@signpost/azure-key-vault";
import { rejection } from "./support/signatures.ts";
import { startVaultFixture } from "./support/vault-fixture.ts";

const { open } = await startVaultFixture();
/** It does not look like a token of Microsoft. */
const TOKEN = "opaque-token-of-an-emulator";

describe("a client's error that contains the token does not show it", () => {
  const failing = (make: (token: string) => unknown): AzureKeyVaultDispatcherLike => ({
    request: ({ headers: { authorization = "" } }) => Promise.reject(make(authorization.slice("Bearer ".length))),
  });
  test.each<[where: string, make: (token: string) => unknown, code: string]>([
    ["in its message", (token) => Object.assign(new Error(`sent ${token}`), { code: "ECONNRESET" }), "unavailable"],
    ["in its code", (token) => Object.assign(new Error("x"), { code: token }), "integrity"],
    ["in its name", (token) => Object.assign(new Error("x"), { name: token }), "integrity"],
    ["in its cause", (token) => new Error("x", { cause: new Error(token) }), "integrity"],
    ["in a cause that is a text", (token) => new Error("x", { cause: token }), "integrity"],
    ["as a text", (token) => token, "integrity"],
  ])("%s", async (_where, make, code) => {
    const error = await rejection(
      open({ credential: () => TOKEN, dispatcher: failing(make), policy: { maxAttempts: 1 } }),
    );
    expect(error).toMatchObject({ code });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(TOKEN);
  });

  test("in its body", async () => {
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from("{");
      throw new Error(`cut off after ${TOKEN}`);
    }
    const dispatcher = { request: async () => ({ statusCode: 200, headers: {}, body: body() }) };
    const error = await rejection(open({ credential: () => TOKEN, dispatcher, policy: { maxAttempts: 1 } }));
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(TOKEN);
  });
});
