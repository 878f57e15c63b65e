import { randomUUID } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import { createJwksEndpoint, requestPath, signJwt, type KeySet } from "@signpost/core";

export interface Op {
  readonly issuer: string;
  readonly jwksUri: string;
  issueTokens(): Promise<Tokens>;
  /** The number of requests for the key set. */
  jwksRequests(): number;
  stop(): Promise<void>;
}

export interface Tokens {
  readonly idToken: string;
  readonly accessToken: string;
}

export interface OpOptions {
  readonly keys: () => KeySet;
  readonly jwksRotationActive: () => boolean;
}

export const CLIENT_ID = "demo-rp";
export const API = "https://api.example";
export const TOKEN_LIFETIME_SECONDS = 300;

/** Only the parts of an OpenID Provider that concern its keys. A real one also has a login, a token endpoint and so on. */
export async function startOp({ keys, jwksRotationActive }: OpOptions): Promise<Op> {
  const server = createServer();
  const issuer = `http://127.0.0.1:${await listen(server)}`;
  const jwks = createJwksEndpoint({ issuer, keys, jwksRotationActive });
  const discovery = {
    issuer,
    ...jwks.metadata,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
  };

  let jwksRequests = 0;
  const issueTokens = async (): Promise<Tokens> => {
    const [idToken, accessToken] = await Promise.all([signIdToken(keys, issuer), signAccessToken(keys, issuer)]);
    return { idToken, accessToken };
  };
  server.on("request", (req, res) => {
    const path = requestPath(req.url);
    if (jwks.matches(req.url)) {
      jwksRequests += 1;
      jwks.listener(req, res);
    } else if (path === "/.well-known/openid-configuration") sendJson(res, discovery);
    else if (path === "/demo/tokens") issueTokens().then((tokens) => sendJson(res, tokens), failWith(res));
    else res.writeHead(404).end();
  });
  return { issuer, jwksUri: jwks.jwksUri, issueTokens, jwksRequests: () => jwksRequests, stop: () => close(server) };
}

/** OpenID Connect Core 1.0 section 2. */
function signIdToken(keys: () => KeySet, issuer: string): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + TOKEN_LIFETIME_SECONDS;
  return signJwt(keys, { iss: issuer, sub: "248289761001", aud: CLIENT_ID, exp, nonce: randomUUID() });
}

/** RFC 9068 section 2. */
function signAccessToken(keys: () => KeySet, issuer: string): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + TOKEN_LIFETIME_SECONDS;
  const claims = { iss: issuer, sub: "248289761001", aud: API, client_id: CLIENT_ID, exp, jti: randomUUID() };
  return signJwt(keys, claims, { typ: "at+jwt" });
}

function listen(server: Server): Promise<number> {
  return new Promise((listening, failed) => {
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (typeof address === "object" && address !== null) listening(address.port);
    });
  });
}

function sendJson(res: ServerResponse, body: object): void {
  res.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

function failWith(res: ServerResponse): (error: unknown) => void {
  return (error) => {
    console.error("could not sign the tokens:", error);
    res.writeHead(500).end();
  };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  server.closeAllConnections();
  await closed;
}
