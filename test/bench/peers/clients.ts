import { createPublicKey } from "node:crypto";
import { createRemoteKeySet } from "@signpost/verify";
import { JwtVerifier } from "aws-jwt-verify";
import type { Fetcher } from "aws-jwt-verify/https";
import { SimpleJwksCache } from "aws-jwt-verify/jwk";
import { auth } from "express-oauth2-jwt-bearer";
import { createVerifier } from "fast-jwt";
import buildGetJwks from "get-jwks";
import { createRemoteJWKSet, jwtVerify } from "jose";
import type { JWTVerifyGetKey } from "jose";
import jwksRsa from "jwks-rsa";
import * as oauth from "oauth4webapi";
import type { Op } from "./op.ts";

/** A library as an RP uses it, with its own defaults. */
export interface Client {
  readonly name: string;
  /** npm package, for its version. */
  readonly packageName: string;
  /** A fresh cache; the result rejects for a token that the library refuses. */
  open(op: Op): (token: string) => Promise<unknown>;
}

function byJose(op: Op, keys: JWTVerifyGetKey): (token: string) => Promise<unknown> {
  return (token) => jwtVerify(token, keys, { issuer: op.issuer, audience: op.audience, algorithms: ["ES256"] });
}

/** For libraries that return a PEM for a kid and leave the rest to the caller. */
function byPem(op: Op, pemFor: (kid: string | undefined) => Promise<string>): (token: string) => Promise<unknown> {
  return byJose(op, async ({ kid }) => createPublicKey(await pemFor(kid)));
}

const signpost: Client = {
  name: "@signpost/verify",
  packageName: "@signpost/verify",
  open: (op) => byJose(op, createRemoteKeySet(op.jwksUri, { allowInsecureLoopback: true })),
};

const jose: Client = {
  name: "jose",
  packageName: "jose",
  open: (op) => byJose(op, createRemoteJWKSet(new URL(op.jwksUri))),
};

const jwksRsaClient: Client = {
  name: "jwks-rsa",
  packageName: "jwks-rsa",
  open: (op) => {
    const client = jwksRsa({ jwksUri: op.jwksUri });
    return byPem(op, async (kid) => (await client.getSigningKey(kid)).getPublicKey());
  },
};

const getJwks: Client = {
  name: "get-jwks",
  packageName: "get-jwks",
  open: (op) => {
    const client = buildGetJwks({ jwksPath: new URL(op.jwksUri).pathname });
    return byPem(op, (kid = "") => client.getPublicKey({ domain: op.issuer, alg: "ES256", kid }));
  },
};

/** The library's own fetcher supports only https. This one does the same work over http. */
const plainFetcher: Fetcher = {
  async fetch(uri) {
    const response = await fetch(uri, { redirect: "manual" });
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return response.arrayBuffer();
  },
};

const awsJwtVerify: Client = {
  name: "aws-jwt-verify",
  packageName: "aws-jwt-verify",
  open: (op) => {
    const verifier = JwtVerifier.create(
      { issuer: op.issuer, audience: op.audience, jwksUri: op.jwksUri },
      { jwksCache: new SimpleJwksCache({ fetcher: plainFetcher }) },
    );
    return (token) => verifier.verify(token);
  },
};

const oauth4webapi: Client = {
  name: "oauth4webapi",
  packageName: "oauth4webapi",
  open: (op) => {
    const server = { issuer: op.issuer, jwks_uri: op.jwksUri };
    return (token) => {
      const request = new Request(op.audience, { headers: { authorization: `Bearer ${token}` } });
      return oauth.validateJwtAccessToken(server, request, op.audience, {
        [oauth.allowInsecureRequests]: true,
        signingAlgorithms: ["ES256"],
      });
    };
  },
};

export const CLIENTS: readonly Client[] = [signpost, jose, jwksRsaClient, getJwks, awsJwtVerify, oauth4webapi];

const fastJwt: Client = {
  name: "fast-jwt with get-jwks",
  packageName: "fast-jwt",
  open: (op) => {
    const client = buildGetJwks({ jwksPath: new URL(op.jwksUri).pathname });
    return createVerifier({
      algorithms: ["ES256"],
      key: ({ header }: { readonly header: { readonly kid?: string } }) =>
        client.getPublicKey({ domain: op.issuer, alg: "ES256", kid: header.kid ?? "" }),
    });
  },
};

/** The middleware, as Express calls it. */
const expressBearer: Client = {
  name: "express-oauth2-jwt-bearer",
  packageName: "express-oauth2-jwt-bearer",
  open: (op) => {
    const { issuer, jwksUri, audience } = op;
    const middleware = auth({ issuer, jwksUri, audience, tokenSigningAlg: "ES256" });
    return (token) => {
      const request = {
        method: "GET",
        protocol: "https",
        url: "/",
        headers: { authorization: `Bearer ${token}` },
        query: {},
        is: () => false,
        get: (name: string) => (name === "Host" ? "rp.example" : undefined),
      };
      return new Promise<void>((resolve, reject) => {
        middleware(request as never, {} as never, (error?: unknown) => {
          if (error === undefined) resolve();
          else reject(error instanceof Error ? error : new Error("refused"));
        });
      });
    };
  },
};

/** Those, and two that the benchmark tables leave out, because they build on get-jwks and jose. */
export const MORE_CLIENTS: readonly Client[] = [...CLIENTS, fastJwt, expressBearer];
