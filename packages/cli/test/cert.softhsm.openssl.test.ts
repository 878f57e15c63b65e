import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSoftHsm, type SoftHsm } from "@signpost/test-backends/softhsm";
import { runCli } from "./support/run-cli.ts";

let hsm: SoftHsm;
let uri: string;

beforeAll(async () => {
  hsm = await startSoftHsm();
  await hsm.generateKey({ label: "sig", id: "01" });
  await writeFile(join(hsm.directory, "pin"), hsm.pin, { mode: 0o600 });
  uri = `pkcs11:token=${hsm.tokenLabel};object=sig?module-path=${hsm.module}`;
});

afterAll(() => hsm.stop());

function run(...args: readonly string[]): ReturnType<typeof runCli> {
  return runCli(args, { cwd: hsm.directory, env: { SOFTHSM2_CONF: hsm.conf } });
}

test("a key in a token signs its request, and its certificate is found in the token without a PIN", async () => {
  const none = await run("cert", "inspect", uri);
  expect(none.code).toBe(1);
  expect(none.stderr).toContain("The token shows no certificate for this key");

  const made = await run(
    "csr",
    `${uri}&pin-source=file:${hsm.directory}/pin`,
    "--subject",
    "CN=op.example",
    "--out",
    "op.csr",
  );
  expect(made).toMatchObject({ code: 0, stderr: "✓ wrote op.csr\n" });
  const openssl = (...args: readonly string[]): string =>
    execFileSync("openssl", [...args], { cwd: hsm.directory, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  openssl(
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    "ca.key",
    "-subj",
    "/CN=ca",
    "-days",
    "99",
    "-out",
    "ca.pem",
  );
  openssl(
    "x509",
    "-req",
    "-in",
    "op.csr",
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "90",
    "-outform",
    "DER",
    "-out",
    "op.der",
  );
  await hsm.pkcs11Tool(
    "--write-object",
    join(hsm.directory, "op.der"),
    "--type",
    "cert",
    "--label",
    "sig",
    "--id",
    "01",
  );

  const found = await run("cert", "inspect", uri, "--trust", "ca.pem", "--json");
  expect(found).toMatchObject({ code: 0, stderr: "" });
  const { chains } = JSON.parse(found.stdout) as {
    chains: readonly { certificates: readonly { subject: string }[] }[];
  };
  expect(chains.map(({ certificates }) => certificates.map(({ subject }) => subject))).toEqual([["CN=op.example"]]);
  expect(found.stdout + made.stdout).not.toContain(hsm.pin);
});
