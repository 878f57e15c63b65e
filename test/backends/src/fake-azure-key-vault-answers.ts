import { createHash } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { signDigest } from "./digest-signature.ts";
import type { FakeAzureKey, FakeKeyVersion, KeyMaterial } from "./fake-azure-key-vault-keys.ts";
import { SLOW_FAULT_MS, type Fault } from "./faults.ts";

/** The data on the wire. */
export interface AzureReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body: string;
  /** What happens instead of a complete answer. `drip`: one byte of the body every 20 ms. */
  readonly ending?: "hang" | "hang-after-headers" | "reset" | "drip" | undefined;
  readonly delayMs?: number | undefined;
}

/** A call about a version, as the vault understood it. */
export interface AzureCall {
  readonly operation: "getKey" | "sign";
  readonly key: FakeAzureKey;
  readonly version: FakeKeyVersion;
  /** `https://HOST`, for `kid`. */
  readonly vault: string;
  /** The digest of `sign`. */
  readonly digest: Uint8Array;
}

export function okReply(body: object): AzureReply {
  return { status: 200, body: JSON.stringify(body) };
}

/** An error in the service's form. */
export function azureError(status: number, code: string, message: string, innerCode?: string): AzureReply {
  const innererror = innerCode === undefined ? {} : { innererror: { code: innerCode } };
  return { status, body: JSON.stringify({ error: { code, message, ...innererror } }) };
}

/** The identifier of a version. */
export function kidOf(vault: string, key: FakeAzureKey, { version }: FakeKeyVersion): string {
  return `${vault}/keys/${key.name}/${version}`;
}

/** The answer of the service to a call that it accepts, modified by `fault`. */
export function answerAzure(call: AzureCall, fault: Fault | undefined, stranger: KeyMaterial): AzureReply {
  const right = (changes: Partial<Making> = {}): AzureReply =>
    call.operation === "getKey" ? keyReply(call, changes) : signReply(call, changes);
  switch (fault) {
    case undefined:
      return stateRefusal(call) ?? right();
    case "hang":
    case "hang-after-headers":
    case "reset":
      return { ...right(), ending: fault };
    case "slow":
      return { ...right(), delayMs: SLOW_FAULT_MS };
    case "html":
      return {
        status: 502,
        headers: { "content-type": "text/html" },
        body: "<html><body><h1>502 Bad Gateway</h1></body></html>",
      };
    case "truncated": {
      const whole = right();
      return { ...whole, body: whole.body.slice(0, Math.floor(whole.body.length / 2)) };
    }
    case "empty":
      return okReply({});
    case "wrong-key":
      return right({ material: stranger, version: "f".repeat(32) });
    case "foreign-signature":
      return right({ material: stranger });
    case "bad-signature":
      return right({ digest: (digest) => createHash("sha256").update(digest).digest() });
    case "corrupted":
      return right({ bytes: lastBitFlipped });
    case "malformed-signature":
      return right({ bytes: (raw) => raw.subarray(1) });
    case "out-of-range-signature":
      return right({ bytes: () => Buffer.alloc(64, 0xff) });
    case "unsupported-key":
      return right({ crv: "P-384" });
    default:
      return refusal(fault);
  }
}

/** What the service refuses because of the state of the key. A disabled key can be read, and cannot sign. */
function stateRefusal({ operation, version }: AzureCall): AzureReply | undefined {
  if (operation === "getKey") return undefined;
  const { enabled, nbf, exp } = version.attributes;
  const now = Date.now() / 1000;
  if (!enabled) {
    return azureError(403, "Forbidden", "Operation sign is not allowed on a disabled key.", "KeyDisabled");
  }
  if (nbf !== undefined && now < nbf) {
    return azureError(403, "Forbidden", "Operation sign is not allowed on a key before its nbf.", "KeyNotYetValid");
  }
  if (exp !== undefined && now >= exp) {
    return azureError(403, "Forbidden", "Operation sign is not allowed on an expired key.", "KeyExpired");
  }
  if (!version.keyOps.includes("sign")) {
    return azureError(403, "Forbidden", "Operation sign is not permitted on this key.");
  }
  return undefined;
}

function refusal(fault: Fault): AzureReply {
  switch (fault) {
    case "throttle":
      return {
        ...azureError(429, "Throttled", "Request was not processed because too many requests were received."),
        headers: { "retry-after": "1" },
      };
    case "unavailable":
      return azureError(503, "ServiceUnavailable", "The service is unavailable.");
    case "backend-timeout":
      return azureError(504, "GatewayTimeout", "The gateway did not receive a response.");
    case "access-denied":
      return azureError(403, "Forbidden", "Caller is not authorized to perform action on resource.", "ForbiddenByRbac");
    case "expired-credentials":
      return azureError(401, "Unauthorized", "AKV10022: the token is expired.");
    case "key-not-found":
    case "key-destroyed":
      return azureError(404, "KeyNotFound", "A key with (name/id) op was not found in this key vault.");
    case "key-disabled":
      return azureError(403, "Forbidden", "Operation sign is not allowed on a disabled key.", "KeyDisabled");
    default:
      throw new Error(`the fake vault does not support the fault ${fault}`);
  }
}

/** How to make a correct answer, so that a fault changes one part of it. */
interface Making {
  readonly material: KeyMaterial;
  readonly version: string;
  readonly crv: string;
  readonly digest: (digest: Uint8Array) => Uint8Array;
  /** Changes the signature. */
  readonly bytes: (raw: Uint8Array) => Uint8Array;
}

function keyReply({ key, version, vault }: AzureCall, changes: Partial<Making>): AzureReply {
  const { material = version.material, crv = version.crv } = changes;
  const kid = kidOf(vault, key, { ...version, version: changes.version ?? version.version });
  const { kty, keyOps, attributes, others } = version;
  const jwk = { kid, kty, key_ops: keyOps, crv, x: material.x, y: material.y };
  return okReply({ key: jwk, attributes: { ...attributes, recoverableDays: 90 }, tags: {}, ...others });
}

function signReply({ key, version, vault, digest: own }: AzureCall, changes: Partial<Making>): AzureReply {
  const { material = version.material, digest = (same) => same, bytes = (raw) => raw } = changes;
  const der = signDigest(digest(own), material.secret);
  const raw = p256.Signature.fromBytes(der, "der").toBytes("compact");
  const kid = kidOf(vault, key, { ...version, version: changes.version ?? version.version });
  return okReply({ kid, value: Buffer.from(bytes(raw)).toString("base64url") });
}

function lastBitFlipped(raw: Uint8Array): Uint8Array {
  const flipped = Uint8Array.from(raw);
  flipped[63] = (flipped[63] ?? 0) ^ 1;
  return flipped;
}

/** Managed HSM words its refusals in another way. */
export function managedHsmRefusal(action: string, key: string): AzureReply {
  const id = "7e6ad9a1-50f6-4a0f-9d4a-0f6a1d1f4f9b";
  return azureError(403, "AccessDenied", `Not authorized to access ${action} on /keys/${key} (Activity ID: ${id})`);
}

/** A page of the list of versions. The list of the service is in no useful order, so it is in that of the version names. */
export function versionsReply(vault: string, key: FakeAzureKey, query: URLSearchParams, tags: object): AzureReply {
  const all = key.versions.toSorted((a, b) => (a.version < b.version ? -1 : 1));
  const size = Number(query.get("maxresults") ?? "25");
  const start = Number(query.get("$skiptoken") ?? "0");
  const value = all.slice(start, start + size).map((version) => ({
    kid: kidOf(vault, key, version),
    attributes: { ...version.attributes, recoverableDays: 90 },
    tags,
  }));
  const next = `${vault}/keys/${key.name}/versions?api-version=${query.get("api-version")}&$skiptoken=${start + size}&maxresults=${size}`;
  return okReply({ value, nextLink: start + size < all.length ? next : null });
}
