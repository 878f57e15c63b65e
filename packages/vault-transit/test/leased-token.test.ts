import { expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { readInstant } from "@signpost/core/adapter";
import { createLeasedToken } from "../src/leased-token.ts";
import { rejection } from "./support/signatures.ts";

// What a signer does with it is in logins.test.ts. Here calls end in an order that a server does not give reliably.

test("a call that is refused after a login has failed logs in too, and is not denied", async () => {
  let logins = 0;
  const tokens = createLeasedToken({
    make: async () => {
      logins += 1;
      if (logins === 2) throw new SignerError("unavailable", "sealed");
      return { token: `token-${logins}`, leaseMs: 3_600_000, since: readInstant(), renewable: true };
    },
    renew: undefined,
    revoke: async () => {},
  });
  const { signal } = new AbortController();
  const token = await tokens.token(signal);
  // Two calls were sent with the token. The first is refused, and its login fails.
  expect(await rejection(tokens.another(token, signal))).toMatchObject({ code: "unavailable" });
  expect(await tokens.another(token, signal)).toBe("token-3");
  await tokens.close();
});
