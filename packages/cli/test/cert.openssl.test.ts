import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { calculateJwkThumbprint } from "jose";
import { createCsr, selfSigned } from "@signpost/x509";
import { openLocalSigner } from "@signpost/local";
import { FIXED_CHAIN, FIXED_ROOT } from "./support/fixed-chain.ts";
import { frozenAt } from "./support/frozen-clock.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { runApp } from "./support/run-app.ts";
import { runCli } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

const { d: _private, ...jwk } = RFC_KEY;
let folder: KeyFolder;
let server: Server;
let origin: string;
let kid: string;

/** A chain for the key in op.pem that openssl issues: leaf.pem, issuing.pem, root.pem. */
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  for (const name of ["root", "issuing", "other"]) await folder.addKey(`${name}.key`);
  kid = await calculateJwkThumbprint(jwk);
  openssl("req", "-x509", "-key", "root.key", "-subj", "/CN=root", "-days", "400", "-out", "root.pem");
  await folder.write("ca.ext", "basicConstraints=critical,CA:true,pathlen:0\nkeyUsage=critical,keyCertSign");
  openssl("req", "-new", "-key", "issuing.key", "-subj", "/CN=issuing", "-out", "issuing.csr");
  issue("issuing", "root", 300, "ca.ext");
  const signer = await openLocalSigner({ privateKey: await readFile(join(folder.path, "op.pem"), "utf8") });
  const { pem } = await createCsr(signer, { subject: "CN=op.example" });
  await folder.write("leaf.csr", pem);
  await folder.write(
    "leaf.ext",
    "subjectAltName=URI:https://op.example,DNS:op.example\nkeyUsage=critical,digitalSignature",
  );
  issue("leaf", "issuing", 200, "leaf.ext");
  await folder.write("chain.pem", text("leaf.pem") + text("issuing.pem"));
  await folder.write("mixed.pem", text("root.pem") + text("issuing.pem") + text("leaf.pem"));
  server = createServer((request, response) => {
    if (request.url === "/jwks") response.end(JSON.stringify({ keys: [jwk, { ...jwk, kid: "sig", x5c: x5c() }] }));
    else if (request.url === "/chain.pem") response.end(text("chain.pem"));
    else response.writeHead(request.url === "/moved" ? 302 : 404, { location: "/chain.pem" }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  await folder[Symbol.asyncDispose]();
});

function openssl(...args: readonly string[]): string {
  return execFileSync("openssl", [...args], {
    cwd: folder.path,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function issue(name: string, issuer: string, days: number, extensions: string): void {
  const files = ["-in", `${name}.csr`, "-out", `${name}.pem`, "-extfile", extensions, "-days", String(days)];
  openssl("x509", "-req", "-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial", ...files);
}

function text(name: string): string {
  return execFileSync("cat", [join(folder.path, name)], { encoding: "utf8" });
}

function x5c(): readonly string[] {
  return ["leaf.pem", "issuing.pem"].map((name) => new X509Certificate(text(name)).raw.toString("base64"));
}

interface Report {
  readonly ok: boolean;
  readonly chains: readonly {
    readonly kid: string | null;
    readonly isTrusted: boolean | null;
    readonly certificates: readonly { readonly subject: string; readonly thumbprint: string; readonly pem: string }[];
    readonly findings: readonly { readonly check: string; readonly level: string; readonly text: string }[];
  }[];
}

async function inspect(...args: readonly string[]): Promise<{ code: number | null; report: Report; stderr: string }> {
  const { code, stdout, stderr } = await runApp(["cert", "inspect", ...args, "--json"], { cwd: folder.path });
  return { code, report: JSON.parse(stdout) as Report, stderr };
}

function findings({ chains }: Report): readonly string[] {
  return chains.flatMap((chain) => chain.findings.map(({ check, level }) => `${check} ${level}`));
}

test("the built program shows a good chain", async () => {
  const { code, stdout, stderr } = await runCli(["cert", "inspect", "chain.pem", "--trust", "root.pem"], {
    cwd: folder.path,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("CN=op.example  leaf");
  expect(stdout).toContain("CN=issuing  certificate 2");
  expect(stdout).toContain(`EC P-256, kid ${kid}`);
  expect(stdout).toContain("uri https://op.example, dns op.example");
  expect(stdout).toContain("authority, path length 0; keyCertSign");
  expect(stdout).toMatch(/✓ {2}order +leaf first, 2 certificates/);
  expect(stdout).toMatch(/✓ {2}trust +leads to a certificate that you trust/);
});

test("the picture of the guide: a chain that leads to a trusted root, with the key of a configuration", async () => {
  await using fixed = await createKeyFolder();
  await fixed.addRfcKey("op.pem");
  await fixed.write("chain.pem", FIXED_CHAIN);
  await fixed.write("root.pem", FIXED_ROOT);
  await fixed.write("signpost.config.json", {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-2026-07", signer: "local:op.pem" }],
  });
  const args = ["cert", "inspect", "chain.pem", "--trust", "root.pem", "--config", "signpost.config.json"];
  const env = frozenAt("2026-12-01T00:00:00Z");
  const { code } = await expectTranscript("cert-inspect", args, { cwd: fixed.path, env });
  expect(code).toBe(0);
});

test("JSON has the certificates in order, and what was found", async () => {
  const { code, report } = await inspect("chain.pem");
  expect(code).toBe(0);
  expect(report.ok).toBe(true);
  expect(report.chains[0]?.certificates.map(({ subject }) => subject)).toEqual(["CN=op.example", "CN=issuing"]);
  expect(report.chains[0]?.certificates[0]).toMatchObject({ thumbprint: kid, keyType: "EC P-256" });
  expect(report.chains[0]?.certificates[0]?.pem).toBe(text("leaf.pem"));
  expect(findings(report)).toEqual(["order ok", "validity ok", "path ok"]);
  expect(report.chains[0]?.isTrusted).toBeNull();
});

describe("what is wrong gives exit code 1", () => {
  test("a wrong order, and a root at the end", async () => {
    const { code, report } = await inspect("mixed.pem");
    expect(code).toBe(1);
    expect(findings(report)).toEqual(["order warning", "order note", "validity ok", "path ok"]);
    expect(report.chains[0]?.certificates.map(({ subject }) => subject)).toEqual([
      "CN=op.example",
      "CN=issuing",
      "CN=root",
    ]);
  });

  test("an expiry that is near", async () => {
    const { code, report } = await inspect("chain.pem", "--within", "250");
    expect(code).toBe(1);
    expect(findings(report)).toContain("validity warning");
  });

  test("a root that is not trusted", async () => {
    openssl("req", "-x509", "-key", "other.key", "-subj", "/CN=root", "-days", "9", "-out", "other.pem");
    const { code, report } = await inspect("chain.pem", "--trust", "other.pem");
    expect(code).toBe(1);
    expect(findings(report)).toContain("trust problem");
  });

  test("certificates that have nothing to do with the leaf, and an authority as the leaf", async () => {
    await folder.write("two.pem", text("leaf.pem") + text("other.pem"));
    expect(findings((await inspect("two.pem")).report)).toContain("order warning");
    const { code, report } = await inspect("root.pem");
    expect(code).toBe(1);
    expect(findings(report)).toContain("usage warning");
  });
});

test("a configuration says whose key the leaf has", async () => {
  await folder.write("own.json", {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-1", signer: `local:${folder.path}/op.pem` }],
  });
  const own = await inspect("chain.pem", "--config", "own.json");
  expect(own.code).toBe(0);
  expect(own.report.chains[0]?.findings).toContainEqual({
    check: "key",
    level: "ok",
    text: "the leaf has the key sig-1 of the configuration",
  });
  await folder.write("other.json", {
    issuer: "https://op.example",
    keys: [{ signer: `local:${folder.path}/other.key` }],
  });
  const other = await inspect("chain.pem", "--config", "other.json");
  expect(other.code).toBe(1);
  expect(findings(other.report)).toContain("key problem");
});

describe("sources", () => {
  test("a URL with PEM, and one with a key set, whose keys with x5c are compared with it", async () => {
    expect((await inspect(`${origin}/chain.pem`)).code).toBe(0);
    const { code, report } = await inspect(`${origin}/jwks`);
    expect(code).toBe(0);
    expect(report.chains.map((chain) => chain.kid)).toEqual(["sig"]);
    expect(findings(report)).toContain("key ok");
  });

  test("a JWK in a file whose x5c is that of another key", async () => {
    const other = new X509Certificate(text("root.pem")).raw.toString("base64");
    await folder.write("wrong.json", { ...jwk, kid: "sig", x5c: [other] });
    const { code, report } = await inspect("wrong.json");
    expect(code).toBe(1);
    expect(findings(report)).toContain("key problem");
  });

  test("DER in a file, and PEM on stdin", async () => {
    await writeFile(join(folder.path, "leaf.der"), new X509Certificate(text("leaf.pem")).raw);
    expect((await inspect("leaf.der")).code).toBe(0);
    const { code } = await runApp(["cert", "inspect", "-"], { cwd: folder.path, stdin: text("chain.pem") });
    expect(code).toBe(0);
  });

  test("DER with PEM in one of its texts is DER, and JSON of many levels is no key set", async () => {
    const pem = Buffer.from(`\n${text("leaf.pem")}`);
    const value = Buffer.concat([Uint8Array.of(0x0c, 0x82, pem.length >> 8, pem.length & 0xff), pem]);
    await using signer = await openLocalSigner();
    const { der } = await selfSigned(signer, {
      subject: "CN=issuing",
      extensions: { custom: [{ oid: "1.2.3.4", der: value }] },
    });
    await writeFile(join(folder.path, "forged.der"), der);
    expect((await inspect("forged.der")).report).toMatchObject({ error: { code: "invalid_configuration" } });
    await writeFile(join(folder.path, "deep.json"), `{"keys":${"[".repeat(100_000)}`);
    expect((await inspect("deep.json")).report).toMatchObject({ error: { code: "no_certificates" } });
  });

  test.each(["{}", '{"keys":{}}', '{"keys":"x5c"}', '{"keys":[]}', '{"keys":[null,7,{"kid":"a"}]}', '{"x5c":"a"}'])(
    "a key set without certificates: %s",
    async (text) => {
      await folder.write("none.json", text);
      const { code, report, stderr } = await inspect("none.json");
      expect(code).toBe(2);
      expect(report).toMatchObject({ error: { code: "no_certificates" } });
      expect(stderr).toContain("none.json: expected a JWK Set whose keys have x5c, or certificates");
    },
  );

  test("a trust anchor that has expired", async () => {
    await using root = await openLocalSigner({ privateKey: text("root.key") });
    const { pem } = await selfSigned(root, {
      subject: "CN=root",
      extensions: { basicConstraints: { ca: true } },
      notBefore: "2020-01-01T00:00:00Z",
      notAfter: "2021-01-01T00:00:00Z",
    });
    await folder.write("expired.pem", pem);
    const { code, report } = await inspect("chain.pem", "--trust", "expired.pem");
    expect(code).toBe(1);
    expect(report.chains[0]?.findings).toContainEqual(
      expect.objectContaining({
        level: "problem",
        text: expect.stringMatching(/^the trust anchor: it has expired/) as string,
      }),
    );
  });

  test.each([
    [["away.pem"], 2, "file_unreadable", "away.pem: cannot be read (ENOENT)"],
    [["op.pem"], 2, "invalid_configuration", "op.pem: certificates: expected 1 to 32 certificates, got 0"],
    [["leaf.csr"], 2, "invalid_configuration", "got a certificate request"],
    [["local:op.pem"], 2, "no_certificates", "Only a PKCS#11 token"],
    [["http://op.example/x"], 2, "url", "loopback"],
    [["https://user:secret@op.example/x"], 2, "url", "user name"],
    [["https:"], 2, "url", "The source is no URL"],
    [["https://[secret"], 2, "url", "The source is no URL"],
    [["own.json"], 2, "no_certificates", "x5c"],
    [["chain.pem", "--trust", "away.pem"], 2, "file_unreadable", "away.pem"],
    [["pkcs11:token=op?pin-value=1234"], 2, "pin_in_uri", "A PIN in a URI"],
  ])("%j is refused", async (args, exitCode, errorCode, words) => {
    const { code, report, stderr } = await inspect(...args);
    expect(code).toBe(exitCode);
    expect(report).toMatchObject({ error: { code: errorCode } });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/secret|1234/);
  });

  test.each([
    ["/moved", "it answered 302"],
    ["/away", "it answered 404"],
  ])("a host that answers %s with something else is away", async (path, words) => {
    const { code, stderr } = await inspect(`${origin}${path}`);
    expect(code).toBe(3);
    expect(stderr).toContain(words);
  });

  test("a host that does not answer is away", async () => {
    const { code, report } = await inspect("http://127.0.0.1:9/chain.pem");
    expect(code).toBe(3);
    expect(report).toMatchObject({ error: { code: "no_answer" } });
  });
});
