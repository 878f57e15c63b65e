import { generateKeyPairSync } from "node:crypto";
import { errors, ExternalSigningKey, Provider } from "oidc-provider";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  type KeySet,
  type PublishedKey,
  type RotationSchedule,
  SignerError,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { accepted, hint, HINT_CLIENT } from "./support/hints.ts";
import { type Op, published, startOp } from "./support/op.ts";

let op: Op | undefined;
afterEach(() => {
  op?.close();
});

const pairs = new Map(
  ["a", "b", "c", "d"].map((keyId) => [keyId, generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey]),
);

async function setOf(...keyIds: string[]): Promise<KeySet> {
  const entries = keyIds.map(async (keyId) => ({
    keyId,
    signer: await openLocalSigner({ privateKey: privateKeyOf(keyId) }),
  }));
  return createKeySet(await Promise.all(entries));
}

function privateKeyOf(keyId: string) {
  const key = pairs.get(keyId);
  if (key === undefined) throw new Error(`no key ${keyId}`);
  return key;
}

/** A schedule whose withdrawn keys are what the test says. */
function scheduleOf(keySet: KeySet, withdrawn: () => readonly PublishedKey[]): RotationSchedule {
  return {
    keySet: () => keySet,
    withdrawn,
    jwksRotationActive: () => false,
    nextChange: () => null,
    latestExpiry: () => Number.POSITIVE_INFINITY,
  };
}

async function acceptedKeys(current: Op): Promise<string[]> {
  const results = [...pairs].map(async ([keyId, key]) =>
    (await accepted(current, await hint(current.issuer, keyId, key))) ? [keyId] : [],
  );
  return (await Promise.all(results)).flat();
}

test("the places are free until the plug is attached, and then have the keys that verify", async () => {
  const keys = await setOf("a", "b");
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys, verifyingKeys: 2 });
  const kids = (): unknown[] => signpost.jwks.keys.map((key) => (key as unknown as { kid: string }).kid);
  const provider = new Provider("https://op.example", {
    jwks: signpost.jwks,
    features: { ...signpost.features, devInteractions: { enabled: false } },
    clientDefaults: signpost.clientDefaults,
  });
  expect(kids()).toEqual(["a", "signpost-free-place-0", "signpost-free-place-1"]);
  signpost.attach(provider, createJwksEndpoint({ issuer: provider.issuer, keys }));
  expect(kids()).toEqual(["a", "b", "signpost-free-place-1"]);
});

describe("more keys than places", () => {
  test("the operator gets one report until they fit again, and those withdrawn last still verify", async () => {
    const told: Error[] = [];
    const keySet = await setOf("d");
    const [all, some] = [await setOf("c", "b", "a"), await setOf("c")];
    let withdrawn = some.keys;
    const keys = scheduleOf(keySet, () => withdrawn);
    op = await startOp({
      keys,
      verifyingKeys: 2,
      onError: (error) => told.push(error),
      configuration: { clients: [HINT_CLIENT] },
    });
    await sign(op);
    expect(told).toEqual([]);
    withdrawn = all.keys;
    await sign(op);
    await sign(op);
    expect(await acceptedKeys(op)).toEqual(["b", "c", "d"]);
    expect(told).toEqual([
      expect.objectContaining({ argument: "verifyingKeys", message: expect.stringContaining("3") }),
    ]);
    withdrawn = some.keys;
    await sign(op);
    withdrawn = all.keys;
    await sign(op);
    expect(told).toHaveLength(2);
  });

  test("without onError, it is a process warning", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      op = await startOp({ keys: await setOf("a", "b", "c"), verifyingKeys: 1 });
      await vi.waitFor(() => {
        expect(warned).toHaveBeenCalledWith(expect.stringContaining("verifyingKeys"), "SignpostWarning");
      });
    } finally {
      warned.mockRestore();
    }
  });

  test("a listener that throws spoils no signature", async () => {
    op = await startOp({
      keys: await setOf("a", "b", "c"),
      verifyingKeys: 1,
      onError: (error) => {
        throw error;
      },
      configuration: { clients: [HINT_CLIENT] },
    });
    await expect(sign(op)).resolves.toBeUndefined();
  });

  test("having no places at all is a valid choice, which is not reported", async () => {
    const told: Error[] = [];
    op = await startOp({
      keys: await setOf("a", "b"),
      verifyingKeys: 0,
      onError: (error) => told.push(error),
      configuration: { clients: [HINT_CLIENT] },
    });
    expect(await acceptedKeys(op)).toEqual(["a"]);
    expect(told).toEqual([]);
  });
});

test("a key that is both published and withdrawn, or active and withdrawn, takes one place or none", async () => {
  const [published, withdrawn] = [await setOf("a", "b"), await setOf("a", "b", "c")];
  const keys = scheduleOf(published, () => withdrawn.keys);
  op = await startOp({ keys, verifyingKeys: 2, configuration: { clients: [HINT_CLIENT] } });
  expect(await acceptedKeys(op)).toEqual(["a", "b", "c"]);
});

test("while the source of keys fails, hints of the last known keys are accepted and nothing is signed", async () => {
  const keys = await setOf("a", "b");
  let failing = false;
  op = await startOp({
    keys: () => {
      if (failing) throw new SignerError("unavailable", "the store of keys does not answer");
      return keys;
    },
    configuration: { clients: [HINT_CLIENT] },
  });
  failing = true;
  expect(await acceptedKeys(op)).toEqual(["a", "b"]);
  await expect(sign(op)).rejects.toMatchObject({
    error: "temporarily_unavailable",
    status: 503,
    cause: { code: "unavailable" },
  });
  failing = false;
  await expect(sign(op)).resolves.toBeUndefined();
});

/** An ID token straight from the provider. */
async function sign(current: Op): Promise<void> {
  const { provider } = current;
  // Nothing is signed before a request has come by.
  await published(current);
  const client = await provider.Client.find(HINT_CLIENT.client_id);
  await new provider.IdToken({ sub: "a" }, { client }).issue({ use: "idtoken" } as never);
}
