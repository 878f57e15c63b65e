import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setImmediate, setTimeout } from "node:timers/promises";
import { CompactEncrypt, importJWK, SignJWT } from "jose";
import { errors, ExternalSigningKey, type JWK, Provider, type ResourceServer } from "oidc-provider";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createJwksEndpoint, createKeySet, type KeySet, type LegacyKey, type Signer } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { type AttachOptions, mountJwks, signpostKeys } from "@signpost/oidc-provider";
import { browser, type OpOptions, published, REDIRECT_URI, startOp } from "./support/op.ts";

const ISSUER = "https://op.example";
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
const LEGACY_KEY: LegacyKey = {
  keyId: "rs",
  alg: "RS256",
  publicKey: rsa.publicKey.export({ format: "pem", type: "spki" }).toString(),
};

const PKCE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };

type HostKey = JWK | ExternalSigningKey;

let signer: Signer;
let signatures = 0;
let told: Error[] = [];
beforeEach(async () => {
  const local = await openLocalSigner();
  signatures = 0;
  told = [];
  signer = {
    ...local,
    publicKey: local.publicKey,
    sign: (...given) => {
      signatures += 1;
      return local.sign(...given);
    },
  };
});

/** Reports of a Provider of another test go to the list of that test. */
function tells(): (error: Error) => void {
  const list = told;
  return (error) => list.push(error);
}

interface OwnKeys {
  readonly inFront?: readonly HostKey[];
  readonly behind?: readonly HostKey[];
}

/** A Provider with its own keys around the plug's. */
async function attached(
  { inFront = [], behind = [] }: OwnKeys,
  options: AttachOptions = {},
  legacy: LegacyKey = LEGACY_KEY,
): Promise<Provider> {
  const keys = createKeySet([{ keyId: "a", signer }], { legacyVerificationKeys: [legacy] });
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys, onError: tells() });
  const provider = new Provider(ISSUER, {
    jwks: { keys: [...inFront, ...signpost.jwks.keys, ...behind] as JWK[] },
    features: { devInteractions: { enabled: false }, ...signpost.features },
    clientDefaults: { ...signpost.clientDefaults },
  });
  signpost.attach(provider, createJwksEndpoint({ issuer: ISSUER, keys }), options);
  // The host is asked meanwhile.
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  return provider;
}

type Sign = Extract<NonNullable<ResourceServer["jwt"]>["sign"], object>;

function resourceServerOf(provider: Provider, alg: "RS256" | "PS256" | "ES256", kid?: string): ResourceServer {
  return resourceServerThatSays(provider, { alg, ...(kid !== undefined && { kid }) });
}

function resourceServerThatSays(provider: Provider, sign: Sign): ResourceServer {
  const info: ResourceServer = { scope: "", accessTokenFormat: "jwt", jwt: { sign } };
  return new provider.ResourceServer("urn:example:api", info);
}

function privateJwk(key: KeyObject, members: object): JWK {
  return { ...key.export({ format: "jwk" }), ...members };
}

/** A key of the OP's in another KMS, whose network fails. */
class UnreachableKey extends ExternalSigningKey {
  constructor() {
    super();
    Object.assign(this, { kid: "rs", alg: "RS256" });
  }
  override keyObject(): KeyObject {
    return rsa.publicKey;
  }
  override sign(): Promise<Uint8Array> {
    return Promise.reject(new TypeError("fetch failed"));
  }
}

class ReachableKey extends UnreachableKey {
  override async sign(data?: Uint8Array): Promise<Uint8Array> {
    return sign("sha256", data ?? new Uint8Array(), rsa.privateKey);
  }
}

class SlowKey extends ReachableKey {
  override async sign(data?: Uint8Array): Promise<Uint8Array> {
    await setTimeout(50);
    return super.sign(data);
  }
}

describe("the host's own key, after the plug's", () => {
  test("signs for resource servers by the algorithm under which it is published, and by no other", async () => {
    const provider = await attached({ behind: [privateJwk(rsa.privateKey, { kid: "rs" })] });
    await vi.waitFor(() => {
      expect(() => resourceServerOf(provider, "PS256")).toThrow(expect.objectContaining({ error: "server_error" }));
    });
    expect(resourceServerOf(provider, "RS256")).toMatchObject({ jwt: { sign: { alg: "RS256" } } });
    // Discovery offers PS256 to clients, whose tokens cannot be verified.
    await vi.waitFor(() => {
      expect(told).toEqual([
        expect.objectContaining({ argument: "jwks", message: expect.stringMatching(/"rs".*PS256.* only for RS256/) }),
      ]);
    });
  });

  test("names its algorithm, and nothing is reported", async () => {
    await attached({ behind: [privateJwk(rsa.privateKey, { kid: "rs", alg: "RS256" })] });
    expect(told).toEqual([]);
  });

  test("is published for another algorithm than its own: the operator gets a report that says so", async () => {
    await attached(
      { behind: [privateJwk(rsa.privateKey, { kid: "rs", alg: "RS256" })] },
      {},
      { ...LEGACY_KEY, alg: "PS256" },
    );
    await vi.waitFor(() => {
      const message: unknown = expect.stringMatching(
        /"rs" signs RS256, but .* only for PS256: .* or publish it for the alg/,
      );
      expect(told).toEqual([expect.objectContaining({ argument: "jwks", message })]);
    });
  });

  test.each([
    ["is reached", ReachableKey],
    ["cannot be reached at the start", UnreachableKey],
  ])("may be in another KMS that %s", async (_name, Key) => {
    const provider = await attached({ behind: [new Key()] });
    expect(resourceServerOf(provider, "RS256")).toMatchObject({ jwt: { sign: { alg: "RS256" } } });
    expect(told).toEqual([]);
  });

  test("is not published, like another one: reports follow the order of the algorithms, whichever key answers first", async () => {
    const fast = generateKeyPairSync("ed25519").privateKey;
    const behind = [privateJwk(fast, { kid: "fast", alg: "EdDSA" }), new SlowKey()];
    await attached({ behind }, {}, { ...LEGACY_KEY, keyId: "other" });
    await vi.waitFor(() => {
      const messages = [/"rs": RPs cannot verify/, /"fast": RPs cannot verify/];
      expect(told).toEqual(
        messages.map((message) => expect.objectContaining({ message: expect.stringMatching(message) })),
      );
    });
  });

  test("signs for resource servers under a kid that is published, and under no other that it has or has not", async () => {
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const behind = [rsa.privateKey, other].map((key, index) =>
      privateJwk(key, { kid: ["rs", "rs-old"][index], alg: "RS256" }),
    );
    const provider = await attached({ behind });
    await vi.waitFor(() => {
      expect(() => resourceServerOf(provider, "PS256")).toThrow(expect.objectContaining({ error: "server_error" }));
    });
    expect(resourceServerOf(provider, "RS256", "rs")).toMatchObject({ jwt: { sign: { alg: "RS256", kid: "rs" } } });
    for (const kid of ["rs-old", "typo", "a", ""]) {
      const cause: unknown = expect.objectContaining({
        argument: "getResourceServerInfo",
        message: expect.stringContaining(JSON.stringify(kid)),
      });
      expect(() => resourceServerOf(provider, "RS256", kid), kid).toThrow(expect.objectContaining({ cause }));
      if (kid === "a") continue;
      // By the algorithm that is the host's default.
      const sign: Sign = { kid };
      expect(() => resourceServerThatSays(provider, sign), kid).toThrow(expect.objectContaining({ cause }));
    }
    expect(resourceServerThatSays(provider, { kid: "rs" })).toMatchObject({ jwt: { sign: { kid: "rs" } } });
  });

  test("of our algorithm never signs, and is not reported", async () => {
    await attached({ behind: [privateJwk(ec.privateKey, { kid: "old", alg: "ES256" })] });
    expect(told).toEqual([]);
  });
});

test("an encryption key of the host's own is published by the endpoint, and opens a request object", async () => {
  const rp = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = rsa.publicKey.export({ format: "pem", type: "spki" }).toString();
  const op = await startOp({
    keys: createKeySet([{ keyId: "a", signer }], { encryptionKeyset: [{ keyId: "enc", publicKey }] }),
    hostKeys: [privateJwk(rsa.privateKey, { kid: "enc", use: "enc", alg: "RSA-OAEP-256" })],
    onError: tells(),
    configuration: {
      clients: [
        {
          client_id: "rp",
          client_secret: "only for this test",
          redirect_uris: [REDIRECT_URI],
          jwks: { keys: [privateJwk(rp.publicKey, { kid: "rp-1", alg: "ES256", use: "sig" })] },
        },
      ],
      features: { encryption: { enabled: true }, requestObjects: { enabled: true } },
    },
  });
  try {
    const key = (await published(op)).keys.find(({ use }) => use === "enc");
    const signed = await new SignJWT({
      client_id: "rp",
      redirect_uri: REDIRECT_URI,
      response_type: "code",
      scope: "openid",
      ...PKCE,
    })
      .setProtectedHeader({ alg: "ES256", kid: "rp-1" })
      .setIssuer("rp")
      .setAudience(op.issuer)
      .setExpirationTime("60s")
      .sign(rp.privateKey);
    const request = await new CompactEncrypt(Buffer.from(signed))
      .setProtectedHeader({ alg: "RSA-OAEP-256", enc: "A256GCM", kid: "enc" })
      .encrypt(await importJWK(key ?? {}, "RSA-OAEP-256"));
    const url = new URL(`${op.issuer}/auth`);
    url.search = new URLSearchParams({ client_id: "rp", request }).toString();
    const ended = await browser(op.issuer)(url);
    expect(op.failures).toEqual([]);
    expect(ended instanceof URL && ended.searchParams.has("code")).toBe(true);
    expect(told).toEqual([]);
  } finally {
    op.close();
  }
});

test("the host's own key that signs in place of ours is reported to the operator", async () => {
  await attached({ inFront: [privateJwk(ec.privateKey, { kid: "old", alg: "ES256" })] });
  await vi.waitFor(() => {
    expect(told).toEqual([
      expect.objectContaining({ argument: "jwks", message: expect.stringMatching(/before all others.*"old"/) }),
    ]);
  });
});

test.each([
  ["no keys of a plug", () => ({})],
  [
    "those of another plug",
    ({ keys }: OpOptions) => ({ jwks: signpostKeys({ ExternalSigningKey, errors, keys }).jwks }),
  ],
])("a Provider with %s is told to the operator", async (_name, configuration) => {
  const keys = createKeySet([{ keyId: "a", signer }], { legacyVerificationKeys: [LEGACY_KEY] });
  const { features, attach } = signpostKeys({ ExternalSigningKey, errors, keys, onError: tells() });
  attach(new Provider(ISSUER, { ...configuration({ keys }), features }), createJwksEndpoint({ issuer: ISSUER, keys }));
  await vi.waitFor(() => {
    expect(told).toContainEqual(expect.objectContaining({ argument: "jwks" }));
  });
});

test.each([true, false])(
  "to ask who signs costs no signature of the backend: servesRequests %s",
  async (servesRequests) => {
    await attached({}, { servesRequests });
    expect(signatures).toBe(0);
    expect(told).toEqual([]);
  },
);

/** Returns a function that requests the key set. */
async function serve(provider: Provider): Promise<() => Promise<void>> {
  const settled = async (): Promise<void> => {
    // The host is asked meanwhile.
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  };
  await settled();
  const handle = provider.callback();
  const server = createServer((req, res) => void handle(req, res)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  return async () => {
    await fetch(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/jwks`);
    await settled();
  };
}

const unpublished = (argument: string, kid: string): unknown =>
  expect.objectContaining({ argument, message: expect.stringContaining(JSON.stringify(kid)) });

test("an old key of the host that leaves the endpoint's keys too early is reported", async () => {
  const entries = [{ keyId: "a", signer }];
  let now = createKeySet(entries, { legacyVerificationKeys: [LEGACY_KEY] });
  const keys = (): KeySet => now;
  const signpost = signpostKeys({ ExternalSigningKey, errors, keys, onError: tells() });
  const old = { ...rsa.privateKey.export({ format: "jwk" }), kid: "rs", alg: "RS256" } as JWK;
  const provider = new Provider("http://127.0.0.1", {
    jwks: { keys: [...signpost.jwks.keys, old] as JWK[] },
    features: { devInteractions: { enabled: false }, ...signpost.features },
  });
  signpost.attach(provider, createJwksEndpoint({ issuer: "http://127.0.0.1", keys }));
  const request = await serve(provider);
  await request();
  expect(told).toEqual([]);
  now = createKeySet(entries);
  await request();
  await request();
  await vi.waitFor(() => {
    expect(told).toEqual([unpublished("legacyVerificationKeys", "rs")]);
  });
});

describe("the endpoint has another key under the kid of the host's own: the operator gets a report", () => {
  const another = (argument: string, kid: string): unknown =>
    expect.objectContaining({ argument, message: expect.stringMatching(`public half.*"${kid}".*another key`) });

  test.each(["RS256", "PS256"] as const)("%s", async (alg) => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await attached({ behind: [privateJwk(privateKey, { kid: "rs", alg })] }, {}, { ...LEGACY_KEY, alg });
    await vi.waitFor(() => {
      expect(told).toEqual([another("legacyVerificationKeys", "rs")]);
    });
    told = [];
    await attached({ behind: [privateJwk(rsa.privateKey, { kid: "rs", alg })] }, {}, { ...LEGACY_KEY, alg });
    expect(told).toEqual([]);
  });

  test("EdDSA", async () => {
    const [own, other] = [1, 2].map(() => generateKeyPairSync("ed25519"));
    if (own === undefined || other === undefined) throw new Error("expected two keys");
    const publicKey = own.publicKey.export({ format: "pem", type: "spki" }).toString();
    const legacy: LegacyKey = { keyId: "ed", alg: "EdDSA", publicKey };
    await attached({ behind: [privateJwk(other.privateKey, { kid: "ed", alg: "EdDSA" })] }, {}, legacy);
    await vi.waitFor(() => {
      expect(told).toEqual([another("legacyVerificationKeys", "ed")]);
    });
    told = [];
    await attached({ behind: [privateJwk(own.privateKey, { kid: "ed", alg: "EdDSA" })] }, {}, legacy);
    expect(told).toEqual([]);
  });

  test("ES256, through mountJwks", async () => {
    const jwks = { keys: [privateJwk(ec.privateKey, { kid: "a" })] };
    const endpoint = createJwksEndpoint({ issuer: ISSUER, keys: [{ keyId: "a", signer }] });
    mountJwks(new Provider(ISSUER, { jwks }), endpoint, { onError: tells() });
    await vi.waitFor(() => {
      expect(told).toEqual([another("keys", "a")]);
    });
  });
});

describe("a Provider that signs with its own keys, through mountJwks", () => {
  const privateJwk = (key: KeyObject, kid: string, alg?: string) =>
    ({ ...key.export({ format: "jwk" }), kid, alg }) as JWK;
  const mount = async (hostKeys: readonly JWK[], keys: () => KeySet): Promise<() => Promise<void>> => {
    const provider = new Provider(ISSUER, { jwks: { keys: [...hostKeys] } });
    mountJwks(provider, createJwksEndpoint({ issuer: ISSUER, keys }), { onError: tells() });
    return serve(provider);
  };
  test("is right if the endpoint publishes them", async () => {
    const own = createKeySet([{ keyId: "own", signer: await openLocalSigner({ privateKey: ec.privateKey }) }], {
      legacyVerificationKeys: [LEGACY_KEY],
    });
    const hostKeys = [privateJwk(ec.privateKey, "own"), privateJwk(rsa.privateKey, "rs", "RS256")];
    const request = await mount(hostKeys, () => own);
    await request();
    expect(told).toEqual([]);
  });

  test("has keys that the endpoint does not publish: the operator gets a report for each", async () => {
    const other = createKeySet([{ keyId: "a", signer }]);
    const hostKeys = [privateJwk(ec.privateKey, "own"), privateJwk(rsa.privateKey, "rs", "RS256")];
    const request = await mount(hostKeys, () => other);
    await request();
    const expected = [unpublished("keys", "own"), unpublished("legacyVerificationKeys", "rs")];
    await vi.waitFor(() => {
      expect(told).toEqual(expected);
    });
  });

  test("goes on signing after a rotation with a key that is no longer published: the operator gets a report", async () => {
    const old = { keyId: "own", signer: await openLocalSigner({ privateKey: ec.privateKey }) };
    let now = createKeySet([old]);
    const request = await mount([privateJwk(ec.privateKey, "own")], () => now);
    now = createKeySet([{ keyId: "a", signer }, old]);
    await request();
    expect(told).toEqual([]);
    now = createKeySet([{ keyId: "a", signer }]);
    await request();
    await request();
    await vi.waitFor(() => {
      expect(told).toEqual([unpublished("keys", "own")]);
    });
  });
});
