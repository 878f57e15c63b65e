import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { spkiToJwk } from "../../src/encoding/spki.ts";
import { concat, expectEncodingError, hex, keyOfScalar, pemOf, spki } from "./support.ts";

const key = keyOfScalar(7_654_321);
const valid = spki(key.point);

describe("PEM", () => {
  const pem = pemOf(valid);
  const accepted: readonly (readonly [string, string])[] = [
    ["as node:crypto and openssl write it", pem],
    ["without a newline at the end", pem.trimEnd()],
    ["with CRLF", pemOf(valid, "PUBLIC KEY", "\r\n")],
    ["with white space around it", ` \n\t${pem}\n\n`],
    ["in one line of base64", pemOf(valid, "PUBLIC KEY", "\n", 400)],
    ["in lines of 76", pemOf(valid, "PUBLIC KEY", "\n", 76)],
  ];

  it.each(accepted)("is read %s", (_name, text) => {
    expect(spkiToJwk(text)).toEqual(key.jwk);
  });

  const body = Buffer.from(valid).toString("base64");
  const label = /^spki: expected exactly one PEM block labeled "PUBLIC KEY"$/;
  const base64 = /^spki: the PEM block is not padded base64$/;
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ["empty", "", label],
    ["no PEM", "hello", label],
    ["base64 alone", body, label],
    [
      "a private key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      label,
    ],
    ["a certificate's label", pemOf(valid, "CERTIFICATE"), label],
    ["an EC PUBLIC KEY", pemOf(valid, "EC PUBLIC KEY"), label],
    ["a lower-case label", pemOf(valid, "public key"), label],
    ["two blocks", pem + pem, base64],
    ["a private key behind it", pem + pemOf(valid, "PRIVATE KEY"), label],
    ["a private key between two blocks", pem + pemOf(valid, "PRIVATE KEY") + pem, base64],
    ["text in front", `my key\n${pem}`, label],
    ["text behind", `${pem}my key\n`, label],
    ["no end", pem.slice(0, -20), label],
    ["no beginning", pem.slice(20), label],
    ["boundaries that share their dashes", "-----BEGIN PUBLIC KEY-----END PUBLIC KEY-----", label],
    ["an empty block", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", base64],
    [
      "everything in one line",
      pem.replaceAll("\n", ""),
      /expected a line break after the BEGIN line and before the END line/,
    ],
    [
      "no newline after the first boundary",
      pem.replace("\n", ""),
      /expected a line break after the BEGIN line and before the END line/,
    ],
    [
      "no newline before the last boundary",
      pem.replace("\n-----END", "-----END"),
      /expected a line break after the BEGIN line and before the END line/,
    ],
    [
      "escaped newlines",
      pem.trim().replaceAll("\n", "\\n"),
      /expected a line break after the BEGIN line and before the END line/,
    ],
    ["a header", pem.replace("\n", "\nProc-Type: 4,ENCRYPTED\n\n"), base64],
    ["base64url", pem.replace(body.slice(0, 64), body.slice(0, 60).concat("-_-_")), base64],
    ["no padding", pem.replace("=", ""), base64],
    ["padding inside", pem.replace(body.slice(0, 4), "MA=="), base64],
    ["a blank inside a line", pem.replace(body.slice(0, 8), `${body.slice(0, 4)} ${body.slice(4, 8)}`), base64],
  ];

  it.each(refused)("is refused: %s", (_name, text, message) => {
    expectEncodingError(() => spkiToJwk(text), "invalid_spki", message);
  });

  it("is refused if the bits after the last byte are not zero", () => {
    const compressed = pemOf(spki(key.compressed));
    expect(spkiToJwk(compressed)).toEqual(key.jwk);
    const at = compressed.indexOf("=") - 1;
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const next = alphabet[alphabet.indexOf(compressed.charAt(at)) + 1] ?? "";
    expectEncodingError(
      () => spkiToJwk(compressed.slice(0, at) + next + compressed.slice(at + 1)),
      "invalid_spki",
      base64,
    );
  });

  it("holds DER under the same rules as bytes", () => {
    expectEncodingError(
      () => spkiToJwk(pemOf(concat(valid, hex("00")))),
      "invalid_spki",
      /there are bytes after the key/,
    );
    expectEncodingError(() => spkiToJwk(pemOf(spki(hex("00")))), "invalid_spki", /neither uncompressed/);
  });
});
