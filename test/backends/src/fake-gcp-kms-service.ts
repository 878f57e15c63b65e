import crc32c from "crc-32/crc32c.js";
import type { FaultSchedule } from "./faults.ts";
import { SLOW_FAULT_MS, type Fault } from "./faults.ts";
import { type FakeKeyring, type FakeKeyVersion, type FakeVersionState, sha256 } from "./fake-gcp-kms-keys.ts";

// The fake's answers, before they are put on a wire. The rules follow the reference of the Cloud KMS API.

export type Operation = "AsymmetricSign" | "GetPublicKey" | "GetCryptoKeyVersion" | "ListCryptoKeyVersions";

/** The gRPC statuses that are not OK. */
export type StatusName =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** The codes of the statuses in gRPC, and their HTTP statuses in Google's REST API. */
export const STATUS: Readonly<Record<StatusName, readonly [grpc: number, http: number]>> = {
  CANCELLED: [1, 499],
  UNKNOWN: [2, 500],
  INVALID_ARGUMENT: [3, 400],
  DEADLINE_EXCEEDED: [4, 504],
  NOT_FOUND: [5, 404],
  ALREADY_EXISTS: [6, 409],
  PERMISSION_DENIED: [7, 403],
  RESOURCE_EXHAUSTED: [8, 429],
  FAILED_PRECONDITION: [9, 400],
  ABORTED: [10, 409],
  OUT_OF_RANGE: [11, 400],
  UNIMPLEMENTED: [12, 501],
  INTERNAL: [13, 500],
  UNAVAILABLE: [14, 503],
  DATA_LOSS: [15, 500],
  UNAUTHENTICATED: [16, 401],
};

/** Thrown when the service answers with a status that is not OK. */
export class RpcStatus extends Error {
  readonly status: StatusName;

  constructor(status: StatusName, message: string) {
    super(message);
    this.status = status;
  }
}

/** A request as both wires present it: absent members are undefined, a checksum of zero is "0". */
export interface RpcRequest {
  readonly name: string;
  readonly sha256?: Uint8Array | undefined;
  /** Another digest, or data, was sent in addition or instead. */
  readonly other?: boolean | undefined;
  readonly digestCrc32c?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** A response in the members of the protos, in camel case. `undefined` is left out of it. */
export type RpcResponse = Record<string, unknown>;

/** Changes the correct answer of an operation, or throws an `RpcStatus` in its place. */
export type Intercept = (operation: Operation, response: RpcResponse) => RpcResponse;

/** What a transport does in addition to answering. */
export type TransportFault = Extract<Fault, "hang" | "hang-after-headers" | "reset" | "truncated" | "html">;

export interface Outcome {
  readonly transportFault: TransportFault | undefined;
  readonly answer: RpcResponse | RpcStatus;
}

export interface FakeService {
  readonly faults: FaultSchedule;
  readonly keyring: FakeKeyring;
  intercept: Intercept | undefined;
  /** Whether a message about a version that is not enabled includes its state, as the real service's do. Default true. */
  stateInMessages: boolean;
  /** Pings received over gRPC. */
  pings: number;
  /** Whether the next ping ends its connection, with too_many_pings. Default false. */
  refusePings: boolean;
}

const TRANSPORT_FAULTS: ReadonlySet<Fault | undefined> = new Set<Fault>([
  "hang",
  "hang-after-headers",
  "reset",
  "truncated",
  "html",
]);

const REFUSALS: Partial<Record<Fault, readonly [StatusName, string]>> = {
  throttle: ["RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Cryptographic requests'"],
  unavailable: ["UNAVAILABLE", "The service is currently unavailable."],
  "backend-timeout": ["DEADLINE_EXCEEDED", "The request timed out."],
  "access-denied": ["PERMISSION_DENIED", "Permission 'cloudkms.cryptoKeyVersions.useToSign' denied"],
  "expired-credentials": ["UNAUTHENTICATED", "Request had invalid authentication credentials."],
  "key-not-found": ["NOT_FOUND", "CryptoKeyVersion not found."],
  "corrupted-request": [
    "INVALID_ARGUMENT",
    "The checksum in field digest_crc32c did not match the data in field digest.",
  ],
};

const FAULT_STATES: Partial<Record<Fault, FakeVersionState>> = {
  "key-disabled": "DISABLED",
  "key-destroyed": "DESTROY_SCHEDULED",
  "key-pending": "PENDING_GENERATION",
};

/** Decides the complete outcome of one request, including the scheduled delay. */
export async function handle(service: FakeService, operation: Operation, request: RpcRequest): Promise<Outcome> {
  const fault = service.faults.take(operation);
  const delayMs = service.faults.latencyMs + (fault === "slow" ? SLOW_FAULT_MS : 0);
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
  const transportFault = TRANSPORT_FAULTS.has(fault) ? (fault as TransportFault) : undefined;
  try {
    const response = respond(service, operation, request, fault);
    return { transportFault, answer: service.intercept?.(operation, response) ?? response };
  } catch (error) {
    if (error instanceof RpcStatus) return { transportFault, answer: error };
    throw error;
  }
}

function respond(
  service: FakeService,
  operation: Operation,
  request: RpcRequest,
  fault: Fault | undefined,
): RpcResponse {
  const refusal = fault === undefined ? undefined : REFUSALS[fault];
  if (refusal !== undefined) throw new RpcStatus(...refusal);
  if (fault === "empty") return {};
  if (operation === "ListCryptoKeyVersions") return listVersions(service, request);
  const version = findVersion(service, request.name);
  const state = (fault === undefined ? undefined : FAULT_STATES[fault]) ?? version.state;
  if (operation === "GetCryptoKeyVersion") return describe(version, state);
  if (state !== "ENABLED") throw notEnabled(service, version, state);
  return operation === "AsymmetricSign"
    ? signDigest(service, version, request, fault)
    : publicKeyOf(service, version, fault);
}

const VERSION_NAME = /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+\/cryptoKeyVersions\/\d+$/;

function findVersion(service: FakeService, name: string): FakeKeyVersion {
  if (!VERSION_NAME.test(name)) throw new RpcStatus("INVALID_ARGUMENT", "The name is not that of a CryptoKeyVersion.");
  const version = service.keyring.find(name);
  if (version === undefined) throw new RpcStatus("NOT_FOUND", `CryptoKeyVersion ${name} not found.`);
  return version;
}

function notEnabled(service: FakeService, { name }: FakeKeyVersion, state: FakeVersionState): RpcStatus {
  const text = service.stateInMessages ? `${name} is not enabled, current state is: ${state}.` : "Not enabled.";
  return new RpcStatus("FAILED_PRECONDITION", text);
}

function signDigest(
  service: FakeService,
  version: FakeKeyVersion,
  request: RpcRequest,
  fault: Fault | undefined,
): RpcResponse {
  if (version.algorithm !== "EC_SIGN_P256_SHA256" || request.other === true || request.sha256?.length !== 32) {
    throw new RpcStatus("INVALID_ARGUMENT", "The digest is not of the key's algorithm.");
  }
  const digest = request.sha256;
  if (request.digestCrc32c !== undefined && request.digestCrc32c !== checksum(digest)) {
    throw new RpcStatus("INVALID_ARGUMENT", REFUSALS["corrupted-request"]?.[1] ?? "");
  }
  const signer = fault === "wrong-key" || fault === "foreign-signature" ? service.keyring.stranger : version;
  const right = service.keyring.sign(signer.name, fault === "bad-signature" ? sha256(digest) : digest);
  const sent = fault === "malformed-signature" ? Buffer.concat([right, Buffer.of(0)]) : right;
  const signature = fault === "out-of-range-signature" ? ZERO_R : sent;
  return {
    signature: fault === "corrupted" ? withFlippedBit(signature) : signature,
    signatureCrc32c: fault === "missing-checksum" ? undefined : checksum(signature),
    verifiedDigestCrc32c: request.digestCrc32c !== undefined,
    name: fault === "wrong-key" ? signer.name : version.name,
    protectionLevel: version.protectionLevel,
  };
}

/** SEQUENCE { INTEGER 0, INTEGER 1 }: good DER, and r is out of its range. */
const ZERO_R = Buffer.from("3006020100020101", "hex");

function publicKeyOf(service: FakeService, version: FakeKeyVersion, fault: Fault | undefined): RpcResponse {
  const shown = fault === "wrong-key" ? service.keyring.stranger : version;
  const pem = String(shown.publicKey.export({ type: "spki", format: "pem" }));
  const bytes = Buffer.from(pem);
  return {
    // Another base64 character in the middle of the PEM.
    pem: fault === "corrupted" ? pem.replace(/(?<=^.{60})./su, (letter) => (letter === "A" ? "B" : "A")) : pem,
    pemCrc32c: fault === "missing-checksum" ? undefined : checksum(bytes),
    algorithm: fault === "unsupported-key" ? "RSA_SIGN_PKCS1_2048_SHA256" : shown.algorithm,
    name: shown.name,
    protectionLevel: version.protectionLevel,
  };
}

function describe(version: FakeKeyVersion, state: FakeVersionState): RpcResponse {
  return {
    name: version.name,
    state,
    algorithm: version.algorithm,
    protectionLevel: version.protectionLevel,
    createTime: version.createTime,
  };
}

/** Small pages, which expose a caller that reads only the first one. */
const MAX_PAGE_SIZE = 3;

function listVersions(service: FakeService, request: RpcRequest): RpcResponse {
  const all = service.keyring.list(request.name);
  if (all.length === 0) throw new RpcStatus("NOT_FOUND", `CryptoKey ${request.name} not found.`);
  const start = Number(request.pageToken ?? 0);
  const end = start + Math.min(request.pageSize || MAX_PAGE_SIZE, MAX_PAGE_SIZE);
  return {
    cryptoKeyVersions: all.slice(start, end).map((version) => describe(version, version.state)),
    nextPageToken: end < all.length ? String(end) : undefined,
    totalSize: all.length,
  };
}

function checksum(bytes: Uint8Array): string {
  return String(crc32c.buf(bytes) >>> 0);
}

function withFlippedBit(bytes: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(bytes);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  return changed;
}
