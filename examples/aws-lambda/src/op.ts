import {
  createJwksEndpoint,
  createKeySet,
  rotationWindow,
  signJwt,
  SignerError,
  type GuardedSigner,
  type JwksEndpoint,
  type KeySet,
} from "@signpost/core";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import type { Settings } from "./settings.ts";

/** The parts that we use of an HTTP API's event, payload format 2.0. Header names are in lower case. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly requestContext: { readonly http: { readonly method: string } };
}

export interface HttpResult {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Op {
  handle(event: HttpEvent): Promise<HttpResult>;
  close(): Promise<void>;
}

/** Opens the key. Since its public key is configured, there is no network call until the first token. */
export async function openOp(settings: Settings): Promise<Op> {
  const signer = await openAwsKmsSigner({
    key: settings.keyArn,
    publicKey: settings.publicKey,
    endpoint: settings.kmsEndpoint,
    // Starts without loading the SDK: Lambda puts the credentials and the Region into the environment.
    transport: "https",
    // A function serves one request at a time, and must answer before API Gateway times out.
    policy: { deadlineMs: 3000, attemptTimeoutMs: 1000 },
  });
  const keys = createKeySet([{ signer }, ...settings.otherPublicKeys.map((publicKey) => ({ publicKey }))]);
  const { issuer, rotationStartedAt } = settings;
  const jwks = createJwksEndpoint({
    issuer,
    keys,
    jwksRotationActive: rotationStartedAt === undefined ? null : rotationWindow({ startedAt: rotationStartedAt }),
  });
  return { handle: (event) => route(event, { issuer, keys, jwks, signer }), close: () => signer.close() };
}

interface Parts {
  readonly issuer: string;
  readonly keys: KeySet;
  readonly jwks: JwksEndpoint;
  readonly signer: GuardedSigner;
}

async function route(event: HttpEvent, { issuer, keys, jwks, signer }: Parts): Promise<HttpResult> {
  switch (event.rawPath) {
    case jwks.pathname: {
      const { status, headers, body } = jwks.respond(event.requestContext.http.method, event.headers["if-none-match"]);
      // The body is JSON or plain text, so it needs no base64.
      return { statusCode: status, headers, ...(body !== null && { body: new TextDecoder().decode(body) }) };
    }
    case discoveryPath(issuer):
      return json(200, { issuer, ...jwks.metadata });
    // Put the OP's token endpoint here. This one has no clients and no codes.
    case "/token":
      return issueToken(issuer, keys);
    case "/health":
      return json(signer.health().status === "down" ? 503 : 200, signer.health());
    default:
      return json(404, { error: "not_found" });
  }
}

/** OpenID Connect Discovery 1.0 section 4: below the issuer's own path. */
function discoveryPath(issuer: string): string {
  return `${new URL(issuer).pathname.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

async function issueToken(issuer: string, keys: KeySet): Promise<HttpResult> {
  try {
    const claims = { iss: issuer, sub: "248289761001", aud: "rp", exp: Math.floor(Date.now() / 1000) + 300 };
    return json(200, { id_token: await signJwt(keys, claims) });
  } catch (error) {
    if (!(error instanceof SignerError)) throw error;
    // 503 tells a client that it may try again. The code is enough for the log, and contains no secret.
    console.error(JSON.stringify({ level: "ERROR", message: "no token", code: error.code }));
    return json(error.transient ? 503 : 500, { error: error.transient ? "temporarily_unavailable" : "server_error" });
  }
}

function json(statusCode: number, value: unknown): HttpResult {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  return { statusCode, headers, body: JSON.stringify(value) };
}
