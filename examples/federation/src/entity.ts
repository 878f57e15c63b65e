import { createPublicKey, type JsonWebKeyInput, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import {
  createEntityConfiguration,
  createEntityStatement,
  fetchEntityConfiguration,
  type VerifyCallback,
} from "@openid-federation/core";
import { createInputSigner, type KeySetSource, SignpostError } from "@signpost/core";
import { federationKeys, statementHeader, statementSigner } from "./statements.ts";

export interface EntitySettings {
  /** The address of this entity, which is its name too. */
  readonly url: string;
  readonly port: number;
  readonly keys: KeySetSource;
  /** The entities above this one. Empty for a trust anchor. */
  readonly superiors: readonly string[];
  /** The entities that this one vouches for. */
  readonly subordinates: readonly string[];
}

export interface RunningEntity {
  close(): Promise<void>;
}

const LIFETIME_SECONDS = 3600;
const FETCH_MILLISECONDS = 5000;

/** Serves the entity configuration, and the statements about subordinates (OpenID Federation 1.0 sections 9 and 8.1). */
export async function startEntity(settings: EntitySettings): Promise<RunningEntity> {
  const { url, port, keys, superiors, subordinates } = settings;
  const own = createInputSigner(keys);
  const signJwtCallback = statementSigner(own);
  // In seconds, as a number: the library would write a Date as text.
  const times = (): { iat: number; exp: number } => {
    const iat = Math.floor(Date.now() / 1000);
    return { iat, exp: iat + LIFETIME_SECONDS };
  };

  const configuration = (): Promise<string> =>
    createEntityConfiguration({
      header: statementHeader(own),
      claims: {
        iss: url,
        sub: url,
        ...times(),
        jwks: federationKeys(keys),
        metadata: {
          federation_entity: {
            organization_name: "Example",
            ...(subordinates.length === 0 ? {} : { federation_fetch_endpoint: `${url}/fetch` }),
          },
        },
        ...(superiors.length === 0 ? {} : { authority_hints: [...superiors] }),
      },
      signJwtCallback,
    });

  const stopping = new AbortController();
  /** A subordinate may never answer. That must not hold the process when it ends. */
  const fetchCallback: typeof fetch = (address, init) =>
    fetch(address, { ...init, signal: AbortSignal.any([stopping.signal, AbortSignal.timeout(FETCH_MILLISECONDS)]) });

  /** A real superior has checked and stored the keys of its subordinates. This one believes what they publish. */
  const statement = async (sub: string): Promise<string> => {
    const verifyJwtCallback = verifyStatement;
    const { jwks } = await fetchEntityConfiguration({ entityId: sub, verifyJwtCallback, fetchCallback });
    const { keyId: kid, publicKey } = own.key();
    const claims = { iss: url, sub, ...times(), jwks };
    return createEntityStatement({
      header: statementHeader(own),
      claims,
      jwk: { ...publicKey, kid },
      signJwtCallback,
    });
  };

  const server = createServer((request, response) => {
    const [path, query] = request.url?.split("?", 2) ?? [];
    const sub = new URLSearchParams(query).get("sub") ?? "";
    if (path === "/.well-known/openid-federation") void answer(response, configuration);
    else if (path === "/fetch" && subordinates.includes(sub)) void answer(response, () => statement(sub));
    else response.writeHead(404).end();
  }).listen(port);
  await once(server, "listening");
  return {
    close: async () => {
      const closed = once(server, "close");
      server.close();
      stopping.abort();
      server.closeIdleConnections();
      // Node does not count a connection without a request as idle, and would wait for it forever.
      setTimeout(() => server.closeAllConnections(), 5000).unref();
      await closed;
    },
  };
}

/** ES256, with a key of the entity that has signed. */
const verifyStatement: VerifyCallback = async ({ header, data, signature, jwk }) => {
  const key = createPublicKey({ key: { ...jwk } as JsonWebKeyInput["key"], format: "jwk" });
  return header["alg"] === "ES256" && verify("sha256", data, { key, dsaEncoding: "ieee-p1363" }, signature);
};

async function answer(response: ServerResponse, make: () => Promise<string>): Promise<void> {
  try {
    const jwt = await make();
    response.writeHead(200, { "Content-Type": "application/entity-statement+jwt" }).end(jwt);
  } catch (error) {
    console.error(error instanceof SignpostError ? `${error.name} ${error.code}: ${error.message}` : error);
    response.writeHead(503, { "Content-Type": "application/json" }).end('{"error":"temporarily_unavailable"}');
  }
}
