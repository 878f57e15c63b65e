import { KUBE_ISSUER } from "@signpost/test-backends/kube-apiserver";
import { type SoftHsm, startSoftHsm } from "@signpost/test-backends/softhsm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cluster, startCluster } from "./support/cluster.ts";
import { startSigner } from "./support/signer-process.ts";
import { decode, issuedBy, verifiesByPublishedKey } from "./support/tokens.ts";

// The real kube-apiserver and etcd, and a signer with a key in SoftHSM.

const LIFETIME_SECONDS = 7200;

let hsm: SoftHsm;
let cluster: Cluster;
beforeAll(async () => {
  hsm = await startSoftHsm({ label: "cluster" });
  await hsm.generateKey({ label: "sa-1", id: "01" });
  cluster = await startCluster({
    start: (folder) => startSigner(folder, hsm.env),
    settings: async (folder) => {
      const pin = await folder.write("pin", hsm.pin);
      const uri = `pkcs11:token=cluster;object=sa-1?module-path=${hsm.module}&pin-source=file:${pin}`;
      return {
        issuer: KUBE_ISSUER,
        maxTokenLifetimeSeconds: LIFETIME_SECONDS,
        refreshHintSeconds: 30,
        keys: [{ keyId: "sa-1", uri }],
      };
    },
  });
}, 120_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await hsm.stop();
});

test("a TokenRequest is answered with a token of the key in the HSM", async () => {
  const token = await issuedBy(cluster.kube);
  expect(decode(token)).toMatchObject({
    header: { alg: "ES256", kid: "sa-1", typ: "JWT" },
    claims: { iss: KUBE_ISSUER, sub: "system:serviceaccount:default:app" },
  });
  expect(Object.keys(decode(token).header).toSorted()).toEqual(["alg", "kid", "typ"]);
  expect(await verifiesByPublishedKey(cluster.kube, token)).toBe(true);
});

test("kube-apiserver accepts the token in a TokenReview, and from its bearer", async () => {
  const { kube } = cluster;
  const token = await issuedBy(kube);
  const username = "system:serviceaccount:default:app";
  expect(await kube.reviewToken(token)).toEqual({ authenticated: true, username });
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { status, body } = await kube.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review, token);
  expect(status).toBe(201);
  expect(body).toMatchObject({ status: { userInfo: { username } } });
});

test("it publishes the public key, and the algorithm, for at most as long as the refresh hint", async () => {
  const { kube } = cluster;
  const keys = [...(await kube.publishedKeys()).values()];
  const coordinate = expect.stringMatching(/^[\w-]{43}$/);
  expect(keys).toEqual([
    { kty: "EC", crv: "P-256", use: "sig", alg: "ES256", kid: "sa-1", x: coordinate, y: coordinate },
  ]);
  expect(await kube.discovery()).toMatchObject({
    issuer: KUBE_ISSUER,
    id_token_signing_alg_values_supported: ["ES256"],
  });
  const { headers } = await kube.call("GET", "/openid/v1/jwks");
  const [, maxAge] = /^public, max-age=(\d+)$/.exec(String(headers["cache-control"])) ?? [];
  expect(Number(maxAge)).toBeLessThanOrEqual(30);
});

test("a request for more than the longest lifetime gets that lifetime, with a warning", async () => {
  const answer = await cluster.kube.requestToken({ expirationSeconds: 86_400 });
  expect(answer.warnings).toContain(`requested expiration of 86400 seconds shortened to ${LIFETIME_SECONDS} seconds`);
  const { exp, iat } = decode(answer.token).claims;
  expect(exp - iat).toBe(LIFETIME_SECONDS);
});

test("the token that a kubelet requests for a pod lives for the longest lifetime", async () => {
  const { kube } = cluster;
  const containers = [{ name: "app", image: "registry.example/app:1" }];
  const pod = { metadata: { name: "pod-1" }, spec: { serviceAccountName: "app", containers } };
  const made = await kube.call("POST", "/api/v1/namespaces/default/pods", pod);
  expect(made).toMatchObject({ status: 201 });
  // 3607 s is what the admission plugin writes into the volume of each pod.
  const spec = { expirationSeconds: 3607, boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "pod-1" } };
  const { body } = await kube.call("POST", "/api/v1/namespaces/default/serviceaccounts/app/token", { spec });
  const { token } = (body as { readonly status: { readonly token: string } }).status;
  const { exp, iat } = decode(token).claims;
  expect(exp - iat).toBe(LIFETIME_SECONDS);
});

test("kube-apiserver refuses a token with a changed signature, and one of an unknown key", async () => {
  const { kube } = cluster;
  const [header = "", claims = "", signature = ""] = (await issuedBy(kube)).split(".");
  const changed = Buffer.from(signature, "base64url");
  changed.writeUInt8(changed.readUInt8(40) ^ 1, 40);
  expect(await kube.reviewToken(`${header}.${claims}.${changed.toString("base64url")}`)).toMatchObject({
    authenticated: false,
  });
  const unknown = Buffer.from(JSON.stringify({ alg: "ES256", kid: "sa-0", typ: "JWT" })).toString("base64url");
  expect(await kube.reviewToken(`${unknown}.${claims}.${signature}`)).toMatchObject({ authenticated: false });
});
