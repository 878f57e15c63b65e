import type { Server } from "node:http";
import { createServer } from "node:http";
import type { KeySet } from "@signpost/core";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";

/** The server's answer instead of the endpoint's. */
export type Misbehaviour =
  | { readonly status: number }
  | { readonly body: string | Uint8Array; readonly contentType?: string | undefined }
  | { readonly down: true };

/** An OP on loopback whose JWKS comes from our real endpoint, counted. */
export interface Op {
  readonly issuer: string;
  readonly jwksUri: string;
  readonly audience: string;
  /** Requests for the set since the last call of `forget`. */
  requests(): number;
  forget(): void;
  /** A token that is valid for a day, typed `at+jwt`, by the active key. */
  token(): Promise<string>;
  /** The same with a header that names a missing key. */
  tokenWithKid(kid: string): Promise<string>;
  /** A new key signs from now on; the old one stays published. */
  rotate(): Promise<void>;
  /** A new key signs from now on; the old one is no longer published. */
  revoke(): Promise<void>;
  /** The published set, to build a hostile one around it. */
  publishedKeys(): readonly unknown[];
  misbehave(how: Misbehaviour | undefined): void;
  stop(): Promise<void>;
}

const AUDIENCE = "https://api.example";
const DAY_SECONDS = 86_400;

export async function startOp(): Promise<Op> {
  let keySet: KeySet = createKeySet([{ signer: await openLocalSigner() }]);
  let misbehaviour: Misbehaviour | undefined;
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (misbehaviour === undefined) {
      endpoint.listener(request, response);
    } else if ("down" in misbehaviour) {
      request.socket.destroy();
    } else if ("status" in misbehaviour) {
      response.writeHead(misbehaviour.status).end();
    } else {
      const { body, contentType = "application/jwk-set+json" } = misbehaviour;
      response.writeHead(200, { "content-type": contentType, "cache-control": "public, max-age=3600" }).end(body);
    }
  });
  const issuer = await listen(server);
  const endpoint = createJwksEndpoint({ issuer, keys: () => keySet });
  const sign = (): Promise<string> => {
    const exp = Math.floor(Date.now() / 1000) + DAY_SECONDS;
    const claims = { iss: issuer, aud: AUDIENCE, sub: "248289", client_id: "rp", jti: "1", exp };
    return signJwt(() => keySet, claims, { typ: "at+jwt" });
  };

  return {
    issuer,
    jwksUri: endpoint.jwksUri,
    audience: AUDIENCE,
    requests: () => requests,
    forget: () => {
      requests = 0;
    },
    token: sign,
    async tokenWithKid(kid) {
      const [, payload, signature] = (await sign()).split(".");
      const header = Buffer.from(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid })).toString("base64url");
      return `${header}.${payload}.${signature}`;
    },
    async rotate() {
      const { active } = keySet;
      keySet = createKeySet([{ signer: await openLocalSigner() }, { keyId: active.keyId, signer: active.signer }]);
    },
    async revoke() {
      keySet = createKeySet([{ signer: await openLocalSigner() }]);
    },
    publishedKeys() {
      const { body } = endpoint.respond("GET");
      const document = JSON.parse(Buffer.from(body ?? []).toString()) as { keys: unknown[] };
      return document.keys;
    },
    misbehave: (how) => {
      misbehaviour = how;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((closed) => {
        server.close(() => closed());
      });
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return `http://127.0.0.1:${address.port}`;
}
