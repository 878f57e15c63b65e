import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createJwksEndpoint, createLimiter, requestPath, signJwt, SignerError, type KeySet } from "@signpost/core";
import type { AzureKeyVaultKeysOptions } from "@signpost/azure-key-vault";
import { openLiveKeys, TOKEN_LIFETIME_SECONDS, type LiveKeys } from "./live-keys.ts";
import type { Settings } from "./settings.ts";

export interface RunningOp {
  readonly port: number;
  /** Accepts no new connections, lets running requests finish, then closes the keys. */
  close(): Promise<void>;
}

/** Starts to listen after the keys are open and one has signed, so no request waits for a cold start. */
export async function startOp(
  settings: Settings,
  credential: AzureKeyVaultKeysOptions["credential"],
): Promise<RunningOp> {
  const { key, signaturesPerSecond, refreshMs } = settings;
  // The quota of the vault, divided by the replicas.
  const rate = { permits: 10 * signaturesPerSecond, perSeconds: 10 };
  const limiter = createLimiter({ concurrency: 64, rate, maxQueue: 1000 });
  // Less than the timeout of the client that calls the token endpoint.
  const policy = { deadlineMs: 3000, attemptTimeoutMs: 1000, limiter };
  const keys = await openLiveKeys({ key, credential, policy, openDeadlineMs: 30_000 }, refreshMs);
  try {
    await signJwt(() => keys.schedule().keySet(), { sub: "warm-up" });
    const server = createServer(createHandler(settings, keys));
    server.listen(settings.port);
    await once(server, "listening");
    return { port: (server.address() as AddressInfo).port, close: () => stop(server, keys) };
  } catch (error) {
    await keys.close();
    throw error;
  }
}

function createHandler({ issuer }: Settings, { schedule }: LiveKeys): RequestListener {
  const keySet = (): KeySet => schedule().keySet();
  const jwks = createJwksEndpoint({
    issuer,
    keys: keySet,
    jwksRotationActive: () => schedule().jwksRotationActive(),
  });
  // OpenID Connect Discovery 1.0 section 4: below the issuer's own path.
  const discoveryPath = `${new URL(issuer).pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;
  let isReady = true;
  // A replica that is out of service gets no other request that would show that its key works again.
  const checkReady = async (): Promise<boolean> => {
    if (!isReady) isReady = await canSign(keySet);
    return isReady;
  };
  const routes: Readonly<Record<string, RequestListener>> = {
    [jwks.pathname]: jwks.listener,
    [discoveryPath]: (_request, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ issuer, ...jwks.metadata }));
    },
    // Put the OP's token endpoint here. This one has no clients and no codes.
    "/token": (_request, response) => {
      const exp = Math.floor(Date.now() / 1000) + TOKEN_LIFETIME_SECONDS;
      signJwt(keySet, { iss: issuer, sub: "248289761001", aud: "rp", exp }).then(
        (idToken) => {
          isReady = true;
          response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
          response.end(JSON.stringify({ id_token: idToken }));
        },
        (error: unknown) => {
          // 503 tells a client that it may try again. An outage of the vault does not take the replica out, since it affects all.
          isReady = error instanceof SignerError && error.transient;
          response.writeHead(isReady ? 503 : 500, { "Cache-Control": "no-store" }).end();
        },
      );
    },
    "/ready": (_request, response) => {
      void checkReady().then((ready) => response.writeHead(ready ? 200 : 503).end());
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

async function canSign(keys: () => KeySet): Promise<boolean> {
  return signJwt(keys, { sub: "warm-up" }).then(
    () => true,
    () => false,
  );
}

async function stop(server: Server, keys: LiveKeys): Promise<void> {
  const closed = once(server, "close");
  // A busy connection would stay open for as long as its client sends requests.
  server.prependListener("request", (_request, response) => void response.setHeader("Connection", "close"));
  server.close();
  server.closeIdleConnections();
  // Longer than a signature may take.
  setTimeout(() => server.closeAllConnections(), 5000).unref();
  await closed;
  await keys.close();
}
