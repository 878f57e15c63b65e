import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, type KeySet, type Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Provider, startProvider } from "./support/provider.ts";

const PLAIN = "https://api.example";
const PINNED = "https://rsa.example";

describe("a resource that is added while the provider runs", () => {
  let signer: Signer;
  let keys: KeySet;
  let provider: Provider;

  beforeAll(async () => {
    signer = await openLocalSigner();
    keys = createKeySet([{ keyId: "sig", signer }]);
    provider = await startProvider({ keys: () => keys, resources: [PLAIN, PINNED] });
  });
  afterAll(async () => {
    await provider.close();
    await signer.close();
  });

  const headers = () => new Headers({ cookie: provider.cookie });
  const create = (body: object) => provider.api.adminCreateOAuthResource({ headers: headers(), body });
  const update = (identifier: string, body: object) =>
    provider.api.adminUpdateOAuthResource({ headers: headers(), params: { identifier }, body });
  const rowOf = (identifier: string) =>
    provider.tables["oauthResource"]?.find((row) => row["identifier"] === identifier);

  test.each([
    ["another algorithm", { signingAlgorithm: "RS256" }],
    ["one key", { signingKeyId: "sig" }],
  ])("is refused if it asks for %s, and so is a change", async (_, pin) => {
    const identifier = "https://new.example";
    const argument = Object.keys(pin)[0];
    const refusal = (name: string) => ({
      name: "ConfigurationError",
      argument,
      message: expect.stringContaining(name),
    });
    await expect(create({ identifier, ...pin })).rejects.toMatchObject(refusal(identifier));
    expect(rowOf(identifier)).toBeUndefined();
    await expect(update(PLAIN, pin)).rejects.toMatchObject(refusal(PLAIN));
    expect(rowOf(PLAIN)).toMatchObject({ signingAlgorithm: null, signingKeyId: null });
  });

  test("is taken if it asks for ES256, or for nothing", async () => {
    const identifier = "https://other.example";
    await create({ identifier, signingAlgorithm: "ES256", signingKeyId: null });
    expect(rowOf(identifier)).toMatchObject({ signingAlgorithm: "ES256" });
    await update(identifier, { signingAlgorithm: null, name: "other" });
    expect(rowOf(identifier)).toMatchObject({ signingAlgorithm: null, name: "other" });
  });

  describe("and was in the database before the plug, with another algorithm", () => {
    const pin = (signingAlgorithm: string | null): void =>
      void Object.assign(rowOf(PINNED) ?? {}, { signingAlgorithm });
    const refresh = (token: string, resource?: string) =>
      client.refreshTokenGrant(provider.config, token, resource === undefined ? {} : { resource });

    test("gets no code", async () => {
      pin("RS256");
      const problems = provider.app.problems.length;
      await expect(provider.login(provider.cookie, PINNED)).rejects.toThrow("refused: 500");
      pin(null);
      expect(provider.app.problems.slice(problems)).toEqual([
        expect.objectContaining({ argument: "signingAlgorithm", message: expect.stringContaining(PINNED) }),
      ]);
    });

    test("uses up no refresh token, and the others of its user stay", async () => {
      const [first, second] = [await provider.login(provider.cookie, PINNED), await provider.login(provider.cookie)];
      const { refresh_token: token = "" } = first;
      pin("RS256");
      await expect(refresh(token, PINNED)).rejects.toMatchObject({ cause: { status: 500 } });
      await expect(refresh(token, PINNED)).rejects.toMatchObject({ cause: { status: 500 } });
      pin(null);
      await expect(refresh(token, PINNED)).resolves.toMatchObject({ token_type: "bearer" });
      await expect(refresh(second.refresh_token ?? "")).resolves.toMatchObject({ token_type: "bearer" });
    });

    test("leaves tokens for other resources alone", async () => {
      pin("RS256");
      const { refresh_token: token = "" } = await provider.login(provider.cookie, PLAIN);
      await expect(refresh(token, PLAIN)).resolves.toMatchObject({ token_type: "bearer" });
      pin(null);
    });
  });
});
