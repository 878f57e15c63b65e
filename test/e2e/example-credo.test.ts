import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactVerify, decodeProtectedHeader } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { certificateOf } from "@signpost/test-backends/self-signed";
import { startExample } from "./support/example-program.ts";

test("examples/credo prints a credential that verifies with its certificate, or without one, a JWS", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signpost-credo-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  await writeFile(key, privateKey.export({ type: "pkcs8", format: "pem" }));
  await writeFile(certificate, certificateOf(publicKey, ["issuer.example"]));

  const other = join(folder, "other.pem");
  await writeFile(
    other,
    certificateOf(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey, ["issuer.example"]),
  );

  // All at once: most of their time is the start of the library.
  const envs = [
    { KEY: `local:${key}`, CERTIFICATE: certificate },
    { KEY: `local:${key}`, CERTIFICATE: "" },
    { KEY: `local:${key}`, CERTIFICATE: other },
  ];
  const programs = await Promise.all(envs.map((env) => startExample("credo", { env })));
  for (const program of programs) onTestFinished(() => program.remove());
  expect(await Promise.all(programs.map((program) => program.ended()))).toEqual([0, 0, 1]);
  const [credential = "", jws = "", refused = ""] = programs.map((program) => program.output().trim());

  expect(refused).toContain("CERTIFICATE is not that of the key");

  const [jwt = "", disclosure = ""] = credential.split("~");
  const { typ, x5c: [leaf = ""] = [] } = decodeProtectedHeader(jwt);
  const { publicKey: certified } = new X509Certificate(Buffer.from(leaf, "base64"));
  await compactVerify(jwt, certified);
  expect([typ, certified.equals(publicKey)]).toEqual(["dc+sd-jwt", true]);
  expect(JSON.parse(Buffer.from(disclosure, "base64url").toString())).toEqual([
    expect.any(String),
    "given_name",
    "Ada",
  ]);
  expect((await compactVerify(jws, publicKey)).protectedHeader).toEqual({ alg: "ES256", kid: expect.any(String) });
});
