import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { type KeySet, SignerError, type SignerErrorCode } from "@signpost/core";
import { createKubernetesSigner, serveKubernetesSigner } from "@signpost/kubernetes";
import type { Issuer } from "./backend.ts";
import { ISSUER } from "./issuer-name.ts";

// Asks for signatures as kube-apiserver does: over gRPC on a Unix socket.

const SIGN = "/v1.ExternalJWTSigner/Sign";
/** kube-apiserver refuses less. */
const LIFETIME_SECONDS = 600;

interface SignAnswer {
  readonly header: string;
  readonly signature: string;
}

/** Serves the keys on a socket of this process, and connects to it. */
export async function startKubernetesIssuer(keys: () => KeySet): Promise<Issuer> {
  const folder = await mkdtemp(join(tmpdir(), "signpost-faults-"));
  const path = join(folder, "signer.sock");
  const signer = createKubernetesSigner({ issuer: ISSUER, keys, maxTokenLifetimeSeconds: LIFETIME_SECONDS });
  const server = await serveKubernetesSigner({ signer, socket: { path } });
  // With connections of its own, which end with it.
  const client = new Client(`unix:${path}`, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  return {
    sign: async (claims) => {
      const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
      const { header, signature } = await ask(client, payload);
      return `${header}.${payload}.${signature}`;
    },
    close: async () => {
      client.close();
      await server.close();
      await rm(folder, { recursive: true });
    },
  };
}

function ask(client: Client, payload: string): Promise<SignAnswer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(SIGN, textField, readAnswer, payload, (error: ServiceError | null, answer) => {
      if (error !== null) reject(asSigned(error));
      else if (answer === undefined) reject(new TypeError("no answer"));
      else resolve(answer);
    });
  });
}

/** All that a requester sees of an error is its code. The judge knows the codes. */
function asSigned({ details }: ServiceError): SignerError {
  return new SignerError(details as SignerErrorCode, "an error of the signer");
}

/** Field 1, a text of 128 to 16,383 bytes. */
function textField(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x0a, (bytes.length & 0x7f) | 0x80, bytes.length >> 7]), bytes]);
}

/** Fields 1 and 2, texts of up to 16,383 bytes. */
function readAnswer(message: Buffer): SignAnswer {
  const texts = new Map<number, string>();
  for (let at = 0; at < message.length;) {
    const tag = message.readUInt8(at);
    const low = message.readUInt8(at + 1);
    const isLong = low >= 0x80;
    const length = isLong ? (low & 0x7f) + message.readUInt8(at + 2) * 128 : low;
    const from = at + (isLong ? 3 : 2);
    texts.set(tag >> 3, message.toString("latin1", from, from + length));
    at = from + length;
  }
  return { header: texts.get(1) ?? "", signature: texts.get(2) ?? "" };
}
