import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { certificateChains } from "../src/certificate-chains.ts";

const folder = mkdtempSync(join(tmpdir(), "signpost-chains-"));
const key = join(folder, "root.key");
execFileSync("openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key]);

afterAll(() => rmSync(folder, { recursive: true }));

/** A self-signed certificate in DER, always for the same key and name. */
function certificate(days: number, ...args: readonly string[]): Buffer {
  const make = ["req", "-x509", "-key", key, "-subj", "/CN=root", "-days", String(days), "-outform", "DER", ...args];
  return execFileSync("openssl", make, { stdio: ["ignore", "pipe", "pipe"] });
}

/** The values in the chains of a token that holds these values, for the leaves with this id. */
function chainsOf(values: readonly Uint8Array[], id?: number): readonly (readonly Buffer[])[] {
  const certificates = values.map((value, index) => ({ label: new Uint8Array(), id: Uint8Array.of(index), value }));
  const query = { object: undefined, id: id === undefined ? undefined : Uint8Array.of(id) };
  const chains = certificateChains({ certificates, keys: [] }, { query, publicKey: undefined }, Date.now());
  return chains.map((chain) => chain.map(({ object }) => Buffer.from(object.value)));
}

test("what a card has padded is the certificate alone", () => {
  const der = certificate(10);
  expect(chainsOf([Buffer.concat([der, Buffer.alloc(64)])])).toEqual([[der]]);
});

test("PEM, also inside of a certificate, is no certificate of the token", () => {
  const der = certificate(10);
  const pem = new X509Certificate(der).toString();
  const text = Buffer.from(`\n${pem}`);
  const element = Buffer.concat([Uint8Array.of(0x0c, 0x82, text.length >> 8, text.length & 0xff), text]);
  const around = certificate(10, "-addext", `1.2.3.4=DER:${element.toString("hex")}`);
  // That is what OpenSSL sees.
  expect(new X509Certificate(around).raw).toEqual(der);
  for (const value of [Buffer.from(pem), around]) expect(chainsOf([value])).toEqual([]);
});

test("a root that was renewed with its key ends the chain", () => {
  const [former, renewed] = [certificate(10), certificate(20)];
  expect(chainsOf([former, renewed], 0)).toEqual([[former]]);
  expect(chainsOf([former, renewed], 1)).toEqual([[renewed]]);
  expect(chainsOf([former, renewed])).toEqual([[renewed], [former]]);
});
