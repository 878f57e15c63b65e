import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createKeySet, type KeySet, type KeySetSource, signJws, signJwt } from "@signpost/core";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { failure } from "../support/failure.ts";
import { type ScriptedSigner, scriptedSigner } from "../support/scripted-signer.ts";

// A verifier takes the key from `x5c` and `jwk` of a header (RFC 7515 sections 4.1.3 and 4.1.6).

type Header = Readonly<Record<string, unknown>>;
const [own, other] = [scriptedSigner(), scriptedSigner()];
const setOf = ({ signer }: ScriptedSigner): KeySet => createKeySet([{ keyId: "own", signer }]);
const x5cOf = ({ publicKey }: ScriptedSigner): readonly string[] => [
  new X509Certificate(certificateOf(publicKey, ["issuer.example"])).raw.toString("base64"),
];

describe.each<[string, (keys: KeySetSource, header: Header) => Promise<string>]>([
  ["signJws", (keys, header) => signJws(keys, "text", { header })],
  ["signJwt", (keys, header) => signJwt(keys, {}, { header })],
])("%s", (_name, sign) => {
  test("takes the public key that signs, and its certificate", async () => {
    const token = await sign(setOf(own), { jwk: own.signer.publicKey, x5c: x5cOf(own) });
    expect(token.split(".")).toHaveLength(3);
  });

  test.each<[string, () => Header, string]>([
    ["the public key of another one", () => ({ jwk: other.signer.publicKey }), "header.jwk"],
    ["a private member", () => ({ jwk: { ...own.signer.publicKey, d: "secret" } }), "header.jwk"],
    ["the certificate of another key", () => ({ x5c: x5cOf(other) }), "header.x5c"],
    ["a text in place of certificates", () => ({ x5c: "secret" }), "header.x5c"],
  ])("refuses %s, and signs nothing", async (_what, headerOf, argument) => {
    const before = own.calls.length;
    const error = await failure(sign(setOf(own), headerOf()));
    expect(error).toMatchObject({ name: "ConfigurationError", argument });
    expect(String(error)).not.toContain("secret");
    expect(own.calls).toHaveLength(before);
  });
});

test("a token with the public key of a key that was withdrawn while it signed is not signed by the next one", async () => {
  let current = setOf(own);
  const revoked = scriptedSigner((call) => {
    current = createKeySet([{ keyId: "next", signer: other.signer }]);
    return call.sign();
  });
  current = createKeySet([{ keyId: "first", signer: revoked.signer }]);
  const signed = signJws(() => current, "text", { header: { jwk: revoked.signer.publicKey } });
  expect(await failure(signed)).toMatchObject({ argument: "header.jwk" });
});
