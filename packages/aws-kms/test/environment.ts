import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KMSClientConfig } from "@aws-sdk/client-kms";
import { KMSClient } from "@aws-sdk/client-kms";

interface Backend {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/**
 * Makes these the credentials that the SDK finds, and hides those of the machine. A test file runs in a process of its
 * own, so nothing is put back.
 */
export function provideCredentials(credentials: Backend["credentials"] | undefined): void {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
  process.env["AWS_EC2_METADATA_DISABLED"] = "true";
  process.env["AWS_CONFIG_FILE"] = "/nonexistent/config";
  process.env["AWS_SHARED_CREDENTIALS_FILE"] = "/nonexistent/credentials";
  if (credentials === undefined) return;
  process.env["AWS_ACCESS_KEY_ID"] = credentials.accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = credentials.secretAccessKey;
}

/** Makes this the SDK's configuration file. It reads a file once, so each gets its own name. */
export function provideConfiguration(folder: string, text: string): void {
  const file = join(folder, `config-${randomUUID()}`);
  writeFileSync(file, text);
  process.env["AWS_CONFIG_FILE"] = file;
}

/** A client as a user would make it, for the tests' own administration of keys. */
export function clientOf(backend: Backend, config: KMSClientConfig = {}): KMSClient {
  const { region, endpoint, credentials } = backend;
  return new KMSClient({ region, endpoint, credentials, maxAttempts: 1, ...config });
}
