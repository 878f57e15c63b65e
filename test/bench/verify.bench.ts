import { createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import { createJwksEndpoint, createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { createRemoteKeySet } from "@signpost/verify";
import { JwtVerifier } from "aws-jwt-verify";
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTVerifyGetKey } from "jose";
import jwksRsa from "jwks-rsa";
import { concurrently, runBench, sequentially } from "./harness.ts";
import type { Contender, Pairing } from "./harness.ts";

const AUDIENCE = "rp";
const MANY_KIDS = 1000;
const WARM_TARGET_RATIO = 1.05;

await runBench({
  name: "verify",
  title: "Verification by RPs: a warm set, a set of 1,000 kids, a cold start",
  packages: ["@signpost/verify", "@signpost/core", "jose", "jwks-rsa", "aws-jwt-verify"],
  setUp: async () => {
    const op = await startOp(2);
    const many = await startOp(MANY_KIDS);
    return {
      pairings: [...(await warm(op)), await manyKids(many), ...cold(op)],
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
  const aws = JwtVerifier.create({ issuer: op.issuer, audience: AUDIENCE, jwksUri: op.jwksUri });
  aws.cacheJwks(JSON.parse(op.document) as Parameters<typeof aws.cacheJwks>[0]);
  let next = 0;
  const byAws = (): Promise<unknown> => aws.verify(op.tokens[next++ % op.tokens.length] ?? "");
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
