import { createHash, createPublicKey, randomBytes, verify, X509Certificate } from "node:crypto";
import { ecPointToJwk, EncodingError, type P256PublicJwk, SignerError, spkiToJwk } from "@signpost/core";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import { describeLabel } from "../cryptoki/label.ts";

/**
 * The public key in a token's objects, or undefined when none holds it. All objects must agree.
 *
 * @throws SignerError `unsupported_key` for an object that is not a P-256 key, `ambiguous_key` when they differ.
 */
export function publicKeyOf(found: PrivateKeyDescription): P256PublicJwk | undefined {
  const keys = publicKeysOf(found);
  const [first] = keys;
  if (first !== undefined && keys.some((key) => !sameKey(key, first))) {
    throw new SignerError("ambiguous_key", `${name(found)}: the public objects with this CKA_ID hold different keys`);
  }
  return first;
}

function publicKeysOf(found: PrivateKeyDescription): readonly P256PublicJwk[] {
  try {
    return [
      ...found.ecPoints.map(ecPointToJwk),
      ...found.publicKeyInfos.map(spkiToJwk),
      ...found.certificates.map((der) =>
        spkiToJwk(new X509Certificate(der).publicKey.export({ type: "spki", format: "der" })),
      ),
    ];
  } catch (cause) {
    const reason = cause instanceof EncodingError ? cause.message : "not an X.509 certificate";
    throw new SignerError("unsupported_key", `${name(found)}: its public half is not a P-256 key: ${reason}`, {
      cause,
    });
  }
}

/** Whether both are the same point. */
export function sameKey(a: P256PublicJwk, b: P256PublicJwk): boolean {
  return a.x === b.x && a.y === b.y;
}

/** A digest to sign, and the check that a key made the signature over it. */
export interface Probe {
  readonly digest: Uint8Array;
  verifies(publicKey: P256PublicJwk, signature: Uint8Array): boolean;
}

/** Proves which private key a handle stands for. Nothing on the token says so for certain. */
export function createProbe(): Probe {
  const message = randomBytes(32);
  return {
    digest: createHash("sha256").update(message).digest(),
    verifies: ({ kty, crv, x, y }, signature) => {
      const key = createPublicKey({ key: { kty, crv, x, y }, format: "jwk" });
      return verify("sha256", message, { key, dsaEncoding: "ieee-p1363" }, signature);
    },
  };
}

function name({ label, id }: PrivateKeyDescription): string {
  const hex = Buffer.from(id).toString("hex");
  return `${describeLabel(label)} (id ${hex === "" ? "none" : hex})`;
}
