import { createHash, createHmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { SigningCredentials, SigningScope } from "../../src/https/sigv4.ts";

// The SDK's own implementation is the oracle.

/** SHA-256 and HMAC, as the oracle takes them. */
class Sha256 {
  readonly #hash;
  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }
  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }
  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** All headers of a signed POST request. */
export async function expectedHeaders(
  { host, path, region, service }: SigningScope,
  credentials: SigningCredentials,
  { headers, body, now }: { headers: Record<string, string>; body: string; now: number },
): Promise<Record<string, string>> {
  const { sessionToken, ...pair } = credentials;
  const oracle = new SignatureV4({
    service,
    region,
    credentials: { ...pair, ...(sessionToken !== undefined && { sessionToken }) },
    sha256: Sha256,
    applyChecksum: false,
  });
  const request = { method: "POST", protocol: "https:", hostname: host, path, query: {}, body };
  const signed = await oracle.sign({ ...request, headers: { ...headers, host } }, { signingDate: new Date(now) });
  return signed.headers;
}
