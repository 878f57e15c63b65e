import { Agent, request } from "node:http";

/** A request to sign, without a signature: what node:http takes for each call. */
export interface PlainPost {
  /** Sends it and reads the answer. */
  send(): Promise<unknown>;
  close(): void;
}

/** The request of a signature with as many bytes as a real one. The fake service does not check who signed the request. */
export function plainPost(endpoint: string, keyArn: string, digest: Uint8Array): PlainPost {
  const agent = new Agent({ keepAlive: true });
  const message = Buffer.from(digest).toString("base64");
  const body = JSON.stringify({
    KeyId: keyArn,
    Message: message,
    MessageType: "DIGEST",
    SigningAlgorithm: "ECDSA_SHA_256",
  });
  const headers = {
    "content-type": "application/x-amz-json-1.1",
    "x-amz-target": "TrentService.Sign",
    "x-amz-date": "20260101T000000Z",
    authorization: `AWS4-HMAC-SHA256 ${"x".repeat(170)}`,
  };
  const send = (): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const sent = request(endpoint, { method: "POST", agent, headers });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          if (response.statusCode === 200) resolve(chunks);
          else reject(new Error(`status ${response.statusCode}: ${Buffer.concat(chunks).toString()}`));
        });
      });
      sent.end(body);
    });
  return { send, close: () => agent.destroy() };
}
