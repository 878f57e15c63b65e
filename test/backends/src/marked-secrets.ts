import { createHash, createPrivateKey, type KeyObject } from "node:crypto";

// Secrets that occur nowhere else, so that a test can search everything that a program shows for them.

/** A secret to search for. */
export interface MarkedSecret {
  /** What it is, for the report of a leak. */
  readonly name: string;
  /** Its bytes: those of a text in UTF-8. */
  readonly bytes: Uint8Array;
}

/** A secret that is a text. */
export interface MarkedText extends MarkedSecret {
  readonly text: string;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** What encodings escape: those of JSON, URLs, HTML and a shell. All are allowed in an HTTP header. */
const ESCAPED = `"+/\\&<%='`;

/** Letters and digits that depend on the name alone. */
export function markedLetters(name: string, length: number = 24): string {
  let letters = "";
  for (let block = 0; letters.length < length; block += 1) {
    const bytes = createHash("sha256").update(`signpost ${name} ${block}`).digest();
    letters += Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("");
  }
  return letters.slice(0, length);
}

/** A secret of letters and digits. */
export function markedWord(name: string, length: number = 24): MarkedText {
  return markedAs(name, markedLetters(name, length));
}

/** A secret with every character that an encoding escapes, between letters and digits. */
export function markedText(name: string): MarkedText {
  const letters = markedLetters(name, 24 + ESCAPED.length);
  const middle = [...ESCAPED].map((character, at) => `${character}${letters[12 + at] ?? ""}`).join("");
  return markedAs(name, `${letters.slice(0, 12)}${middle}${letters.slice(12 + ESCAPED.length)}`);
}

/** This text as a secret to search for. */
export function markedAs(name: string, text: string): MarkedText {
  return { name, text, bytes: Buffer.from(text) };
}

/** A private P-256 key that depends on the name alone. What is searched for is its scalar. */
export interface MarkedKey extends MarkedSecret {
  readonly key: KeyObject;
  /** PKCS#8. */
  readonly pem: string;
  /** SEC1. */
  readonly sec1: string;
  readonly jwk: {
    readonly kty: "EC";
    readonly crv: "P-256";
    readonly x: string;
    readonly y: string;
    readonly d: string;
  };
}

/** The private key in DER of SEC1 (RFC 5915), without its public half. */
const SEC1_START = Buffer.from("30310201010420", "hex");
const SEC1_END = Buffer.from("a00a06082a8648ce3d030107", "hex");

export function markedKey(name: string): MarkedKey {
  const bytes = createHash("sha256").update(`signpost key ${name}`).digest();
  const der = Buffer.concat([SEC1_START, bytes, SEC1_END]);
  const key = createPrivateKey({ key: der, format: "der", type: "sec1" });
  const { x = "", y = "", d = "" } = key.export({ format: "jwk" });
  return {
    name,
    bytes,
    key,
    pem: key.export({ format: "pem", type: "pkcs8" }).toString(),
    sec1: key.export({ format: "pem", type: "sec1" }).toString(),
    jwk: { kty: "EC", crv: "P-256", x, y, d },
  };
}

/** A JWT, with a marked claim and a marked signature. No key made it. */
export interface MarkedJwt {
  readonly jwt: string;
  readonly secrets: readonly MarkedSecret[];
}

export function markedJwt(name: string, claims: object = {}, header: object = { alg: "RS256", typ: "JWT" }): MarkedJwt {
  const claim = markedWord(`claim of ${name}`);
  const signature = createHash("sha512").update(`signpost signature ${name}`).digest();
  const parts = [header, { ...claims, private_claim: claim.text }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return {
    jwt: `${parts.join(".")}.${signature.toString("base64url")}`,
    secrets: [claim, { name: `signature of ${name}`, bytes: signature }],
  };
}
