import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createJwksEndpoint, type Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { SignJWT, type JWTPayload } from "jose";

/** An OP that publishes one key, whose tokens are signed by jose. */
export interface Issuer extends AsyncDisposable {
  readonly issuer: string;
  readonly jwksUri: string;
  readonly kid: string;
  readonly privateKeyPem: string;
  /** A token with these claims instead of, or after, those of a valid ID token. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>, key?: KeyObject): Promise<string>;
}

export async function startIssuer(): Promise<Issuer> {
  const kid = "sig-2026-07";
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const signer: Signer = await openLocalSigner({ privateKey });
  const server = createServer((req, res) => {
    if (endpoint.matches(req.url)) return endpoint.listener(req, res);
    if (req.url !== "/.well-known/openid-configuration") return res.writeHead(404).end();
    res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ issuer, ...endpoint.metadata }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoint = createJwksEndpoint({ issuer, keys: [{ keyId: kid, signer }] });
  return {
    issuer,
    jwksUri: endpoint.jwksUri,
    kid,
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    token: (claims = {}, header = {}, key = privateKey) => {
      const now = Math.floor(Date.now() / 1000);
      // The rest of a minute keeps the words for these times the same while a test runs.
      const usual = { iss: issuer, sub: "user-1", aud: "client-1", iat: now - 3630, exp: now + 7230 };
      return new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: "ES256", kid, ...header }).sign(key);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await signer.close();
    },
  };
}
