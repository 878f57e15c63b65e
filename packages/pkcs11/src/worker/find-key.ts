import type { Attribute, Handle } from "../cryptoki/binding.ts";
import { describeCode } from "../cryptoki/ckr.ts";
import {
  CKA_ALWAYS_AUTHENTICATE,
  CKA_CERTIFICATE_TYPE,
  CKA_EC_PARAMS,
  CKA_EC_POINT,
  CKA_KEY_TYPE,
  CKA_LABEL,
  CKA_PUBLIC_KEY_INFO,
  CKA_SIGN,
  CKA_VALUE,
  CKC_X_509,
  CKK_EC,
  CKO_CERTIFICATE,
  CKO_PRIVATE_KEY,
  CKO_PUBLIC_KEY,
} from "../cryptoki/constants.ts";
import type { PrivateKeyDescription } from "../cryptoki/descriptions.ts";
import { describeLabel } from "../cryptoki/label.ts";
import {
  classTemplate,
  type CryptokiSession,
  describeObject,
  findObjects,
  findOptional,
  readAttribute,
  readId,
  readLabel,
  readOptional,
  readUlong,
  type Refusals,
} from "../cryptoki/objects.ts";
import type { PrivateKeyQuery } from "../request/key-request.ts";
import { shown } from "../request/misplaced-pin.ts";
import { KeySearchError } from "./failure.ts";

// DER of the object identifier 1.2.840.10045.3.1.7 (RFC 5480 section 2.1.1.1).
const P256_PARAMETERS = Buffer.from("06082a8648ce3d030107", "hex");

const KEY_TYPE_NAMES: ReadonlyMap<bigint, string> = new Map([
  [0n, "RSA"],
  [1n, "DSA"],
  [0x40n, "EC Edwards"],
  [0x41n, "EC Montgomery"],
]);

/** A longer list would not make the right one easier to find. */
const LISTED = 20;
/** Objects read for one key. Further public objects or certificates with the same CKA_ID are ignored. */
const COMPANIONS = 8;

/**
 * The one private key that matches, checked to be a P-256 key that may sign, with every object on the token that
 * holds its public half. SoftHSM accepts an RSA key or another curve at C_SignInit, so the checks are made here.
 */
export function findKey(
  session: CryptokiSession,
  query: PrivateKeyQuery,
): { readonly handle: Handle; readonly found: PrivateKeyDescription } {
  const handle = findPrivateKey(session, query);
  requireP256SigningKey(session, handle);
  const refusals: Refusals = [];
  const id = readId(session, handle, refusals);
  const withSameId = (template: readonly Attribute[]): readonly Handle[] =>
    id.length === 0 ? [] : findOptional(session, template, COMPANIONS, refusals);
  const publicKeys = withSameId(classTemplate(CKO_PUBLIC_KEY, id));
  const certificates = withSameId([
    ...classTemplate(CKO_CERTIFICATE, id),
    { type: CKA_CERTIFICATE_TYPE, value: CKC_X_509 },
  ]);
  const readAll = (objects: readonly Handle[], type: number): readonly Uint8Array[] =>
    objects.flatMap((object) => {
      const value = readOptional(session, object, type, refusals);
      return value === undefined ? [] : [new Uint8Array(value)];
    });
  const found: PrivateKeyDescription = {
    label: readLabel(session, handle),
    id,
    alwaysAuthenticate: readOptional(session, handle, CKA_ALWAYS_AUTHENTICATE)?.[0] === 1,
    ecPoints: readAll([handle, ...publicKeys], CKA_EC_POINT),
    publicKeyInfos: readAll([handle, ...publicKeys], CKA_PUBLIC_KEY_INFO),
    certificates: readAll(certificates, CKA_VALUE),
    untold: firstOf(refusals),
  };
  return { handle, found };
}

function firstOf([refusal]: Refusals): PrivateKeyDescription["untold"] {
  return refusal === undefined ? undefined : { call: refusal.call, code: refusal.code };
}

function findPrivateKey(session: CryptokiSession, query: PrivateKeyQuery): Handle {
  const template = classTemplate(CKO_PRIVATE_KEY, query.id);
  if (query.object !== undefined) template.push({ type: CKA_LABEL, value: Buffer.from(query.object) });
  const matches = findObjects(session, template, LISTED + 1);
  const [handle] = matches;
  if (handle === undefined)
    throw new KeySearchError("key_not_found", `no private key ${wanted(query)}; ${inventory(session)}`);
  if (matches.length > 1) {
    throw new KeySearchError("ambiguous_key", `more than one private key ${wanted(query)}: ${list(session, matches)}`);
  }
  return handle;
}

function wanted({ object, id }: PrivateKeyQuery): string {
  const parts = [
    object === undefined ? "" : `label ${shown(latin1(object), describeLabel(object))}`,
    id === undefined ? "" : `id ${shown(latin1(id), Buffer.from(id).toString("hex"))}`,
  ].filter((part) => part !== "");
  return parts.length === 0 ? "on the token" : `with ${parts.join(" and ")}`;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function inventory(session: CryptokiSession): string {
  const kinds: [string, number][] = [
    ["private keys", CKO_PRIVATE_KEY],
    ["public keys", CKO_PUBLIC_KEY],
    ["certificates", CKO_CERTIFICATE],
  ];
  const texts = kinds.map(([name, objectClass]) => {
    const refusals: Refusals = [];
    const objects = findOptional(session, classTemplate(objectClass), LISTED + 1, refusals);
    const [refusal] = refusals;
    if (refusal !== undefined) return `${name}: not readable (${refusal.call}: ${describeCode(refusal.code)})`;
    return `${name}: ${objects.length === 0 ? "none" : list(session, objects)}`;
  });
  return `the token has ${texts.join("; ")}`;
}

function list(session: CryptokiSession, objects: readonly Handle[]): string {
  const texts = objects.slice(0, LISTED).map((object) => describeObject(session, object));
  return texts.join(", ") + (objects.length > LISTED ? ", and more" : "");
}

function requireP256SigningKey(session: CryptokiSession, handle: Handle): void {
  const keyType = readUlong(readAttribute(session, handle, CKA_KEY_TYPE));
  if (keyType !== BigInt(CKK_EC)) {
    const name = KEY_TYPE_NAMES.get(keyType ?? -1n) ?? keyType ?? "unknown";
    throw new KeySearchError(
      "unsupported_key",
      `${describeObject(session, handle)} is of the key type ${name}; expected EC P-256`,
    );
  }
  const parameters = readOptional(session, handle, CKA_EC_PARAMS);
  if (parameters !== undefined && !parameters.equals(P256_PARAMETERS)) {
    const text = parameters.toString("hex");
    throw new KeySearchError(
      "unsupported_key",
      `${describeObject(session, handle)} is on another curve (CKA_EC_PARAMS ${text}); expected P-256`,
    );
  }
  if (readOptional(session, handle, CKA_SIGN)?.[0] === 0) {
    throw new KeySearchError("unsupported_key", `${describeObject(session, handle)} may not sign (CKA_SIGN is false)`);
  }
}
