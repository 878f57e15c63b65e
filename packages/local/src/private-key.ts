import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  sign,
  verify,
  type JsonWebKeyInput,
} from "node:crypto";
import { ConfigurationError, SignerError, type JwkMembers } from "@signpost/core";

/** The members of a private EC key. */
export interface PrivateJwkMembers extends JwkMembers {
  /** The private key. */
  readonly d?: string | undefined;
}

/** A private JWK of any origin: of node:crypto, of Web Crypto, or any other type that has these members. */
export type PrivateJwkInput = PrivateJwkMembers | (PrivateJwkMembers & { readonly [member: string]: unknown });

/** The given P-256 private key, or a new one. */
export function privateKeyObject(privateKey: KeyObject | PrivateJwkInput | string | undefined): KeyObject {
  if (privateKey === undefined) return detached(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
  const key = privateKey instanceof KeyObject ? detached(privateKey) : imported(privateKey);
  if (key.type !== "private")
    throw new ConfigurationError("privateKey", `expected a private key, got a ${key.type} one`);
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (key.asymmetricKeyType !== "ec" || curve !== "prime256v1") {
    const found = [key.asymmetricKeyType, curve].filter((part) => part !== undefined).join(" ");
    throw new SignerError("unsupported_key", `privateKey: expected an EC key on P-256, got ${found}`);
  }
  if (!belongsTogether(key)) {
    throw new ConfigurationError("privateKey", "expected a public half that belongs to the private key");
  }
  return key;
}

/**
 * The same key without what generated it. Node 20 locks a generated key while it reads it, and again when garbage collection
 * finds the generator meanwhile: the process then stands still for good.
 */
function detached(key: KeyObject): KeyObject {
  if (key.type !== "private") return key;
  return createPrivateKey({ key: key.export({ format: "der", type: "pkcs8" }), format: "der", type: "pkcs8" });
}

/** A JWK and a PEM file carry the public half beside the private one, and OpenSSL takes both as they come. */
function belongsTogether(key: KeyObject): boolean {
  const probe = Buffer.from("signpost");
  return verify("sha256", probe, createPublicKey(key), sign("sha256", probe, key));
}

function imported(privateKey: PrivateJwkInput | string): KeyObject {
  try {
    return typeof privateKey === "string"
      ? createPrivateKey(privateKey)
      : createPrivateKey({ key: privateKey as JsonWebKeyInput["key"], format: "jwk" });
  } catch {
    // Without the cause: what OpenSSL says of a private key stays here.
    throw new ConfigurationError("privateKey", "expected a private key as KeyObject, JWK or unencrypted PEM");
  }
}
