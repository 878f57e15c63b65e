import { createPublicKey, X509Certificate } from "node:crypto";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { afterEach, expect, test, vi } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySetEntry } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type Op, published, startOp } from "./support/op.ts";

let op: Op | undefined;
afterEach(() => {
  op?.close();
});

async function certifiedEntry(keyId: string): Promise<{ entry: KeySetEntry; x5c: string[] }> {
  const signer = await openLocalSigner();
  const chain = certificateOf(createPublicKey({ key: { ...signer.publicKey }, format: "jwk" }), ["op.example"]);
  return {
    entry: { keyId, signer, certificates: { chain } },
    x5c: [new X509Certificate(chain).raw.toString("base64")],
  };
}

test("the provider publishes the certificates of each key, and only those", async () => {
  const [active, retiring] = [await certifiedEntry("a"), await certifiedEntry("b")];
  const keys = createKeySet([active.entry, { keyId: "bare", signer: await openLocalSigner() }, retiring.entry]);
  op = await startOp({ keys });
  const document = await published(op);
  expect(document.keys.map(({ kid, x5c }) => [kid, x5c])).toEqual([
    ["a", active.x5c],
    ["bare", undefined],
    ["b", retiring.x5c],
  ]);
  const ours = createJwksEndpoint({ issuer: op.issuer, keys }).respond("GET");
  const response = await fetch(`${op.issuer}/jwks`);
  expect(Buffer.from(await response.arrayBuffer())).toEqual(Buffer.from(ours.body ?? []));
});

test("the endpoint of the provider tells its onError that a certificate expires soon", async () => {
  const { entry } = await certifiedEntry("a");
  const onError = vi.fn<(error: unknown) => void>();
  const keys = createKeySet([entry]);
  op = await startOp({ keys, endpoint: (issuer) => createJwksEndpoint({ issuer, keys, onError }) });
  await published(op);
  await published(op);
  expect(onError.mock.calls).toMatchObject([[{ code: "certificate_expires_soon" }]]);
});
