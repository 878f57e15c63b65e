import { openGcpClient, type GcpKmsLike } from "../backends/gcp-kms.ts";
import type { CliError } from "../program/cli-error.ts";
import { exists, failed, LOOK_FIRST, NO_CLOUD_KEY, opensKey, refuse, type KeyOrder, type MakeKey } from "./maker.ts";

const KEY = /^gcpkms:\/\/((projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+)\/cryptoKeys\/([\w-]+))$/i;
const CALL = { timeout: 10_000 };
/** The status code of gRPC. */
const ALREADY_EXISTS = 6;

/** A key in Google Cloud KMS with its first version, or another version of a key. */
export const makeGcpKey: MakeKey = async (order) => {
  const [, name, ring, id] = KEY.exec(order.uri) ?? [];
  if (name === undefined || ring === undefined || id === undefined) {
    throw refuse("Expected a key without a version", "gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/NAME");
  }
  // Before a token is sent: the adapter refuses sources of credentials without TLS.
  if ((await opensKey(order.open, `${order.uri}/cryptoKeyVersions/1`, NO_CLOUD_KEY)) && !order.newVersion) {
    throw keyExists(id);
  }
  const client = await openGcpClient(order.options, order.context);
  if (client === undefined) throw refuse("@google-cloud/kms is not installed", "npm install @google-cloud/kms");
  order.leaves(`The key ${id}, or another version of it, may have been made in ${ring}`);
  try {
    return `gcpkms://${order.newVersion ? await addVersion(client, name) : await createKey(client, { ring, id, name, order })}`;
  } finally {
    // It rejects if it could not be opened, which is what the call has said.
    await client.close().catch(() => undefined);
  }
};

interface NewKey {
  readonly ring: string;
  readonly id: string;
  readonly name: string;
  readonly order: KeyOrder;
}

async function createKey(client: GcpKmsLike, { ring, id, name, order }: NewKey): Promise<string> {
  const versionTemplate = {
    algorithm: "EC_SIGN_P256_SHA256",
    protectionLevel: order.protection === "hsm" ? "HSM" : "SOFTWARE",
  };
  const request = { parent: ring, cryptoKeyId: id, cryptoKey: { purpose: "ASYMMETRIC_SIGN", versionTemplate } };
  await client.createCryptoKey(request, CALL).catch((error: unknown) => {
    if (Reflect.get(Object(error), "code") === ALREADY_EXISTS) {
      throw keyExists(id);
    }
    throw unanswered("createCryptoKey", error);
  });
  return `${name}/cryptoKeyVersions/1`;
}

function keyExists(id: string): CliError {
  return exists(`The key ${id}`, "Make another version of it with --new-version, or name another key");
}

/** For a call whose answer did not arrive: DEADLINE_EXCEEDED and UNAVAILABLE of gRPC, and our own time limit. */
const NO_ANSWER: readonly unknown[] = [4, 14, "timeout"];

function unanswered(what: string, error: unknown): CliError {
  return failed(what, error, NO_ANSWER.includes(Reflect.get(Object(error), "code")) ? LOOK_FIRST : undefined);
}

async function addVersion(client: GcpKmsLike, parent: string): Promise<string> {
  const [version] = await client
    .createCryptoKeyVersion({ parent, cryptoKeyVersion: {} }, CALL)
    .catch((error: unknown) => {
      throw unanswered("createCryptoKeyVersion", error);
    });
  return String(version.name);
}
