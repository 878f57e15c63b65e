import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import type { KubeApi } from "@signpost/test-backends/kube-api";

export interface DecodedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>> & { readonly iat: number; readonly exp: number };
}

export function decode(token: string): DecodedToken {
  const [header = "", claims = ""] = token.split(".");
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, "base64url").toString());
  return { header: read(header), claims: read(claims) } as DecodedToken;
}

export function kidOf(token: string): unknown {
  return decode(token).header["kid"];
}

/** Requests a token that must be given. */
export async function issuedBy(kube: KubeApi, serviceAccount = "app"): Promise<string> {
  const { token, status, message } = await kube.requestToken({ serviceAccount });
  if (status !== 201) throw new Error(`no token: ${status} ${message}`);
  return token;
}

/** Verifies with node:crypto and the key that kube-apiserver publishes. */
export async function verifiesByPublishedKey(kube: KubeApi, token: string): Promise<boolean> {
  const key = (await kube.publishedKeys()).get(String(kidOf(token)));
  if (key === undefined) return false;
  const [header = "", claims = "", signature = ""] = token.split(".");
  const publicKey = createPublicKey({ key: { ...key }, format: "jwk" });
  const input = Buffer.from(`${header}.${claims}`);
  return verify("sha256", input, { key: publicKey, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
}

/** The `kid` that kube-apiserver gives to its own keys: SHA-256 of its SubjectPublicKeyInfo. */
export function kubeKidOf(publicKey: KeyObject): string {
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url");
}

export interface KeyFiles {
  readonly publicKey: KeyObject;
  readonly publicPem: string;
  readonly privatePem: string;
}

/** What kubeadm makes as `sa.pub` and `sa.key`. */
export function createRsaKey(): KeyFiles {
  return pemsOf(generateKeyPairSync("rsa", { modulusLength: 2048 }));
}

export function createEcKey(): KeyFiles {
  return pemsOf(generateKeyPairSync("ec", { namedCurve: "P-256" }));
}

function pemsOf({
  publicKey,
  privateKey,
}: {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}): KeyFiles {
  return {
    publicKey,
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
