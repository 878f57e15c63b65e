import { Provider } from "oidc-provider";
import { expect, test } from "vitest";
import { createJwksEndpoint, createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { mountJwks } from "@signpost/oidc-provider";

test("the path of the key set is asked for without the prefix under which the host is mounted", async () => {
  const issuer = "https://op.example";
  const provider = new Provider(issuer, {});
  const asked: unknown[] = [];
  const { pathFor } = provider;
  provider.pathFor = (name, options) => {
    asked.push(options);
    return pathFor.call(provider, name, options);
  };
  const signer = await openLocalSigner();
  try {
    mountJwks(provider, createJwksEndpoint({ issuer, keys: createKeySet([{ keyId: "sig", signer }]) }));
  } finally {
    await signer.close();
  }
  expect(asked.length).toBeGreaterThan(0);
  // Without it, the host would add the prefix of the request that it answers at the moment.
  expect(asked).toEqual(asked.map(() => ({ mountPath: "" })));
});
