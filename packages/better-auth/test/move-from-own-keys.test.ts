import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, type JwkInput } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type MovingOp, openMovingOp, type Registered, RESOURCE } from "./support/moving-op.ts";

type Discovered = client.ServerMetadata;
/** As the host's own key set has it. */
type HostKey = JwkInput & { readonly kid: string; readonly alg: "EdDSA" };
type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

interface Stage {
  readonly name: string;
  /** The plug signs. Before that, the host does, with the key from its database. */
  readonly plug: boolean;
  /** The endpoint serves the key set: alone, or with the public half of the host's key. Undefined: the host serves its own. */
  readonly endpoint: "with the host's key" | "alone" | undefined;
  /** What is seen from outside. */
  readonly discovery: readonly string[];
  readonly jwks: readonly string[];
  /** The algorithm of new ID tokens, for an RP that read discovery now, in stage 1 and in stage 0. */
  readonly accepted: readonly [now: string, sinceStage1: string, sinceStage0: string];
  /** Whether tokens of stage 0 are still valid, for RPs and for the host itself. */
  readonly oldTokens: "valid" | "refused";
}

const STAGES: readonly Stage[] = [
  {
    name: "0: before",
    plug: false,
    endpoint: undefined,
    discovery: ["EdDSA"],
    jwks: ["host"],
    accepted: ["EdDSA", "EdDSA", "EdDSA"],
    oldTokens: "valid",
  },
  {
    name: "1: both keys are published",
    plug: false,
    endpoint: "with the host's key",
    discovery: ["EdDSA", "ES256"],
    jwks: ["es-2026", "host"],
    accepted: ["EdDSA", "EdDSA", "EdDSA"],
    oldTokens: "valid",
  },
  {
    name: "2: the plug signs",
    plug: true,
    endpoint: "with the host's key",
    discovery: ["ES256"],
    jwks: ["es-2026", "host"],
    accepted: ["ES256", "ES256", "refused"],
    oldTokens: "valid",
  },
  {
    name: "3: the host's key is removed",
    plug: true,
    endpoint: "alone",
    discovery: ["ES256"],
    jwks: ["es-2026"],
    accepted: ["ES256", "ES256", "refused"],
    oldTokens: "refused",
  },
];

describe("the move of an OP from keys in the database of better-auth", () => {
  let op: MovingOp;
  let registered: Registered;
  let hostKey: HostKey;
  /** Of one user for each stage, since a hint ends the session. */
  let old: readonly Tokens[];
  const discovered: Discovered[] = [];

  beforeAll(async () => {
    op = await openMovingOp(await openLocalSigner());
    await op.serve({ announces: false });
    registered = await op.register();
    const server = await discover();
    // Makes the host's key. Logins at the same time might make one each.
    const { keys } = (await (await fetch(`${op.issuer}/jwks`)).json()) as { keys: [HostKey] };
    [hostKey] = keys;
    old = await Promise.all(STAGES.map(async (_, index) => logIn(server, await op.signUp(`old-${index}`))));
  });
  afterAll(() => op.close());

  async function discover(): Promise<Discovered> {
    return (await (await fetch(`${op.issuer}/.well-known/openid-configuration`)).json()) as Discovered;
  }

  function configure(server: Discovered): client.Configuration {
    const { id, secret } = registered;
    const config = new client.Configuration(server, id, undefined, client.ClientSecretBasic(secret));
    client.allowInsecureRequests(config);
    client.enableNonRepudiationChecks(config);
    return config;
  }

  /** Logs in as an RP that has read this discovery document. It verifies the signature of the ID token. */
  async function logIn(server: Discovered, cookie: string): Promise<Tokens> {
    const config = configure(server);
    const pkceCodeVerifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: op.redirectUri,
      scope: "openid",
      state: "s",
      resource: RESOURCE,
      code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
    });
    const response = await fetch(url, { headers: { cookie }, redirect: "manual" });
    const { url: location } = (await response.json()) as { url: string };
    const checks = { pkceCodeVerifier, expectedState: "s", idTokenExpected: true };
    return client.authorizationCodeGrant(config, new URL(location), checks, { resource: RESOURCE });
  }

  async function acceptedAlg(server: Discovered, cookie: string): Promise<string> {
    const { id_token: token = "" } = await logIn(server, cookie).catch(() => ({ id_token: undefined }));
    return token === "" ? "refused" : String(decodeProtectedHeader(token).alg);
  }

  /** How an RP, the introspection of the host, and its logout take these tokens. */
  async function tokensAre({ access_token: token, id_token: hint = "" }: Tokens): Promise<string[]> {
    const server = await discover();
    const keys = createRemoteJWKSet(new URL(server.jwks_uri ?? ""));
    const logout = `${op.issuer}/oauth2/end-session?${new URLSearchParams({ id_token_hint: hint })}`;
    const accepted = [
      await jwtVerify(token, keys, { issuer: op.issuer }).then(
        () => true,
        () => false,
      ),
      await client.tokenIntrospection(configure(server), token).then(
        ({ active }) => active,
        () => false,
      ),
      (await fetch(logout)).ok,
    ];
    return accepted.map((each) => (each ? "valid" : "refused"));
  }

  test.each(STAGES)("stage $name", async (stage) => {
    const { plug, endpoint } = stage;
    const legacyKey = { keyId: hostKey.kid, publicKey: hostKey, alg: hostKey.alg };
    const legacyVerificationKeys = endpoint === "alone" ? [] : [legacyKey];
    const keys = createKeySet([{ keyId: "es-2026", signer: op.signer }], { legacyVerificationKeys });
    await op.serve({ announces: endpoint !== undefined, ...(endpoint && { keys }), plug });

    const server = await discover();
    discovered.push(server);
    expect(server["id_token_signing_alg_values_supported"]).toEqual(stage.discovery);
    const jwks = (await (await fetch(server.jwks_uri ?? "")).json()) as { keys: { kid: string }[] };
    expect(jwks.keys.map(({ kid }) => (kid === hostKey.kid ? "host" : kid))).toEqual(stage.jwks);

    const cookie = await op.signUp(`new-${discovered.length}`);
    const [atStage0 = server, atStage1 = server] = discovered;
    const algorithms: string[] = [];
    for (const known of [server, atStage1, atStage0]) algorithms.push(await acceptedAlg(known, cookie));
    expect(algorithms).toEqual(stage.accepted);

    const tokens = old[discovered.length - 1];
    expect(tokens && (await tokensAre(tokens))).toEqual([stage.oldTokens, stage.oldTokens, stage.oldTokens]);
  });

  test("back in stage 1, RPs still accept a token of stage 2, and the introspection of the host does not", async () => {
    const legacyVerificationKeys = [{ keyId: hostKey.kid, publicKey: hostKey, alg: hostKey.alg }];
    const keys = createKeySet([{ keyId: "es-2026", signer: op.signer }], { legacyVerificationKeys });
    await op.serve({ announces: true, keys, plug: true });
    const tokens = await logIn(await discover(), await op.signUp("back"));
    await op.serve({ announces: true, keys });
    expect((await tokensAre(tokens)).slice(0, 2)).toEqual(["valid", "refused"]);
  });
});
