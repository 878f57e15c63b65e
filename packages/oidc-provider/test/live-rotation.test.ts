import { decodeProtectedHeader, jwtVerify, createLocalJWKSet } from "jose";
import { generateKeyPairSync } from "node:crypto";
import { afterEach, describe, expect, test } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  guardSigner,
  type KeySet,
  type Signer,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { accepted, hint, HINT_CLIENT } from "./support/hints.ts";
import { type Op, published, startOp } from "./support/op.ts";

const HOUR = 3_600_000;
const CLIENT = {
  client_id: "rp",
  client_secret: "only for this test",
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
} as const;

let op: Op | undefined;
afterEach(() => {
  op?.close();
});

/** A JWT access token, the shortest way to a signature. */
async function accessToken({ issuer }: Op): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`rp:${encodeURIComponent(CLIENT.client_secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: "urn:example:api" }),
  });
  const body = (await response.json()) as { access_token?: string };
  if (body.access_token === undefined) throw new Error(`${response.status} ${JSON.stringify(body)}`);
  return body.access_token;
}

function retired(set: KeySet) {
  return set.keys.map(({ keyId, publicKey }) => ({ keyId, publicKey }));
}

describe("rotation without a new Provider", () => {
  test("a key that was unknown at construction signs, and every token verifies", async () => {
    let keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    op = await startOp({ keys: () => keys, configuration: { clients: [{ ...CLIENT }] } });
    const first = await accessToken(op);
    keys = createKeySet([{ keyId: "c", signer: await openLocalSigner() }, ...retired(keys)]);
    const second = await accessToken(op);
    expect([first, second].map((token) => decodeProtectedHeader(token).kid)).toEqual(["a", "c"]);
    const getKey = createLocalJWKSet(await published(op));
    await jwtVerify(first, getKey);
    await jwtVerify(second, getKey);
  });

  test("tokens started under key A and finished under key B all verify: 1,000 of them under load", async () => {
    const bare = await openLocalSigner({ policy: false });
    const slow = (signer: Signer): Signer =>
      guardSigner(
        {
          ...signer,
          sign: async (digest, options) => {
            await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
            return signer.sign(digest, options);
          },
        },
        { concurrency: 64 },
      );
    const a = { keyId: "a", signer: slow(bare) };
    const b = { keyId: "b", signer: slow(await openLocalSigner({ policy: false })) };
    const sets = [createKeySet([a, b]), createKeySet([b, a])] as const;
    let turn = 0;
    op = await startOp({ keys: () => sets[turn % 2] ?? sets[0], configuration: { clients: [{ ...CLIENT }] } });
    const rotating = setInterval(() => {
      turn += 1;
    }, 3);
    const current = op;
    const tokens: string[] = [];
    const worker = async (): Promise<void> => {
      for (let count = 0; count < 40; count += 1) tokens.push(await accessToken(current));
    };
    try {
      await Promise.all(Array.from({ length: 25 }, worker));
    } finally {
      clearInterval(rotating);
    }
    const getKey = createLocalJWKSet(await published(op));
    const kids = new Map<string | undefined, number>();
    for (const token of tokens) {
      const { protectedHeader } = await jwtVerify(token, getKey);
      kids.set(protectedHeader.kid, (kids.get(protectedHeader.kid) ?? 0) + 1);
    }
    expect(tokens).toHaveLength(1000);
    expect(new Set(kids.keys())).toEqual(new Set(["a", "b"]));
    expect(op.failures).toEqual([]);
  });

  test("a key that was revoked between header and signature signs nothing", async () => {
    let keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    let revoke = false;
    const next = createKeySet([{ keyId: "b", signer: await openLocalSigner() }]);
    // The source is asked for the header, and once more for the signature.
    const source = (): KeySet => {
      const now = keys;
      if (revoke) keys = next;
      return now;
    };
    op = await startOp({ keys: source, configuration: { clients: [{ ...CLIENT }] } });
    await accessToken(op);
    revoke = true;
    const results = await Promise.allSettled([accessToken(op), accessToken(op)]);
    const kids = results.map((result) =>
      result.status === "fulfilled" ? decodeProtectedHeader(result.value).kid : "refused",
    );
    expect(kids).not.toContain("a");
    expect(decodeProtectedHeader(await accessToken(op)).kid).toBe("b");
  });

  test("a key that the endpoint does not publish signs nothing", async () => {
    let keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    op = await startOp({
      keys: () => keys,
      // The mistake: the set of today, and not the source of sets.
      endpoint: (issuer) => createJwksEndpoint({ issuer, keys }),
      configuration: { clients: [{ ...CLIENT }] },
    });
    await accessToken(op);
    keys = createKeySet([{ keyId: "b", signer: await openLocalSigner() }, ...retired(keys)]);
    await expect(accessToken(op)).rejects.toThrow(/^500 .*server_error/);
    expect(op.failures.at(-1)?.error.cause).toMatchObject({ argument: "endpoint" });
  });

  test.each(["sig.2026-11.eu", "ключ/2026 🔑", "_", "a".repeat(256)])(
    "a kid of any spelling signs: %s",
    async (keyId) => {
      op = await startOp({
        keys: createKeySet([{ keyId, signer: await openLocalSigner() }]),
        configuration: { clients: [{ ...CLIENT }] },
      });
      const { protectedHeader } = await jwtVerify(await accessToken(op), createLocalJWKSet(await published(op)));
      expect(protectedHeader.kid).toBe(keyId);
    },
  );

  test.each(["retiring", "unknown", "signpost-free-place-0"])(
    "a resource server that asks for the %s key gets no token",
    async (kid) => {
      op = await startOp({
        keys: createKeySet([
          { keyId: "active", signer: await openLocalSigner() },
          { keyId: "retiring", signer: await openLocalSigner() },
        ]),
        configuration: {
          clients: [{ ...CLIENT }],
          features: {
            resourceIndicators: {
              enabled: true,
              getResourceServerInfo: () => ({
                scope: "",
                audience: "urn:example:api",
                accessTokenFormat: "jwt",
                jwt: { sign: { alg: "ES256", kid } },
              }),
            },
          },
        },
      });
      await expect(accessToken(op)).rejects.toThrow(/^500 .*server_error/);
    },
  );
});

describe("an id_token_hint", () => {
  test("that expired is accepted from the active, a retiring and a withdrawn key, and refused once it is dropped", async () => {
    const [a, b] = [
      generateKeyPairSync("ec", { namedCurve: "P-256" }),
      generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ];
    let time = 0;
    const schedule = createRotationSchedule(
      [
        {
          keyId: "a",
          signer: await openLocalSigner({ privateKey: a.privateKey }),
          announcedFrom: new Date(0),
          activeFrom: new Date(0),
        },
        {
          keyId: "b",
          signer: await openLocalSigner({ privateKey: b.privateKey }),
          announcedFrom: new Date(90 * HOUR),
          activeFrom: new Date(100 * HOUR),
        },
      ],
      { maxTokenLifetimeSeconds: 3600, hintAcceptanceHours: 10, clockSkewSeconds: 0, now: () => time },
    );
    op = await startOp({ keys: schedule, configuration: { clients: [HINT_CLIENT] } });
    const hintOfA = await hint(op.issuer, "a", a.privateKey);
    const hintOfB = await hint(op.issuer, "b", b.privateKey);
    const table: [number, boolean, boolean][] = [
      [0, true, false],
      [95 * HOUR, true, true],
      [100 * HOUR, true, true],
      [105 * HOUR, true, true],
      [111 * HOUR, false, true],
    ];
    for (const [moment, fromA, fromB] of table) {
      time = moment;
      expect([moment / HOUR, await accepted(op, hintOfA), await accepted(op, hintOfB)]).toEqual([
        moment / HOUR,
        fromA,
        fromB,
      ]);
    }
  });

  test("of a key that was unknown at construction is accepted, and of a key that is gone refused", async () => {
    const c = generateKeyPairSync("ec", { namedCurve: "P-256" });
    let keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }]);
    op = await startOp({ keys: () => keys, configuration: { clients: [HINT_CLIENT] } });
    const token = await hint(op.issuer, "c", c.privateKey);
    expect(await accepted(op, token)).toBe(false);
    keys = createKeySet([
      { keyId: "c", signer: await openLocalSigner({ privateKey: c.privateKey }) },
      ...retired(keys),
    ]);
    expect(await accepted(op, token)).toBe(true);
    keys = createKeySet([{ keyId: "d", signer: await openLocalSigner() }, ...retired(keys)]);
    expect(await accepted(op, token)).toBe(true);
    keys = createKeySet([{ keyId: "e", signer: await openLocalSigner() }]);
    expect(await accepted(op, token)).toBe(false);
  });

  test("of a legacy RS256 key is refused by the host, and discovery never names a legacy algorithm", async () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const keys = createKeySet([{ keyId: "a", signer: await openLocalSigner() }], {
      legacyVerificationKeys: [{ keyId: "old", alg: "RS256", publicKey: rsa.publicKey.export({ format: "jwk" }) }],
    });
    op = await startOp({ keys, configuration: { clients: [HINT_CLIENT] } });
    expect((await published(op)).keys.map((key) => key.kid)).toEqual(["a", "old"]);
    expect(await accepted(op, await hint(op.issuer, "old", rsa.privateKey, "RS256"))).toBe(false);
    const discovery = (await (await fetch(`${op.issuer}/.well-known/openid-configuration`)).json()) as Record<
      string,
      string[]
    >;
    for (const use of ["id_token", "userinfo", "introspection", "authorization"]) {
      expect(discovery[`${use}_signing_alg_values_supported`]).not.toContain("RS256");
    }
  });

  test.each(["signpost-free-place-0", "unknown"])("under the kid %s is refused", async (kid) => {
    const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" });
    op = await startOp({
      keys: createKeySet([{ keyId: "a", signer: await openLocalSigner() }]),
      configuration: { clients: [HINT_CLIENT] },
    });
    expect(await accepted(op, await hint(op.issuer, kid, foreign.privateKey))).toBe(false);
  });
});
