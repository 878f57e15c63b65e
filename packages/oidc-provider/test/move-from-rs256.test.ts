import { generateKeyPairSync } from "node:crypto";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, type KeySetEntry } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { accepted } from "./support/hints.ts";
import { browser, type Op, published, REDIRECT_URI, startOp } from "./support/op.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const OWN_KEY = { ...rsa.privateKey.export({ format: "jwk" }), kid: "rs-2024", alg: "RS256", use: "sig" };
const LEGACY_KEY = { keyId: "rs-2024", alg: "RS256" as const, publicKey: rsa.publicKey.export({ format: "jwk" }) };

const RP = {
  token_endpoint_auth_method: "none" as const,
  redirect_uris: [REDIRECT_URI],
  response_types: ["code" as const],
};
/** Was registered with RS256, and says so in its own configuration. */
const OLD = { ...RP, client_id: "old", id_token_signed_response_alg: "RS256" as const };
/** Names no algorithm, neither at the OP nor itself: takes what discovery names. */
const PLAIN = { ...RP, client_id: "plain" };
/** Agreed to move, and is changed at the OP and in its own configuration in stage 2. */
const MOVING = { ...RP, client_id: "moving" };

/** Is registered with ES256 from the beginning. */
const NEW = { ...RP, client_id: "new", id_token_signed_response_alg: "ES256" as const };

interface Stage {
  readonly name: string;
  /** The plug is in, and the host's own RSA key, its public half, and the plug's `clientDefaults`. */
  readonly takes: { readonly plug: boolean; readonly clientDefaults: boolean };
  readonly ownKey: boolean;
  readonly legacyKey: boolean;
  readonly moved: boolean;
  /** What is seen from outside. */
  readonly discovery: readonly string[];
  readonly jwks: readonly string[];
  readonly algorithms: Readonly<Record<"old" | "plain" | "moving" | "new", string>>;
}

const STAGES: readonly Stage[] = [
  {
    name: "0: before",
    takes: { plug: false, clientDefaults: false },
    ownKey: true,
    legacyKey: false,
    moved: false,
    discovery: ["RS256"],
    jwks: ["rs-2024"],
    algorithms: { old: "RS256", plain: "RS256", moving: "RS256", new: "refused" },
  },
  {
    name: "1: publish",
    takes: { plug: true, clientDefaults: false },
    ownKey: true,
    legacyKey: true,
    moved: false,
    discovery: ["ES256", "RS256"],
    jwks: ["es-2026", "rs-2024"],
    algorithms: { old: "RS256", plain: "RS256", moving: "RS256", new: "ES256" },
  },
  {
    name: "2: clients that agreed",
    takes: { plug: true, clientDefaults: false },
    ownKey: true,
    legacyKey: true,
    moved: true,
    discovery: ["ES256", "RS256"],
    jwks: ["es-2026", "rs-2024"],
    algorithms: { old: "RS256", plain: "RS256", moving: "ES256", new: "ES256" },
  },
  {
    name: "3: the default",
    takes: { plug: true, clientDefaults: true },
    ownKey: true,
    legacyKey: true,
    moved: true,
    discovery: ["ES256", "RS256"],
    jwks: ["es-2026", "rs-2024"],
    algorithms: { old: "RS256", plain: "ES256", moving: "ES256", new: "ES256" },
  },
  {
    name: "4: the old key is gone",
    takes: { plug: true, clientDefaults: true },
    ownKey: false,
    legacyKey: true,
    moved: true,
    discovery: ["ES256"],
    jwks: ["es-2026", "rs-2024"],
    algorithms: { old: "refused", plain: "ES256", moving: "ES256", new: "ES256" },
  },
  {
    name: "5: after",
    takes: { plug: true, clientDefaults: true },
    ownKey: false,
    legacyKey: false,
    moved: true,
    discovery: ["ES256"],
    jwks: ["es-2026"],
    algorithms: { old: "refused", plain: "ES256", moving: "ES256", new: "ES256" },
  },
];

let entry: KeySetEntry;
const told: Error[] = [];
beforeAll(async () => {
  entry = { keyId: "es-2026", signer: await openLocalSigner() };
});

/** The OP at this stage, under the same issuer as at every other. */
async function start(stage: Stage, after: Op | undefined): Promise<Op> {
  const keys = createKeySet([entry], stage.legacyKey ? { legacyVerificationKeys: [LEGACY_KEY] } : {});
  const moving = stage.moved ? { ...MOVING, id_token_signed_response_alg: "ES256" as const } : MOVING;
  return startOp({
    keys,
    takes: stage.takes,
    hostKeys: stage.ownKey ? [OWN_KEY] : [],
    after,
    onError: (error) => told.push(error),
    configuration: { clients: [OLD, PLAIN, moving, NEW] },
  });
}

/** What an RP has read of the OP, now or at an earlier stage. */
type Discovered = client.ServerMetadata;

async function discover({ issuer }: Op): Promise<Discovered> {
  return (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Discovered;
}

/** Logs in with non-repudiation checks on, and gives the ID token that was accepted. */
async function logIn(op: Op, server: Discovered, metadata: typeof PLAIN | typeof OLD): Promise<string> {
  const { client_id, ...own } = metadata;
  const config = new client.Configuration(server, client_id, own, client.None());
  client.allowInsecureRequests(config);
  client.enableNonRepudiationChecks(config);
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT_URI,
    scope: "openid",
    state: "s",
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
  });
  const ended = await browser(op.issuer)(url);
  if (!(ended instanceof URL)) throw new Error(`the OP answered ${ended.status}: ${await ended.text()}`);
  const tokens = await client.authorizationCodeGrant(config, ended, { pkceCodeVerifier, expectedState: "s" });
  return tokens.id_token ?? "";
}

describe("the move of an OP from RS256 to ES256, stage by stage", () => {
  const seen = new Map<string, Discovered>();
  const tokens = new Map<string, string>();
  let before: Op | undefined;
  let op: Op;
  afterAll(() => {
    op.close();
  });

  test.each(STAGES)("stage $name", async (stage) => {
    op = await start(stage, before);
    before = op;
    const server = await discover(op);
    seen.set(stage.name, server);
    expect(server.id_token_signing_alg_values_supported?.toSorted()).toEqual(stage.discovery);
    expect((await published(op)).keys.map(({ kid }) => kid)).toEqual(stage.jwks);

    const moving = stage.moved ? { ...MOVING, id_token_signed_response_alg: "ES256" as const } : MOVING;
    for (const rp of [OLD, PLAIN, moving, NEW]) {
      const expected = stage.algorithms[rp.client_id as keyof Stage["algorithms"]];
      const login = logIn(op, server, rp);
      if (expected === "refused") {
        // Before a code is issued.
        await expect(login).rejects.toThrow(/the OP answered 400.*invalid_client_metadata/s);
      } else {
        const token = await login;
        tokens.set(`${rp.client_id} ${stage.name}`, token);
        expect(decodeProtectedHeader(token)).toMatchObject({ alg: expected });
        expect(await acceptedAsHint(token)).toBe(true);
      }
    }

    expect(told).toEqual([]);

    // What was signed before still verifies while its key is published.
    const getKey = createRemoteJWKSet(new URL(`${op.issuer}/jwks`));
    for (const token of tokens.values()) {
      const published = stage.jwks.includes(String(decodeProtectedHeader(token).kid));
      const verified = jwtVerify(token, getKey).then(
        () => true,
        () => false,
      );
      expect(await verified).toBe(published);
    }
  });

  async function acceptedAsHint(token: string): Promise<boolean> {
    return accepted(op, token);
  }

  test("a hint counts only under the client's current algorithm", async () => {
    expect(await acceptedAsHint(tokens.get("plain 0: before") ?? "")).toBe(false);
    expect(await acceptedAsHint(tokens.get("plain 3: the default") ?? "")).toBe(true);
  });

  test("an RP that goes by the discovery document of stage 0 refuses ES256, and one that goes by that of stage 1 takes it", async () => {
    const [first, both] = [seen.get("0: before"), seen.get("1: publish")];
    if (first === undefined || both === undefined) throw new Error("expected what the stages before have read");
    await expect(logIn(op, first, PLAIN)).rejects.toMatchObject(UNEXPECTED_ALG);
    expect(decodeProtectedHeader(await logIn(op, both, PLAIN)).alg).toBe("ES256");
  });

  test("an RP whose own configuration still says RS256 after it was moved at the OP refuses ES256", async () => {
    const server = await discover(op);
    const stale = { ...MOVING, id_token_signed_response_alg: "RS256" as const };
    await expect(logIn(op, server, stale)).rejects.toMatchObject(UNEXPECTED_ALG);
    expect(decodeProtectedHeader(await logIn(op, server, MOVING)).alg).toBe("ES256");
  });
});

const UNEXPECTED_ALG = { cause: { message: expect.stringMatching(/unexpected.*alg/i) } };
