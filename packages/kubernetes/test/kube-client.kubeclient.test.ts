import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createKubernetesSigner, type KubernetesLegacyKey, serveKubernetesSigner } from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { startKubeClient, type KubeClient } from "@signpost/test-backends/kube-client";
import { ISSUER } from "./support/claims.ts";
import { runCluster } from "./support/cluster-run.ts";
import { type PrivateFolder, privateFolder } from "./support/private-folder.ts";

// What kube-apiserver's own code makes of our answers.

let folder: PrivateFolder;
const cleanups: (() => unknown)[] = [];
beforeEach(async () => {
  folder = await privateFolder();
});
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
  await folder[Symbol.asyncDispose]();
});

async function connect(legacyKeys: readonly KubernetesLegacyKey[] = []): Promise<KubeClient> {
  const path = folder.at("signer.sock");
  const signer = createKubernetesSigner({
    issuer: ISSUER,
    keys: [{ keyId: "sa", signer: await openLocalSigner() }],
    maxTokenLifetimeSeconds: 3600,
    legacyKeys,
  });
  const server = await serveKubernetesSigner({ signer, socket: { path } });
  const kube = await startKubeClient(path, ISSUER);
  cleanups.push(
    () => server.close(0),
    () => kube[Symbol.asyncDispose](),
  );
  return kube;
}

test("it gets tokens that it accepts, up to the longest lifetime", async () => {
  const kube = await connect();
  expect(await kube.maxLifetime()).toBe(3600);
  const { tokens, errors } = await kube.generate({ count: 50, lifetime: 3600 });
  expect(errors).toEqual([]);
  expect(new Set(tokens).size).toBe(50);
  expect(new Set(await kube.verify(tokens))).toEqual(new Set([""]));
});

test("a longer token is refused with the code alone", async () => {
  const kube = await connect();
  expect(await kube.generate({ count: 1, lifetime: 3601 })).toEqual({
    tokens: [],
    errors: ["while signing jwt: rpc error: code = InvalidArgument desc = lifetime_too_long"],
  });
});

const pem = (key: KeyObject): string => key.export({ type: "spki", format: "pem" }).toString();

describe("legacy keys", () => {
  const pairs = [
    ["RS256", "*rsa.PublicKey", generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["ES256", "*ecdsa.PublicKey", generateKeyPairSync("ec", { namedCurve: "P-256" })],
    ["ES384", "*ecdsa.PublicKey", generateKeyPairSync("ec", { namedCurve: "P-384" })],
    ["ES512", "*ecdsa.PublicKey", generateKeyPairSync("ec", { namedCurve: "P-521" })],
  ] as const;
  test.each(pairs)("a token that kube-apiserver signed before with %s still verifies", async (alg, type, pair) => {
    const kube = await connect([{ publicKey: pem(pair.publicKey), excludeFromDiscovery: true }]);
    const der = pair.publicKey.export({ type: "spki", format: "der" });
    const kid = createHash("sha256").update(der).digest("base64url");
    expect(await kube.keys()).toEqual([
      { id: "sa", type: "*ecdsa.PublicKey", excluded: false },
      { id: kid, type, excluded: true },
    ]);
    const uid = "5d2c5c3e-3a3c-4a8e-9a52-6e0e3d3b7f10";
    const token = await new SignJWT({
      "kubernetes.io": { namespace: "default", serviceaccount: { name: "builder", uid } },
    })
      .setProtectedHeader({ alg, kid })
      .setIssuer(ISSUER)
      .setSubject("system:serviceaccount:default:builder")
      .setAudience(ISSUER)
      .setIssuedAt()
      .setNotBefore("0s")
      .setExpirationTime("1h")
      .sign(pair.privateKey);
    expect(await kube.verify([token])).toEqual([""]);
  });
});

test("a rotation, an emergency, a restart and kill -9 lose no token, and a revoked key verifies nothing", async () => {
  const uris = await Promise.all(["a", "b", "c"].map((name) => keyFile(name)));
  const [first = "", second = "", third = ""] = uris;
  const { tokens, errors, errorsOfKill, refused } = await runCluster({ uris: [first, second, third] }, 300);
  expect(errors).toEqual([]);
  for (const list of Object.values(tokens)) expect(list.length).toBeGreaterThan(0);
  expect(refused).toEqual({ first: [], second: ["invalid signature, no keys found"], third: [] });
  // gRPC cannot know whether such a call was done, so it gives it back, and kube-apiserver's client asks again.
  for (const error of errorsOfKill) expect(error).toContain("code = Unavailable");
});

async function keyFile(name: string): Promise<string> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return `local:${await folder.write(`${name}.pem`, privateKey.export({ type: "pkcs8", format: "pem" }).toString())}`;
}
