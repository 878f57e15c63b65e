import { createPublicKey } from "node:crypto";
import type { JsonWebKey } from "node:crypto";
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createJwtVerifier, createRemoteKeySet } from "@signpost/verify";
import { JwtVerifier } from "aws-jwt-verify";
import { createVerifier } from "fast-jwt";
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import jwksRsa from "jwks-rsa";
import { concurrently, runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";
import { starting } from "./start-process.ts";

const AUDIENCE = "rp";
const MANY_KIDS = 1000;
const WARM_TARGET_RATIO = 1.05;
/** The verifier compared with others that use node:crypto, and its first token compared with jose. */
const VERIFIER_TARGET_RATIOS = { aws: 1, fastJwt: 1.1, cold: 1 };

await runBench({
  name: "verify",
  title: "Verification by RPs: a warm set, a set of 1,000 kids, a cold start",
  packages: ["@signpost/verify", "@signpost/core", "jose", "jwks-rsa", "aws-jwt-verify", "fast-jwt"],
  setUp: async () => {
    const op = await startOp(2);
    const many = await startOp(MANY_KIDS);
    return {
      pairings: [...(await warm(op)), ...(await warmVerifier(op)), await manyKids(many), ...cold(op), coldStart(op)],
      tearDown: async () => {
        await Promise.all([op.stop(), many.stop()]);
      },
    };
  },
});

interface Op {
  readonly issuer: string;
  readonly jwksUri: string;
  /** JSON. */
  readonly document: string;
  /** One token for each key, so that each names another kid. */
  readonly tokens: readonly string[];
  stop(): Promise<void>;
}

async function startOp(keyCount: number): Promise<Op> {
  const signers = await Promise.all(Array.from({ length: keyCount }, () => openLocalSigner()));
  const entries = signers.map((signer) => ({ signer }));
  const server = createServer((request, response) => endpoint.listener(request, response));
  await new Promise<void>((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const issuer = `http://127.0.0.1:${address.port}`;
  const endpoint = createJwksEndpoint({ issuer, keys: createKeySet(entries) });
  const exp = Math.floor(Date.now() / 1000) + 86_400;
  const claims = { iss: issuer, aud: AUDIENCE, sub: "248289761001", nonce: "n-0S6", exp };
  return {
    issuer,
    jwksUri: endpoint.jwksUri,
    document: Buffer.from(endpoint.respond("GET").body ?? []).toString(),
    tokens: await Promise.all(entries.map((entry) => signJwt(createKeySet([entry]), claims))),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await Promise.all(signers.map((signer) => signer.close()));
    },
  };
}

/** jose's local and remote sets are the peers. They verify with the keys of one set. */
function verifying(op: Op, keys: JWTVerifyGetKey): () => Promise<unknown> {
  const rules = { issuer: op.issuer, audience: AUDIENCE, algorithms: ["ES256"] };
  let next = 0;
  return () => jwtVerify(op.tokens[next++ % op.tokens.length] ?? "", keys, rules);
}

function joseLocal(op: Op): JWTVerifyGetKey {
  return createLocalJWKSet(JSON.parse(op.document) as JSONWebKeySet);
}

async function warm(op: Op): Promise<Pairing[]> {
  const remote = createRemoteKeySet(op.jwksUri, { allowInsecureLoopback: true });
  await remote.preload();
  const ours = verifying(op, remote);
  const local = verifying(op, joseLocal(op));
  const joseRemote = verifying(op, createRemoteJWKSet(new URL(op.jwksUri)));
  const jwksClient = jwksRsa({ jwksUri: op.jwksUri });
  const byJwksRsa = verifying(op, async ({ kid }) =>
    createPublicKey((await jwksClient.getSigningKey(kid)).getPublicKey()),
  );
  const byAws = awsVerifying(op);
  type Shape = (operation: () => Promise<unknown>) => Contender["run"];
  const row = (
    name: string,
    peer: string,
    operation: () => Promise<unknown>,
    shape: Shape = sequentially,
  ): Pairing => ({
    name: `warm, ${name}`,
    ours: { name: "createRemoteKeySet", run: shape(ours) },
    peer: { name: peer, run: shape(operation) },
    operations: 100,
    pairs: 100,
    ...(peer === "jose's local set" ? { target: { ratio: WARM_TARGET_RATIO } } : {}),
  });
  return [
    row("one after another", "jose's local set", local),
    row("8 at once", "jose's local set", local, (operation) => concurrently(8, operation)),
    row("one after another", "jose's remote set", joseRemote),
    row("one after another", "jwks-rsa", byJwksRsa),
    row("one after another", "aws-jwt-verify", byAws),
  ];
}

/** Calls of `verify` with the tokens in turn. */
function inTurn(op: Op, verify: (token: string) => Promise<unknown>): () => Promise<unknown> {
  let next = 0;
  return () => verify(op.tokens[next++ % op.tokens.length] ?? "");
}

function awsVerifying(op: Op): () => Promise<unknown> {
  const aws = JwtVerifier.create({ issuer: op.issuer, audience: AUDIENCE, jwksUri: op.jwksUri });
  aws.cacheJwks(JSON.parse(op.document) as Parameters<typeof aws.cacheJwks>[0]);
  return inTurn(op, (token) => aws.verify(token));
}

/** One verifier for each key, because it looks up no key by itself. Its cache of tokens is off. */
function fastJwtVerifying(op: Op): () => Promise<unknown> {
  const { keys } = JSON.parse(op.document) as { keys: readonly JsonWebKey[] };
  const verifiers = keys.map((jwk) =>
    createVerifier({
      key: createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" }).toString(),
      algorithms: ["ES256"],
      allowedIss: op.issuer,
      allowedAud: AUDIENCE,
      cache: false,
    }),
  );
  let next = 0;
  return async () => {
    const index = next++ % op.tokens.length;
    return verifiers[index]?.(op.tokens[index] ?? "") as unknown;
  };
}

async function warmVerifier(op: Op): Promise<Pairing[]> {
  const keys = createRemoteKeySet(op.jwksUri, { allowInsecureLoopback: true });
  await keys.preload();
  const verifier = createJwtVerifier({ type: "id_token", issuer: op.issuer, audience: AUDIENCE, keys });
  const ours = inTurn(op, (token) => verifier.verify(token));
  const peers = [
    { name: "aws-jwt-verify", operation: awsVerifying(op), ratio: VERIFIER_TARGET_RATIOS.aws },
    { name: "fast-jwt without its cache", operation: fastJwtVerifying(op), ratio: VERIFIER_TARGET_RATIOS.fastJwt },
  ];
  const shapes = [
    { name: "one after another", run: sequentially },
    { name: "8 at once", run: (operation: () => Promise<unknown>) => concurrently(8, operation) },
  ];
  return shapes.flatMap((shape) =>
    peers.map((peer) => ({
      name: `JWT verifier, warm, ${shape.name}`,
      ours: { name: "createJwtVerifier", run: shape.run(ours) },
      peer: { name: peer.name, run: shape.run(peer.operation) },
      operations: 100,
      pairs: 100,
      target: { ratio: peer.ratio },
    })),
  );
}

/** A fresh process to its first verified token, with one request over loopback. */
function coldStart({ issuer, jwksUri, tokens: [token = ""] }: Op): Pairing {
  const task = { task: "verify", issuer, audience: AUDIENCE, jwksUri, token } as const;
  return {
    name: "JWT verifier, a fresh process to the first token",
    ours: starting("createJwtVerifier", { ...task, by: "verifier" }),
    peer: starting("jose's remote set", { ...task, by: "jose" }),
    pairs: 40,
    target: { ratio: VERIFIER_TARGET_RATIOS.cold },
  };
}

async function manyKids(op: Op): Promise<Pairing> {
  const limits = { maxKeys: MANY_KIDS, maxBodyBytes: 1024 * 1024 };
  const remote = createRemoteKeySet(op.jwksUri, { allowInsecureLoopback: true, ...limits });
  await remote.preload();
  return {
    name: `warm, ${MANY_KIDS} kids, each in turn`,
    ours: { name: "createRemoteKeySet", run: sequentially(verifying(op, remote)) },
    peer: { name: "jose's local set", run: sequentially(verifying(op, joseLocal(op))) },
    operations: MANY_KIDS,
    pairs: 12,
    target: { ratio: WARM_TARGET_RATIO },
  };
}

/** A new set for each verification, which includes one request over loopback. */
function cold(op: Op): Pairing[] {
  const fresh = (open: () => JWTVerifyGetKey): Contender["run"] => sequentially(() => verifying(op, open())());
  const ours = fresh(() => createRemoteKeySet(op.jwksUri, { allowInsecureLoopback: true }));
  const row = (peer: string, run: Contender["run"]): Pairing => ({
    name: "cold, one request over loopback",
    ours: { name: "createRemoteKeySet", run: ours },
    peer: { name: peer, run },
    operations: 5,
    pairs: 60,
  });
  return [
    row(
      "jose's remote set",
      fresh(() => createRemoteJWKSet(new URL(op.jwksUri))),
    ),
    row(
      "jwks-rsa",
      fresh(() => {
        const client = jwksRsa({ jwksUri: op.jwksUri });
        return async ({ kid }) => createPublicKey((await client.getSigningKey(kid)).getPublicKey());
      }),
    ),
  ];
}
