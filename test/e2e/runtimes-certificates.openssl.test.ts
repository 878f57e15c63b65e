import { createPublicKey } from "node:crypto";
import { describe, expect, test } from "vitest";
import { openLocalSigner } from "@signpost/local";
import { createCsr, selfSigned } from "@signpost/x509";
import { certificateProblems } from "../../scripts/gates/runtimes/certificates.mjs";

// What the gate of the runtimes notices about certificates. That they are made there is the gate itself.

describe("the certificates", async () => {
  const names = {
    subject: "CN=op.example,O=Example,C=DE",
    subjectAltNames: [{ dns: "op.example" }, { uri: "https://op.example" }, { ip: "2001:db8::1" }],
  };
  const [ours, other] = [await openLocalSigner(), await openLocalSigner()];
  const publicKeys = [createPublicKey({ key: { ...ours.publicKey }, format: "jwk" })];
  const request = (await createCsr(ours, names)).pem;
  const certificate = (await selfSigned(ours, names)).pem;
  const { pem: unnamed } = await createCsr(ours, { ...names, subjectAltNames: [] });

  test("are right", () => {
    expect(certificateProblems({ request, certificate }, publicKeys)).toEqual([]);
  });

  test.each([
    ["the request is for another key", { request: (await createCsr(other, names)).pem }, /for another key/],
    ["the request has no names", { request: unnamed }, /the request has other names/],
    ["the request is none", { request: "none" }, /does not verify the request/],
    ["the certificate is for another key", { certificate: (await selfSigned(other, names)).pem }, /does not verify/],
    [
      "the certificate has another name",
      { certificate: (await selfSigned(ours, { ...names, subject: "CN=other" })).pem },
      /the certificate has other names/,
    ],
  ])("are refused if %s", (_what, change, problem) => {
    expect(certificateProblems({ request, certificate, ...change }, publicKeys)[0]).toMatch(problem);
  });
});
