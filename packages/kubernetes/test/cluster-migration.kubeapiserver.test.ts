import { randomUUID, sign } from "node:crypto";
import { KUBE_ISSUER, type KubeApiserver } from "@signpost/test-backends/kube-apiserver";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "./support/cluster.ts";
import type { SignerFolder, SignerSettings } from "./support/signer-process.ts";
import { createEcKey, createRsaKey, issuedBy, kidOf, kubeKidOf } from "./support/tokens.ts";

// Three control planes of one cluster during the move from `sa.key`: not yet prepared, prepared, and moved. The way back is
// from the last one to the second one.

const USER = { authenticated: true, username: "system:serviceaccount:default:app" };
const REFUSED = { authenticated: false };

const rsa = createRsaKey();
const ec = createEcKey();
let cluster: Cluster;
let moved: KubeApiserver;
let unprepared: KubeApiserver;
let prepared: KubeApiserver;
beforeAll(async () => {
  cluster = await startCluster({
    settings: async (folder) => {
      await folder.write("sa.key", rsa.privatePem);
      await folder.write("sa.pub", rsa.publicPem);
      await folder.write("signer.pem", ec.privatePem);
      await folder.write("signer.pub", ec.publicPem);
      return settings(folder, false);
    },
  });
  moved = cluster.kube;
  const file = (name: string): string => `${cluster.folder.path}/${name}`;
  const inTree = [
    `--service-account-signing-key-file=${file("sa.key")}`,
    `--service-account-key-file=${file("sa.pub")}`,
  ];
  [unprepared, prepared] = await Promise.all([
    cluster.startKube(inTree),
    cluster.startKube([...inTree, `--service-account-key-file=${file("signer.pub")}`]),
  ]);
}, 120_000);
afterAll(() => cluster?.[Symbol.asyncDispose]());

/** The key has the `kid` that kube-apiserver itself gives to it. */
function settings({ path }: SignerFolder, excludeFromDiscovery: boolean): SignerSettings {
  return {
    issuer: KUBE_ISSUER,
    maxTokenLifetimeSeconds: 86_400,
    refreshHintSeconds: 1,
    keys: [{ keyId: kubeKidOf(ec.publicKey), uri: `local:${path}/signer.pem` }],
    legacyKeys: [{ publicKeyFile: `${path}/sa.pub`, excludeFromDiscovery }],
  };
}

test("a token of sa.key is accepted after the move, and its public key stays published", async () => {
  const token = await issuedBy(prepared);
  expect(kidOf(token)).toBe(kubeKidOf(rsa.publicKey));
  expect(await moved.reviewToken(token)).toEqual(USER);
  expect([...(await moved.publishedKeys()).keys()].toSorted()).toEqual(
    [kubeKidOf(ec.publicKey), kubeKidOf(rsa.publicKey)].toSorted(),
  );
});

test("a control plane that has the public key of the signer accepts its tokens before the move, and after the way back", async () => {
  const token = await issuedBy(moved);
  expect(kidOf(token)).toBe(kubeKidOf(ec.publicKey));
  expect(await prepared.reviewToken(token)).toEqual(USER);
  expect([...(await prepared.publishedKeys()).keys()].toSorted()).toEqual(
    [...(await moved.publishedKeys()).keys()].toSorted(),
  );
});

test("a control plane that does not have it refuses them, which is why it comes first", async () => {
  expect(await unprepared.reviewToken(await issuedBy(moved))).toEqual(REFUSED);
});

test("the token in a Secret is accepted after the move", async () => {
  expect(await moved.reviewToken(await createSecretToken(moved))).toEqual(USER);
});

test("a key that is excluded from discovery is published no more, and its tokens are accepted", async () => {
  const [token, secretToken] = [await issuedBy(prepared), await createSecretToken(moved)];
  await cluster.folder.configure(settings(cluster.folder, true));
  await cluster.reload();
  await expect
    .poll(async () => [...(await moved.publishedKeys()).keys()], { timeout: 20_000 })
    .toEqual([kubeKidOf(ec.publicKey)]);
  expect(await moved.reviewToken(token)).toEqual(USER);
  expect(await moved.reviewToken(secretToken)).toEqual(USER);
});

/** What kube-controller-manager makes for a Secret of the type `service-account-token`. */
async function createSecretToken(kube: KubeApiserver): Promise<string> {
  const name = `app-${randomUUID()}`;
  const account = await kube.call("GET", "/api/v1/namespaces/default/serviceaccounts/app");
  const { uid } = (account.body as { readonly metadata: { readonly uid: string } }).metadata;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const input = [
    encode({ alg: "RS256", kid: kubeKidOf(rsa.publicKey) }),
    encode({
      iss: "kubernetes/serviceaccount",
      sub: "system:serviceaccount:default:app",
      "kubernetes.io/serviceaccount/namespace": "default",
      "kubernetes.io/serviceaccount/secret.name": name,
      "kubernetes.io/serviceaccount/service-account.name": "app",
      "kubernetes.io/serviceaccount/service-account.uid": uid,
    }),
  ].join(".");
  const token = `${input}.${sign("sha256", Buffer.from(input), rsa.privatePem).toString("base64url")}`;
  const made = await kube.call("POST", "/api/v1/namespaces/default/secrets", {
    metadata: { name, annotations: { "kubernetes.io/service-account.name": "app" } },
    type: "kubernetes.io/service-account-token",
    stringData: { token },
  });
  if (made.status !== 201) throw new Error(`Secret: ${JSON.stringify(made.body)}`);
  return token;
}
