import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";
import { jsonAnswer, rawServer } from "../support/raw-server.ts";

const PROGRAM = fileURLToPath(new URL("../support/fetch-set.mjs", import.meta.url));
const JWKS = JSON.stringify({ keys: [testKey("a").jwk] });
const certificate = selfSignedCertificate("localhost");

/** What a fresh process prints that fetches the set. It must end without help. */
async function fetched(url: string, { args = [], env = {} }: { args?: string[]; env?: object } = {}): Promise<string> {
  const { NODE_EXTRA_CA_CERTS: _certs, NODE_USE_ENV_PROXY: _proxy, ...inherited } = process.env;
  const options = { env: { ...inherited, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, url, ...args], options);
  return stdout.trim();
}

describe("a fresh process with a remote set", () => {
  it.each([[[]], [["after-fetch"]]])(
    "fetches it over node:http, and ends while the connection is idle %j",
    async (args) => {
      const server = await rawServer(() => [jsonAnswer(JWKS)]);
      expect(await fetched(`http://127.0.0.1:${server.port}/jwks`, { args })).toBe("ok");
      // undici calls itself "undici".
      expect(server.requests[0]).toContain("user-agent: signpost\r\n");
    },
  );

  it.each<[string, string, boolean, string]>([
    ["trusts what NODE_EXTRA_CA_CERTS names", "localhost", true, "ok"],
    ["refuses a certificate that it does not trust", "localhost", false, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["refuses a certificate of another host", "127.0.0.1", true, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ])("%s", async (_name, host, isTrusted, outcome) => {
    const folder = await mkdtemp(join(tmpdir(), "signpost-verify-tls-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "ca.pem");
    await writeFile(file, certificate.cert);
    const server = createServer(certificate, (_request, response) => {
      response.writeHead(200, { "content-type": "application/jwk-set+json" }).end(JWKS);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const env = isTrusted ? { NODE_EXTRA_CA_CERTS: file } : {};
    expect(await fetched(`https://${host}:${port}/jwks`, { env })).toBe(outcome);
  });
});
