import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createJwksEndpoint,
  createKeySet,
  requestPath,
  rotationWindow,
  signJwt,
  SignerError,
  type GuardedSigner,
  type KeySet,
  type P256PublicJwk,
} from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import type { Settings } from "./settings.ts";

export interface RunningOp {
  readonly port: number;
  /** Accepts no new connections, lets running requests finish, then closes the key. */
  close(): Promise<void>;
}

/** Starts to listen after the key is open and has signed once, so no request waits for a cold start. */
export async function startOp(settings: Settings): Promise<RunningOp> {
  const [activeVersion, ...retiringVersions] = settings.keyVersions;
  if (activeVersion === undefined)
    throw new Error("KEY_VERSIONS is empty: expected the resource name of a key version");
  const retiring = await Promise.all(retiringVersions.map((version) => readPublicKey(version, settings)));
  const signer = await open(activeVersion, settings);
  try {
    const keys = createKeySet([{ signer }, ...retiring.map((publicKey) => ({ publicKey }))]);
    await signJwt(keys, { sub: "warm-up" });
    const server = createServer(createHandler(settings, keys, signer));
    server.listen(settings.port);
    await once(server, "listening");
    return { port: (server.address() as AddressInfo).port, close: () => stop(server, signer) };
  } catch (error) {
    await signer.close();
    throw error;
  }
}

function open(keyVersion: string, { kmsEndpoint }: Settings): Promise<GuardedSigner> {
  return openGcpKmsSigner({
    keyVersion,
    endpoint: kmsEndpoint,
    // Less than the timeout of the client that calls the token endpoint.
    policy: { deadlineMs: 3000, attemptTimeoutMs: 1000, concurrency: 64 },
    // A new version may still be PENDING_GENERATION.
    openDeadlineMs: 30_000,
  });
}

/** A retiring version no longer signs, so only its public key is kept. */
async function readPublicKey(keyVersion: string, settings: Settings): Promise<P256PublicJwk> {
  await using signer = await open(keyVersion, settings);
  return signer.publicKey;
}

function createHandler(settings: Settings, keys: KeySet, signer: GuardedSigner): RequestListener {
  const { issuer, rotationStartedAt } = settings;
  const jwks = createJwksEndpoint({
    issuer,
    keys,
    jwksRotationActive: rotationStartedAt === undefined ? null : rotationWindow({ startedAt: rotationStartedAt }),
  });
  // OpenID Connect Discovery 1.0 section 4: below the issuer's own path.
  const discoveryPath = `${new URL(issuer).pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let isOut = false;
  // An instance that is out gets no other request that would show that its key works again.
  const isReady = async (): Promise<boolean> => {
    isOut ||= signer.health().status === "down";
    if (isOut) isOut = !(await canSign(keys));
    return !isOut;
  };
  const routes: Readonly<Record<string, RequestListener>> = {
    [jwks.pathname]: jwks.listener,
    [discoveryPath]: (_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ issuer, ...jwks.metadata }));
    },
    // Put the OP's token endpoint here. This one has no clients and no codes.
    "/token": (_request, response) => {
      const claims = { iss: issuer, sub: "248289761001", aud: "rp", exp: Math.floor(Date.now() / 1000) + 300 };
      signJwt(keys, claims).then(
        (idToken) => {
          response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
          response.end(JSON.stringify({ id_token: idToken }));
        },
        (error: unknown) => {
          // 503 tells a client that it may try again.
          const status = error instanceof SignerError && error.transient ? 503 : 500;
          response.writeHead(status, { "Cache-Control": "no-store" }).end();
        },
      );
    },
    // For the startup and readiness probes. A key that cannot sign takes the instance out. An outage of KMS does not, since it
    // affects all instances.
    "/ready": (_request, response) => {
      void isReady().then((ready) => {
        const { status, since, lastCode } = signer.health();
        response.writeHead(ready ? 200 : 503, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ status, since, lastCode }));
      });
    },
  };
  return (request, response) => {
    // `new URL` would throw on targets such as `//`, which any client can send.
    const path = requestPath(request.url);
    const route = path === undefined ? undefined : routes[path];
    if (route === undefined) response.writeHead(404).end();
    else route(request, response);
  };
}

async function canSign(keys: KeySet): Promise<boolean> {
  return signJwt(keys, { sub: "readiness" }).then(
    () => true,
    () => false,
  );
}

async function stop(server: Server, signer: GuardedSigner): Promise<void> {
  const closed = once(server, "close");
  // A busy connection would stay open for as long as its client sends requests.
  server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
  server.close();
  server.closeIdleConnections();
  // Node does not count a connection without a request as idle, and would wait for it forever. Longer than a signature may take.
  setTimeout(() => server.closeAllConnections(), 5000).unref();
  await closed;
  await signer.close();
}
