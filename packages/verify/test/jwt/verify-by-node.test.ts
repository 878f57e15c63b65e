import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createVerifyByNode } from "../../src/jwt/verify-by-node.ts";
import { SCHEMES } from "../../src/token/algorithms.ts";
import { parseCompactJws } from "../../src/token/compact.ts";
import { idToken, key } from "../support/jwt.ts";

// One signature, verified here or on a thread.

const token = idToken();
const jws = parseCompactJws(token);
const verify = (jwt: string, ofKey: Parameters<ReturnType<typeof createVerifyByNode>>[2], inFlight: number) => {
  const promise = createVerifyByNode()(jwt, jws, ofKey, SCHEMES.ES256, inFlight);
  return { isHere: promise === undefined, promise };
};

describe("a signature", () => {
  it.each([
    [0, true],
    [3, true],
    [4, false],
    [1000, false],
  ])("with %d tokens in flight is verified here: %s", async (inFlight, isHere) => {
    const outcome = verify(token, key.publicKey, inFlight);
    expect(outcome.isHere).toBe(isHere);
    expect(await outcome.promise).toBeUndefined();
  });

  it("that node:crypto cannot check is bad, with the reason as its cause", () => {
    const secret = createSecretKey(Buffer.alloc(32));
    let error: unknown;
    try {
      void verify(token, secret, 1).promise;
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      name: "TokenError",
      code: "bad_signature",
      cause: expect.objectContaining({ code: "ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE" }),
    });
  });

  it("that is forged is bad, and has no cause", () => {
    let error: unknown;
    try {
      void verify(`x${token}`, key.publicKey, 1).promise;
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ name: "TokenError", code: "bad_signature" });
    expect(error).not.toHaveProperty("cause");
  });
});
