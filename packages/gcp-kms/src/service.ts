import { SignerError } from "@signpost/core";
import type { GcpKmsSignResponse, GcpKmsPublicKeyResponse, GcpKmsVersionResponse } from "./api.ts";
import { callOnce } from "./call.ts";
import type { CallBounds } from "./call-bounds.ts";
import type { Connection } from "./connection.ts";
import { type CallSubject, gcpKmsError, stateInMessage, statusNumber } from "./errors.ts";
import { algorithmError, checksumOf } from "./integrity.ts";

// The calls of the service, one attempt each, with errors in our codes.

export async function asymmetricSign(
  connection: Connection,
  keyVersion: string,
  digest: Uint8Array,
  bounds: CallBounds,
): Promise<GcpKmsSignResponse> {
  const subject = { action: "sign with", name: keyVersion, permission: "cloudkms.cryptoKeyVersions.useToSign" };
  const request = { name: keyVersion, digest: { sha256: digest }, digestCrc32c: { value: checksumOf(digest) } };
  const startedAt = performance.now();
  try {
    return await callOnce(connection, (client, options) => client.asymmetricSign(request, options), bounds);
  } catch (error) {
    throw await explained(connection, error, subject, remainderOf(bounds, startedAt));
  }
}

export async function getPublicKey(
  connection: Connection,
  keyVersion: string,
  bounds: CallBounds,
): Promise<GcpKmsPublicKeyResponse> {
  const subject = {
    action: "read the public key of",
    name: keyVersion,
    permission: "cloudkms.cryptoKeyVersions.viewPublicKey",
  };
  const startedAt = performance.now();
  try {
    return await callOnce(connection, (client, options) => client.getPublicKey({ name: keyVersion }, options), bounds);
  } catch (error) {
    throw await explained(connection, error, subject, remainderOf(bounds, startedAt));
  }
}

/**
 * Every version of a key, all pages. One call a page and not the client's own walk through them, which goes on when
 * nobody waits for it any more.
 */
export async function listVersions(
  connection: Connection,
  cryptoKey: string,
  bounds: CallBounds,
): Promise<readonly GcpKmsVersionResponse[]> {
  const until = performance.now() + bounds.timeoutMs;
  const versions: GcpKmsVersionResponse[] = [];
  let pageToken: string | undefined;
  do {
    const timeoutMs = Math.max(1, Math.ceil(until - performance.now()));
    const page = await listPage(connection, cryptoKey, pageToken, { ...bounds, timeoutMs });
    versions.push(...page.versions);
    pageToken = page.next;
  } while (pageToken !== undefined);
  return versions;
}

interface Page {
  readonly versions: readonly GcpKmsVersionResponse[];
  /** Token of the next page. */
  readonly next: string | undefined;
}

async function listPage(
  connection: Connection,
  cryptoKey: string,
  pageToken: string | undefined,
  bounds: CallBounds,
): Promise<Page> {
  const request = pageToken === undefined ? { parent: cryptoKey } : { parent: cryptoKey, pageToken };
  const permission = "cloudkms.cryptoKeyVersions.list";
  try {
    return await callOnce(
      connection,
      async (client, options): Promise<readonly [Page]> => {
        const [versions, next] = await client.listCryptoKeyVersions(request, { ...options, autoPaginate: false });
        return [{ versions, next: next?.pageToken || undefined }];
      },
      bounds,
    );
  } catch (error) {
    throw toSignerError(error, { action: "list the versions of", name: cryptoKey, permission });
  }
}

function toSignerError(error: unknown, subject: CallSubject, state?: string): SignerError {
  return error instanceof SignerError ? error : gcpKmsError(error, subject, state);
}

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

/**
 * The service refuses a key that cannot sign in words of its own. When they do not name its state, the version is
 * asked for: a caller is told "DESTROYED" or "another algorithm" and not just "precondition". That takes
 * `cloudkms.cryptoKeyVersions.get`; without it the answer is less exact.
 */
async function explained(
  connection: Connection,
  error: unknown,
  subject: CallSubject,
  bounds: CallBounds,
): Promise<SignerError> {
  const first = toSignerError(error, subject);
  const status = first === error ? undefined : statusNumber(error);
  const isUnclear = status === FAILED_PRECONDITION ? stateInMessage(error) === undefined : status === INVALID_ARGUMENT;
  if (!isUnclear || first.code === "integrity") return first;
  const version = await lookUp(connection, subject.name, bounds);
  if (version?.name !== subject.name) return first;
  const refusal = algorithmError(version.algorithm, subject.name);
  if (refusal?.code === "unsupported_key") return refusal;
  return status === FAILED_PRECONDITION ? gcpKmsError(error, subject, String(version.state)) : first;
}

/** The longest that a refusal waits for its explanation. Milliseconds. */
const MAX_LOOK_UP_MS = 500;

/** Half of the time that is left, so that the refusal itself is in time whatever becomes of the look-up. */
function remainderOf({ timeoutMs, signal }: CallBounds, startedAt: number): CallBounds {
  const leftMs = timeoutMs - (performance.now() - startedAt);
  return { timeoutMs: Math.max(1, Math.min(MAX_LOOK_UP_MS, Math.floor(leftMs / 2))), signal };
}

async function lookUp(
  connection: Connection,
  name: string,
  bounds: CallBounds,
): Promise<GcpKmsVersionResponse | undefined> {
  try {
    return await callOnce(connection, (client, options) => client.getCryptoKeyVersion({ name }, options), bounds);
  } catch {
    // The error that we have says enough.
    return undefined;
  }
}
