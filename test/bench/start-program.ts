// A fresh process that does one thing once and reports how long it took: the cost of a cold start.
import { randomBytes } from "node:crypto";
import type { JsonWebKey } from "node:crypto";

export type StartTask =
  | { readonly task: "import"; readonly names: readonly string[] }
  | {
      readonly task: "sign";
      readonly by: "signer" | "signer over https" | "sdk";
      readonly endpoint: string;
      readonly region: string;
      readonly keyArn: string;
      readonly publicKey?: JsonWebKey;
    }
  | {
      readonly task: "verify";
      readonly by: "verifier" | "jose";
      readonly issuer: string;
      readonly audience: string;
      readonly jwksUri: string;
      readonly token: string;
    };

export interface StartResult {
  readonly ms: number;
  readonly rssMiB: number;
}

const credentials = { accessKeyId: "AKIABENCHMARKEXAMPLE", secretAccessKey: "benchmark" };

async function firstSignature(task: Extract<StartTask, { task: "sign" }>): Promise<void> {
  const { endpoint, region, keyArn, publicKey } = task;
  if (task.by === "signer over https") {
    // The SDK ignores it, and the service of this benchmark has no TLS.
    delete process.env["AWS_CA_BUNDLE"];
    process.env["AWS_ACCESS_KEY_ID"] = credentials.accessKeyId;
    process.env["AWS_SECRET_ACCESS_KEY"] = credentials.secretAccessKey;
    const { openAwsKmsSigner } = await import("@signpost/aws-kms");
    const signer = await openAwsKmsSigner({ key: keyArn, endpoint, region, publicKey, transport: "https" });
    await signer.sign(randomBytes(32));
    return signer.close();
  }
  const { KMSClient, SignCommand } = await import("@aws-sdk/client-kms");
  const client = new KMSClient({ endpoint, region, credentials });
  const digest = randomBytes(32);
  if (task.by === "signer") {
    const { openAwsKmsSigner } = await import("@signpost/aws-kms");
    const signer = await openAwsKmsSigner({ key: keyArn, client, publicKey });
    await signer.sign(digest);
  } else {
    const input = { KeyId: keyArn, Message: digest, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
    await client.send(new SignCommand(input));
  }
  client.destroy();
}

async function firstVerification(task: Extract<StartTask, { task: "verify" }>): Promise<void> {
  const { issuer, audience, jwksUri, token } = task;
  if (task.by === "verifier") {
    const { createJwtVerifier, createRemoteKeySet } = await import("@signpost/verify");
    const keys = createRemoteKeySet(jwksUri, { allowInsecureLoopback: true });
    await createJwtVerifier({ type: "id_token", issuer, audience, keys }).verify(token);
  } else {
    const { createRemoteJWKSet, jwtVerify } = await import("jose");
    await jwtVerify(token, createRemoteJWKSet(new URL(jwksUri)), { issuer, audience, algorithms: ["ES256"] });
  }
}

const task = JSON.parse(process.argv[2] ?? "") as StartTask;
const startedAt = performance.now();
if (task.task === "import") await Promise.all(task.names.map((name) => import(name)));
else if (task.task === "sign") await firstSignature(task);
else await firstVerification(task);
const ms = performance.now() - startedAt;
process.send?.({ ms, rssMiB: process.memoryUsage.rss() / 2 ** 20 } satisfies StartResult);
process.disconnect();
