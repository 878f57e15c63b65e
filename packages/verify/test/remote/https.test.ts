import { createServer } from "node:https";
import { selfSignedCertificate } from "@signpost/test-backends/self-signed";
import { createPublicDispatcher, createRemoteKeySet } from "@signpost/verify";
import type { LookupLike } from "@signpost/verify";
import { jwtVerify } from "jose";
import { Agent } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { testKey } from "../support/keys.ts";

// Over real TLS: what every other test does over http on loopback.

const a = testKey("a");
const certificate = selfSignedCertificate("op.example");
const loopback: LookupLike = (_hostname, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]);

async function startTls(): Promise<number> {
  const server = createServer(certificate, (_request, response) => {
    response.writeHead(200, { "content-type": "application/jwk-set+json", "cache-control": "max-age=60" });
    response.end(JSON.stringify({ keys: [a.jwk] }));
  });
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

describe("over https", () => {
  it("a set is fetched through a dispatcher of the caller", async () => {
    const dispatcher = new Agent({ connect: { ca: certificate.cert, servername: "op.example" } });
    onTestFinished(() => dispatcher.close());
    const keySet = createRemoteKeySet(`https://127.0.0.1:${await startTls()}/jwks`, { dispatcher });
    await expect(jwtVerify(await a.token(), keySet)).resolves.toBeDefined();
  });

  it("a set is fetched through the dispatcher that judges addresses, which checks the name of the certificate", async () => {
    const port = await startTls();
    const open = (hostname: string, ca?: string | Uint8Array | readonly string[]): Promise<unknown> => {
      const dispatcher = createPublicDispatcher({ allowSubnets: ["127.0.0.0/8"], lookup: loopback, ca });
      onTestFinished(() => dispatcher.close());
      return createRemoteKeySet(`https://${hostname}:${port}/jwks`, { dispatcher })({ alg: "ES256", kid: "a" });
    };
    await expect(open("op.example", certificate.cert)).resolves.toBeDefined();
    await expect(open("op.example", [certificate.cert])).resolves.toBeDefined();
    await expect(open("op.example", new TextEncoder().encode(certificate.cert))).resolves.toBeDefined();
    await expect(open("evil.example", certificate.cert)).rejects.toMatchObject({
      code: "fetch_failed",
      cause: { cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } },
    });
    await expect(open("op.example")).rejects.toMatchObject({
      code: "fetch_failed",
      cause: { cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } },
    });
  });

  it("an address that is not public is refused before TLS begins", async () => {
    const port = await startTls();
    const dispatcher = createPublicDispatcher({ lookup: loopback, ca: certificate.cert });
    onTestFinished(() => dispatcher.close());
    const keySet = createRemoteKeySet(`https://op.example:${port}/jwks`, { dispatcher });
    await expect(keySet.preload()).rejects.toMatchObject({ code: "address_refused" });
  });
});
