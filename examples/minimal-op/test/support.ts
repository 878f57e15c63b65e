import { randomUUID } from "node:crypto";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { guardSigner, type GuardedSigner, type GuardPolicy, SignerError, type SignerErrorCode } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createMemoryReplayStore } from "@signpost/verify";
import { type RunningOp, startOp } from "../src/op.ts";
import { openSchedule, type Schedule } from "../src/schedule.ts";

export const ISSUER = "https://op.example";

/** A key whose backend can be made to fail, and to wait. */
export interface Backend {
  readonly signatures: () => number;
  /** Calls that are in the backend. */
  readonly waiting: () => number;
  readonly closed: () => boolean;
  fail(code: SignerErrorCode | undefined, transient?: boolean): void;
  /** The next calls wait until the returned function is called. */
  hold(): () => void;
  readonly open: (uri: string, policy: GuardPolicy) => Promise<GuardedSigner>;
}

export function createBackend(): Backend {
  let signatures = 0;
  let waiting = 0;
  let closed = false;
  let failure: SignerError | undefined;
  let held: Promise<void> | undefined;
  return {
    signatures: () => signatures,
    waiting: () => waiting,
    closed: () => closed,
    fail: (code, transient = false) => {
      failure = code && new SignerError(code, "as the test wants it", { transient });
    },
    hold: () => {
      let release = (): void => {};
      held = new Promise((resolve) => {
        release = resolve;
      });
      return () => {
        held = undefined;
        release();
      };
    },
    open: async (_uri, policy) => {
      const bare = await openLocalSigner({ policy: false });
      return guardSigner(
        {
          ...bare,
          sign: async (digest, options) => {
            waiting += 1;
            await held;
            waiting -= 1;
            if (failure !== undefined) throw failure;
            signatures += 1;
            return bare.sign(digest, options);
          },
          close: async () => {
            closed = true;
            await bare.close();
          },
        },
        { ...policy, maxAttempts: 1 },
      );
    },
  };
}

export interface Client {
  readonly privateKey: CryptoKey;
  readonly jwks: { readonly keys: readonly unknown[] };
}

export async function createClient(): Promise<Client> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { privateKey, jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: "rp-1", alg: "ES256" }] } };
}

export async function assertionOf({ privateKey }: Client, audience: string = ISSUER): Promise<string> {
  return new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg: "ES256", kid: "rp-1" })
    .setIssuer("rp")
    .setSubject("rp")
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime("1m")
    .sign(privateKey);
}

export interface TestOp extends RunningOp {
  readonly url: string;
}

export async function start(
  schedule: Schedule,
  backend: Backend,
  client: Client,
  { issuer = ISSUER, now = Date.now, drainMs = 0 } = {},
): Promise<TestOp> {
  const op = await startOp({
    issuer,
    port: 0,
    opened: await openSchedule(schedule, backend.open, now),
    tokenLifetimeSeconds: schedule.maxTokenLifetimeSeconds,
    clients: { rp: { jwks: client.jwks } },
    replayStore: createMemoryReplayStore(),
    drainMs,
  });
  return { ...op, url: `http://127.0.0.1:${op.port}` };
}

export function requestToken(url: string, assertion: string): Promise<Response> {
  return fetch(`${url}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "client_credentials",
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: assertion,
    }),
  });
}
