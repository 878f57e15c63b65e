import { derElements, derElementsOf, TAG } from "./der.ts";
import { objectIdentifier } from "./extensions.ts";

/** Signatures with a hash that resists collisions (RFC 8301, RFC 5758, RFC 8410, RFC 8702). MD5 and SHA-1 are not among them. */
const STRONG: ReadonlySet<string> = new Set([
  "1.2.840.113549.1.1.11", // sha256WithRSAEncryption
  "1.2.840.113549.1.1.12", // sha384WithRSAEncryption
  "1.2.840.113549.1.1.13", // sha512WithRSAEncryption
  "1.2.840.10045.4.3.2", // ecdsa-with-SHA256
  "1.2.840.10045.4.3.3", // ecdsa-with-SHA384
  "1.2.840.10045.4.3.4", // ecdsa-with-SHA512
  "1.3.101.112", // Ed25519
  "1.3.101.113", // Ed448
]);
const RSASSA_PSS = "1.2.840.113549.1.1.10";
const SHA_2: ReadonlySet<string> = new Set([
  "2.16.840.1.101.3.4.2.1", // SHA-256
  "2.16.840.1.101.3.4.2.2", // SHA-384
  "2.16.840.1.101.3.4.2.3", // SHA-512
]);
const HASH_ALGORITHM = 0xa0;

/** Whether the AlgorithmIdentifier of a signature names an algorithm that no forger can use. */
export function isStrongSignature(algorithm: Uint8Array): boolean {
  const [id, parameters] = derElementsOf(algorithm, TAG.sequence) ?? [];
  if (id?.tag !== TAG.objectIdentifier) return false;
  const name = objectIdentifier(id.contents);
  if (name !== RSASSA_PSS) return STRONG.has(name);
  // RFC 4055 section 3.1: without this member, the hash is SHA-1.
  const members = parameters === undefined ? [] : (derElements(parameters.contents) ?? []);
  const hash = members.find(({ tag }) => tag === HASH_ALGORITHM);
  const [hashId] = hash === undefined ? [] : (derElementsOf(hash.contents, TAG.sequence) ?? []);
  return hashId !== undefined && SHA_2.has(objectIdentifier(hashId.contents));
}
