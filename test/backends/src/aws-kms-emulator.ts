import { randomUUID, type KeyObject } from "node:crypto";

// What LocalStack and local-kms have in common, as a test sees them.

/** A P-256 key that was made outside, so that two emulators can hold the same one. */
export interface ImportedKey {
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

export interface KmsEmulatorOptions {
  readonly keys?: readonly ImportedKey[] | undefined;
  /** Default `eu-west-1`. */
  readonly region?: string | undefined;
  /** For an emulator that must restart on the same port. Default a free port. */
  readonly port?: number | undefined;
}

export interface KmsEmulator extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  readonly port: number;
  readonly pid: number;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** The ARN of a key in this emulator. */
  keyArn(keyId: string): string;
  /** Freezes the process: the kernel accepts connections, and nothing answers. */
  freeze(): Promise<void>;
  /** Ends `freeze`. */
  thaw(): void;
  /** Idempotent. Keys are gone afterwards. */
  stop(): Promise<void>;
}

/** Emulators check no secret, so each start makes a new one, which tests can look for in output. */
export function emulatorCredentials(): KmsEmulator["credentials"] {
  return { accessKeyId: "AKIAEMULATOREXAMPLE0", secretAccessKey: `secret-${randomUUID()}` };
}

/** One call of the KMS API over plain HTTP, so that the emulators are checked by something other than the SDK. */
export async function callKms(
  emulator: { readonly endpoint: string; readonly region: string },
  operation: string,
  input: Readonly<Record<string, unknown>>,
): Promise<{ readonly status: number; readonly output: Readonly<Record<string, unknown>> }> {
  const scope = `AKIAEMULATOREXAMPLE0/20260101/${emulator.region}/kms/aws4_request`;
  const response = await fetch(emulator.endpoint, {
    method: "POST",
    headers: {
      "content-type": "application/x-amz-json-1.1",
      "x-amz-target": `TrentService.${operation}`,
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
    },
    body: JSON.stringify(input),
  });
  const text = await response.text();
  return { status: response.status, output: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

/** PKCS#8 DER in base64, the form in which both emulators take a key. */
export function exportForEmulator(key: ImportedKey): string {
  return key.privateKey.export({ format: "der", type: "pkcs8" }).toString("base64");
}
