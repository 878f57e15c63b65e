import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startFakeAzureKeyVault, type FakeAzureKeyVault } from "@signpost/test-backends/fake-azure-key-vault";
import { calculateJwkThumbprint, importJWK, jwtVerify, type JWK } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectMeasured } from "./support/bench-report.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";

let vault: FakeAzureKeyVault;
let folder: KeyFolder;
let uri: string;

beforeAll(async () => {
  [vault, folder] = await Promise.all([startFakeAzureKeyVault(), createKeyFolder()]);
  uri = `azurekms:///127.0.0.1:${vault.port}/keys/op`;
  const token = await vault.entra.credential.getToken(["https://127.0.0.1/.default"]);
  const config = `export default {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-2026", signer: ${JSON.stringify(uri)} }],
    adapters: {
      azurekms: {
        credential: () => ${JSON.stringify(token?.token)},
        tls: { caFile: ${JSON.stringify(vault.caFile)} },
      },
    },
  };`;
  await writeFile(join(folder.path, "signpost.config.mjs"), config);
});
afterAll(async () => {
  await vault.stop();
  await folder[Symbol.asyncDispose]();
});

const cli = (args: readonly string[], stdin = ""): Promise<CliResult> => runCli(args, { cwd: folder.path, stdin });

test("jwks prints the key set of a key in Azure Key Vault", async () => {
  const { code, stdout, stderr } = await cli(["jwks"]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(JSON.parse(stdout).keys).toEqual([expect.objectContaining({ kid: "sig-2026", alg: "ES256" })]);
});

test("kid prints its thumbprint, and the version that the URI resolved to", async () => {
  const { code, stdout } = await cli(["kid", uri, "--config", "signpost.config.mjs", "--json"]);
  const [key] = JSON.parse((await cli(["jwks"])).stdout).keys as JWK[];
  expect(code).toBe(0);
  expect(stdout).toContain(await calculateJwkThumbprint(key ?? {}));
  expect(stdout).toContain(vault.key.latest.version);
});

test("sign makes a token that verifies with the published key", async () => {
  const { stdout } = await cli(["sign"], JSON.stringify({ sub: "u" }));
  const [key] = JSON.parse((await cli(["jwks"])).stdout).keys as JWK[];
  const { payload, protectedHeader } = await jwtVerify(stdout.trim(), await importJWK(key ?? {}, "ES256"));
  expect(payload["sub"]).toBe("u");
  expect(protectedHeader.kid).toBe("sig-2026");
});

test("doctor signs a probe, and says which key is not found", async () => {
  const found = await cli(["doctor", "--samples", "0", "--json"]);
  expect(JSON.parse(found.stdout).keys[0].findings).toEqual(
    expect.arrayContaining([expect.objectContaining({ check: "probe", level: "ok" })]),
  );
  const gone = await cli(["doctor", `${uri}-gone`, "--config", "signpost.config.mjs", "--samples", "0"]);
  expect(gone.code).toBe(1);
  expect(gone.stdout + gone.stderr).toContain("op-gone");
});

test("bench measures the key against bare HTTP calls, which sign no token either", async () => {
  vault.forgetRequests();
  const flags = ["--raw", "--calls", "5", "--concurrency", "1,2", "--json", "--yes", "--config", "signpost.config.mjs"];
  const { code, stdout, stderr } = await cli(["bench", uri, ...flags]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "Azure Key Vault bills up to 28 calls\n" });
  expectMeasured(stdout, { name: "bare HTTP", calls: 5 });
  // One to read the key, and what was said; a challenge has no token and costs nothing.
  expect(vault.requests.filter(({ token }) => token !== undefined)).toHaveLength(28);
});
