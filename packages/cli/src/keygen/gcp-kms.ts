import { openGcpClient, type GcpKmsLike } from "../backends/gcp-kms.ts";
import type { CliError } from "../program/cli-error.ts";
import { exists, failed, LOOK_FIRST, NO_CLOUD_KEY, opensKey, refuse, type KeyOrder, type MakeKey } from "./maker.ts";

const KEY = /^gcpkms:\/\/((projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+)\/cryptoKeys\/([\w-]+))$/i;
const CALL = { timeout: 10_000 };
/** Another attempt after a lost answer would find the key of the first one, or make one more version. */
const ONCE = { ...CALL, retry: null } as const;
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
  try {
    if (order.newVersion) await requireP256(client, name, id);
    order.leaves(`The key ${id}, or another version of it, may have been made in ${ring}`);
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
  await client.createCryptoKey(request, ONCE).catch((error: unknown) => {
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

/**
 * Codes of gRPC with which the service says that it made nothing: INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED,
 * FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED, UNAUTHENTICATED.
 */
const REFUSALS: readonly unknown[] = [3, 5, 7, 8, 9, 11, 12, 16];

function unanswered(what: string, error: unknown): CliError {
  return failed(what, error, REFUSALS.includes(Reflect.get(Object(error), "code")) ? undefined : LOOK_FIRST);
}

/** How the client gives a purpose and an algorithm: by name, or by number. */
const SIGNS: readonly unknown[] = ["ASYMMETRIC_SIGN", 5];
const P256: readonly unknown[] = ["EC_SIGN_P256_SHA256", 12];

/** A version of another kind of key would be of no use here, and might be used by what the key is for. */
async function requireP256(client: GcpKmsLike, name: string, id: string): Promise<void> {
  const [{ purpose, versionTemplate }] = await client.getCryptoKey({ name }, CALL).catch((error: unknown) => {
    throw failed("getCryptoKey", error);
  });
  if (SIGNS.includes(purpose) && P256.includes(versionTemplate?.algorithm)) return;
  throw exists(`A key ${id} that is not EC_SIGN_P256_SHA256`, "Name another key");
}

async function addVersion(client: GcpKmsLike, parent: string): Promise<string> {
  const [version] = await client
    .createCryptoKeyVersion({ parent, cryptoKeyVersion: {} }, ONCE)
    .catch((error: unknown) => {
      throw unanswered("createCryptoKeyVersion", error);
    });
  return String(version.name);
}
