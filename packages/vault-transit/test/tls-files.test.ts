import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { hasTlsFiles, readTlsFiles, requireUsable, type TlsMaterial } from "../src/tls-files.ts";

const { cert, key } = selfSignedCertificate("localhost");
const other = selfSignedCertificate("localhost");
const BROKEN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

describe("files for TLS are used", () => {
  test.each<[what: string, material: TlsMaterial]>([
    ["none", {}],
    ["authorities", { ca: cert }],
    ["a certificate and its key", { cert, key }],
    ["all of them", { ca: cert, cert, key }],
  ])("%s", (_what, material) => {
    expect(() => requireUsable(material)).not.toThrow();
  });

  test.each<[what: string, material: TlsMaterial, argument: string, message: RegExp]>([
    [
      "authorities that cannot be read",
      { ca: BROKEN },
      "tls.caFile",
      /VAULT_CACERT or BAO_CACERT, with certificates \(/,
    ],
    [
      "a certificate that cannot be read",
      { cert: BROKEN, key },
      "tls.certFile",
      /expected a certificate in PEM \(ERR_OSSL/,
    ],
    [
      "the key of another certificate",
      { cert, key: other.key },
      "tls.keyFile",
      /expected the unencrypted private key of the/,
    ],
    ["a key that cannot be read", { cert, key: BROKEN }, "tls.keyFile", /expected the unencrypted private key/],
  ])("but not %s", (_what, material, argument, message) => {
    expect(() => requireUsable(material)).toThrow(
      expect.objectContaining({
        name: "ConfigurationError",
        argument,
        message: expect.stringMatching(message) as string,
      }),
    );
    expect(() => requireUsable(material)).not.toThrow(/AAAA/);
  });

  test("if there are any", () => {
    expect([{}, { serverName: "a" }, { keyFile: "k" }, { caFile: "c" }, { certFile: "c" }].map(hasTlsFiles)).toEqual([
      false,
      false,
      false,
      true,
      true,
    ]);
  });
});

describe("a file for TLS", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "signpost-vault-tls-"));
    await writeFile(join(folder, "cert.pem"), cert);
    await writeFile(join(folder, "key.pem"), key);
    await writeFile(join(folder, "text"), "hello");
  });
  afterAll(() => rm(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);

  test("is read where it is given", async () => {
    const files = { caFile: at("cert.pem"), certFile: at("cert.pem"), keyFile: at("key.pem") };
    expect(await readTlsFiles(files)).toEqual({ ca: cert, cert, key });
    expect(await readTlsFiles({})).toEqual({});
    expect(await readTlsFiles({ caFile: at("cert.pem") })).toEqual({ ca: cert });
  });

  test("is read without a byte order mark, after which TLS would skip the first certificate", async () => {
    await writeFile(at("mark.pem"), `\uFEFF${cert}${other.cert}`);
    await writeFile(at("mark-key.pem"), `\uFEFF${key}`);
    const files = { caFile: at("mark.pem"), certFile: at("mark.pem"), keyFile: at("mark-key.pem") };
    const both = `${cert}${other.cert}`;
    expect(await readTlsFiles(files)).toEqual({ ca: both, cert: both, key });
  });

  test.each(["caFile", "certFile", "keyFile"] as const)("is named if it is wrong: %s", async (name) => {
    const argument = `tls.${name}`;
    const variable = { caFile: "CACERT", certFile: "CLIENT_CERT", keyFile: "CLIENT_KEY" }[name];
    const expected = `expected a PEM file, here or in VAULT_${variable} or BAO_${variable},`;
    await expect(readTlsFiles({ [name]: at("missing") })).rejects.toMatchObject({
      argument,
      message: `${argument}: ${expected} but it cannot be read: ENOENT`,
    });
    await expect(readTlsFiles({ [name]: at("text") })).rejects.toMatchObject({
      argument,
      message: `${argument}: ${expected} with certificates or a key`,
    });
    await expect(readTlsFiles({ [name]: folder })).rejects.toMatchObject({
      argument,
      message: expect.stringContaining("expected a regular file") as string,
    });
  });
});
