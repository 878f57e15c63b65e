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
import { given } from "@signpost/core/adapter";

/** The members of a private EC key. */
export interface PrivateJwkMembers extends JwkMembers {
  /** The private key. */
  readonly d?: string | undefined;
}

/** A private JWK from anywhere: node:crypto, Web Crypto, or any other type with these members. */
export type PrivateJwkInput = PrivateJwkMembers | (PrivateJwkMembers & { readonly [member: string]: unknown });

/** The given P-256 private key, or a new one. */
export function privateKeyObject(privateKey: KeyObject | PrivateJwkInput | string | undefined): KeyObject {
  if (privateKey === undefined) return detached(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey);
  const key = privateKey instanceof KeyObject ? detached(privateKey) : imported(privateKey);
  if (key.type !== "private")
    throw new ConfigurationError("privateKey", `expected a private key, got a ${key.type} key`);
  const curve = key.asymmetricKeyDetails?.namedCurve;
  if (key.asymmetricKeyType !== "ec" || curve !== "prime256v1") {
    const found = [key.asymmetricKeyType, curve].filter((part) => part !== undefined).join(" ");
    throw new SignerError("unsupported_key", `privateKey: expected an EC key on P-256, got ${found}`);
  }
  if (!belongsTogether(key)) {
    throw new ConfigurationError("privateKey", "its public half does not belong to its private half");
  }
  return key;
}

/**
 * A copy of the key that is detached from its generator. Node 20 locks a generated key while it reads it. If garbage
 * collection finds the generator at that time, it takes the same lock, and the process hangs forever.
 */
function detached(key: KeyObject): KeyObject {
  if (key.type !== "private") return key;
  return createPrivateKey({ key: key.export({ format: "der", type: "pkcs8" }), format: "der", type: "pkcs8" });
}

/** A JWK or PEM file contains both halves of the key, and OpenSSL does not check that they belong together. */
function belongsTogether(key: KeyObject): boolean {
  const probe = Buffer.from("signpost");
  try {
    return verify("sha256", probe, createPublicKey(key), sign("sha256", probe, key));
  } catch {
    // A private half above the order of the group, with which OpenSSL cannot sign.
    return false;
  }
}

/** The kind of value, never a part of it. */
function describeKey(privateKey: unknown): string {
  if (typeof privateKey === "string" && privateKey !== "") return "a string that is none of these";
  return typeof privateKey === "number" ? "a number" : given(privateKey);
}

function imported(privateKey: PrivateJwkInput | string): KeyObject {
  try {
    return typeof privateKey === "string"
      ? createPrivateKey(privateKey)
      : createPrivateKey({ key: privateKey as JsonWebKeyInput["key"], format: "jwk" });
  } catch {
    // Without the cause: an OpenSSL error about a private key must not get out.
    throw new ConfigurationError(
      "privateKey",
      `expected a private key as KeyObject, JWK or unencrypted PEM, got ${describeKey(privateKey)}`,
    );
  }
}
