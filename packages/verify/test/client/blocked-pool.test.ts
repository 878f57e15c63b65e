import { createMemoryReplayStore, createStaticKeySet, verifyClientAssertion } from "@signpost/verify";
import type { KeyFunction } from "@signpost/verify";
import { SignJWT } from "jose";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { testKey } from "../support/keys.ts";

// What happens to assertions while other work blocks all threads of libuv's pool, such as files on a mount that hangs.

const keys = (["ES256", "RS256", "PS256", "EdDSA"] as const).map((alg) => testKey(alg, alg));
const registered = createStaticKeySet({ keys: keys.map(({ jwk }) => jwk) });
const replayStore = createMemoryReplayStore();
let made = 0;

async function assertion({ alg, kid, privateKey }: (typeof keys)[number]): Promise<string> {
  made += 1;
  return new SignJWT({ jti: String(made) })
    .setProtectedHeader({ alg, kid })
    .setIssuer("client")
    .setSubject("client")
    .setAudience("https://op.example")
    .setExpirationTime("1 min")
    .sign(privateKey);
}

const verify = (jwt: string, keyFunction: KeyFunction = registered): Promise<unknown> =>
  verifyClientAssertion(jwt, { issuer: "https://op.example", keysOf: () => keyFunction, replayStore });

/** Another payload under the same signature. */
const forged = (jwt: string): string => {
  const [header, , signature] = jwt.split(".");
  const claims = {
    iss: "client",
    sub: "client",
    aud: "https://op.example",
    exp: Date.now() / 1000 + 60,
    jti: "forged",
  };
  return `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
};

describe.each(keys.map((key) => [key.alg, key] as const))("an assertion by %s", (_alg, key) => {
  it("is verified after a while, and the next one at once", async () => {
    const [first, second] = [await assertion(key), await assertion(key)];
    const pool = vi.spyOn(crypto.subtle, "verify");
    onTestFinished(() => pool.mockRestore());
    let release = (_valid: boolean): void => {};
    pool.mockReturnValue(new Promise((resolve) => (release = resolve)));
    await expect(verify(first)).resolves.toBeDefined();
    await expect(verify(forged(second))).rejects.toMatchObject({ code: "bad_signature" });
    await expect(verify(second)).resolves.toBeDefined();
    expect(pool).toHaveBeenCalledTimes(1);
    release(true);
    await vi.waitFor(async () => {
      pool.mockClear();
      await verify(await assertion(key));
      expect(pool).toHaveBeenCalledTimes(1);
    });
  });
});

it("a key function that gives a key for another alg gets no further without the pool", async () => {
  const [es256, rs256] = keys as [(typeof keys)[number], (typeof keys)[number]];
  const pool = vi.spyOn(crypto.subtle, "verify").mockReturnValue(new Promise(() => {}));
  onTestFinished(() => pool.mockRestore());
  await verify(await assertion(es256));
  await expect(verify(await assertion(es256), async () => es256.publicKey as never)).resolves.toBeDefined();
  const jwt = await assertion(es256);
  const other: KeyFunction = async () => registered({ alg: "RS256", kid: rs256.kid });
  await expect(verify(jwt, other)).rejects.toMatchObject({ code: "bad_signature" });
});
