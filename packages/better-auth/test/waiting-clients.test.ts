import * as client from "openid-client";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, type Signer, SignerError } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Provider, startProvider } from "./support/provider.ts";

describe("a client that gives up while the key is tried again", () => {
  let own: Signer;
  let provider: Provider;
  let users = 0;
  /** What the backend does before it signs. */
  let before: () => Promise<void> = async () => {};

  beforeAll(async () => {
    own = await openLocalSigner();
    const signer: Signer = {
      uri: own.uri,
      publicKey: own.publicKey,
      sign: async (digest, options) => {
        await before();
        return own.sign(digest, options);
      },
      close: () => own.close(),
    };
    const keys = createKeySet([{ signer }]);
    provider = await startProvider({ keys: () => keys });
  });
  afterEach(() => {
    before = async () => {};
  });
  afterAll(async () => {
    await provider.close();
    await own.close();
  });

  async function refreshToken(): Promise<string> {
    const { refresh_token: token = "" } = await provider.login(
      await provider.app.signUp(`user-${(users += 1)}@rp.example`),
    );
    return token;
  }
  const refresh = (token: string) => client.refreshTokenGrant(provider.config, token);

  test("is refused after 2 seconds, and its retry gets tokens for the same refresh token or code", async () => {
    const [lost, token, code] = [await refreshToken(), await refreshToken(), await provider.authorize(provider.cookie)];
    before = () => Promise.reject(new SignerError("unavailable", "away"));
    await expect(refresh(lost)).rejects.toMatchObject({ cause: { status: 503 } });

    // The backend answers none of its calls until it is back.
    const { promise: isBack, resolve: comeBack } = deferred();
    before = () => isBack;
    const refused = await Promise.allSettled([refresh(token), provider.exchange(code)]);
    expect(refused).toMatchObject([
      { status: "rejected", reason: { cause: { status: 503 } } },
      { status: "rejected", reason: { cause: { status: 503 } } },
    ]);

    comeBack();
    await expect(refresh(token)).resolves.toMatchObject({ token_type: "bearer" });
    await expect(provider.exchange(code)).resolves.toMatchObject({ token_type: "bearer" });
  });
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
