import type * as verify from "@signpost/verify";
import { createPublicDispatcher, createRemoteKeySet, KeySetError, TokenError, VerifyError } from "@signpost/verify";
import { beforeAll, describe, expect, it, vi } from "vitest";

// Two versions of the package may be installed at once, as where a plug brings its own.

let copy: typeof verify;
beforeAll(async () => {
  vi.resetModules();
  copy = await import("@signpost/verify");
});

describe("another copy of this package", () => {
  it("has separate classes, and its errors are instances of our classes of the same name", () => {
    expect(copy.KeySetError).not.toBe(KeySetError);
    const classes = [KeySetError, TokenError, VerifyError];
    const errors = [
      new copy.KeySetError("unknown_kid", "no key"),
      new copy.TokenError("expired", "over"),
      new copy.VerifyError("code", "message"),
    ];
    expect(errors.map((error) => classes.map((type) => error instanceof type))).toEqual([
      [true, false, true],
      [false, true, true],
      [false, false, true],
    ]);
  });

  it("does not mix up two classes that a program derives", () => {
    class OwnError extends KeySetError {}
    expect(new copy.KeySetError("unknown_kid", "no key")).not.toBeInstanceOf(OwnError);
    expect(new OwnError("unknown_kid", "no key")).toBeInstanceOf(copy.KeySetError);
  });

  it.each(["127.0.0.1", "localhost"])("may make the dispatcher: %s is refused as by our own", async (host) => {
    for (const dispatcher of [createPublicDispatcher(), copy.createPublicDispatcher()]) {
      const keySet = createRemoteKeySet(`https://${host}/jwks`, { dispatcher });
      await expect(keySet.preload()).rejects.toMatchObject({ code: "address_refused", transient: false });
      await dispatcher.close();
    }
  });
});
