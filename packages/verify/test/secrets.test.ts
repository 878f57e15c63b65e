import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import {
  createClientKeySets,
  createJwtVerifier,
  createMemoryReplayStore,
  createOwnKeySet,
  createRedisReplayStore,
  createRemoteKeySet,
  createStaticKeySet,
  discoverKeySet,
  type KeyFunction,
  type RemoteKeyFunction,
  verifyClientAssertion,
  verifyOwnJwt,
  verifyRequestObject,
} from "@signpost/verify";
import { createKeySet } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { ECHO_STATUSES } from "@signpost/test-backends/echo-proxy";
import { chosen } from "@signpost/test-backends/chosen";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedKey, markedLetters, markedText, type MarkedSecret } from "@signpost/test-backends/marked-secrets";
import { misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { testKey } from "./support/keys.ts";
import { es256, rawJws } from "./support/raw-jws.ts";

// Every failure path with marked tokens, claims and URLs: nothing that a program can log contains a part of one.

const claim = markedText("a claim");
const expected = markedText("an expected value");
const query = markedText("the query of a URL");
const password = markedText("the password of Redis");
const privateKey = markedKey("a private key in a key set");
const wrong = misplacedSecrets("a misplaced secret");
const issuer = "https://op.example";
const NOW = 1_800_000_000;
const key = testKey("k");
const keys = createStaticKeySet({ keys: [key.jwk] });
const own = createOwnKeySet(createKeySet([{ keyId: "k", signer: await openLocalSigner() }]));

/** Each token's signature is as good as the token: those of the tokens here are found by the bytes that they end with. */
const signatures: MarkedSecret[] = [];
const watch = watchLeaks([claim, expected, query, password, privateKey, ...wrong.secrets]);
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(() => watch[Symbol.dispose]());

const usual = { iss: issuer, sub: "rp", aud: issuer, exp: NOW + 60, iat: NOW, jti: "1", client_id: "rp" };
const now = (): number => NOW * 1000;

function tokenOf(claims: object, header: object = {}, sign = es256(key.privateKey)): string {
  const jwt = rawJws({ alg: "ES256", kid: "k", ...header }, { ...usual, ...claims }, sign);
  signatures.push({ name: "the signature of a token", bytes: Buffer.from(jwt.split(".")[2] ?? "", "base64url") });
  return jwt;
}

/** Each way to verify a token. */
const WAYS: Readonly<Record<string, (jwt: string, keyFunction?: KeyFunction) => Promise<unknown>>> = {
  "an ID token": (jwt, given = keys) =>
    createJwtVerifier({ type: "id_token", issuer, audience: issuer, keys: given, now, maxTokenAgeSeconds: 100 }).verify(
      jwt,
      {
        nonce: expected.text,
        accessToken: expected.text,
        code: expected.text,
        maxAgeSeconds: 10,
      },
    ),
  "an access token": (jwt, given = keys) =>
    createJwtVerifier({ type: "access_token", issuer, audience: issuer, keys: given, now }).verify(jwt, {
      scopes: [expected.text.replaceAll(/[^\w]/g, "")],
    }),
  "a client assertion": (jwt, given = keys) =>
    verifyClientAssertion(jwt, {
      issuer,
      keysOf: () => given,
      replayStore: createMemoryReplayStore(),
      now,
      clientId: "rp",
    }),
  "a request object": (jwt, given = keys) =>
    verifyRequestObject(jwt, { issuer, clientId: "rp", keyFunction: given, now }),
  "an own token": (jwt) =>
    verifyOwnJwt(jwt, { issuer, purpose: "access_token", audience: issuer, keyFunction: own, now }),
  "a hint": (jwt) => verifyOwnJwt(jwt, { issuer, purpose: "id_token_hint", keyFunction: own, now }),
  "a logout token": (jwt) =>
    verifyOwnJwt(jwt, { issuer, purpose: "logout_token", audience: issuer, keyFunction: own, now }),
};

const CLAIMS = [
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "client_id",
  "azp",
  "nonce",
  "at_hash",
  "c_hash",
  "auth_time",
  "scope",
  "events",
  "acr",
  "request",
  "request_uri",
  "response_type",
];
const HEADERS = ["alg", "kid", "typ", "cty", "crit", "b64", "jwk", "jku", "x5u", "x5c", "x5t", "zip", "enc"];

describe.each(Object.entries(WAYS))("%s", (what, verify) => {
  const values: readonly unknown[] = [
    claim.text,
    [claim.text],
    { a: claim.text },
    [claim.text, claim.text],
    `https://${claim.text}`,
  ];
  test.each(CLAIMS)("with a marked %s", async (name) => {
    for (const value of values) {
      for (const typ of [undefined, "at+jwt", "logout+jwt", "oauth-authz-req+jwt"]) {
        const jwt = tokenOf({ other: claim.text, [name]: value }, { typ });
        const error = await watch.sawCall(() => verify(jwt).then(() => "verified"), `${what} with ${name}`);
        for (const part of jwt.split(".").slice(1)) expect(String(error)).not.toContain(part.slice(0, 12));
      }
    }
  });

  test.each(HEADERS)("with a marked %s in its header", async (name) => {
    for (const value of [...values, privateKey.jwk, 1, null]) {
      const jwt = tokenOf({ other: claim.text }, { [name]: value });
      await watch.sawCall(() => verify(jwt).then(() => "verified"), `${what} with the header ${name}`);
    }
  });

  test("that is damaged at any place, or signed by another key", async () => {
    const jwt = tokenOf({ other: claim.text });
    const [header = "", payload = "", signature = ""] = jwt.split(".");
    const damaged = [
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature}.${signature}`,
      `${header}.${payload.slice(0, -3)}.${signature}`,
      `${payload}.${header}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -4)}`,
      `${header}.${payload}.AA${signature.slice(2)}`,
      `${header}=.${payload}.${signature}`,
      jwt.replace(".", ".\n"),
      `Bearer ${jwt}`,
      payload,
      claim.text,
      JSON.stringify({ payload: claim.text }),
      Buffer.from(claim.text).toString("base64url"),
      `${jwt}${"A".repeat(70_000)}`,
      `${header}.${Buffer.from(`{"a":"${claim.text.replaceAll(/["\\]/g, "")}"`).toString("base64url")}.${signature}`,
      `${header}.${Buffer.from(JSON.stringify(claim.text)).toString("base64url")}.${signature}`,
      tokenOf({ other: claim.text }, {}, es256(testKey("k").privateKey)),
    ];
    for (const each of damaged) await watch.sawCall(() => verify(each).then(() => "verified"), `${what}, damaged`);
    for (const [, value] of wrong.values)
      await watch.sawCall(() => verify(value as string).then(() => "verified"), `${what} that is no text`);
  });

  test("whose keys fail, or whose key function repeats the token", async () => {
    const jwt = tokenOf({ other: claim.text });
    for (const fail of [() => Promise.reject(new Error("no such key")), () => undefined, () => Promise.resolve({})]) {
      await watch.sawCall(
        () => verify(jwt, fail as unknown as KeyFunction).then(() => "verified"),
        `${what} without keys`,
      );
    }
  });
});

test("a signature of a token is in no text", () => {
  using found = watchLeaks(signatures);
  found.sawText(watch.leaks().join("\n"), "the leaks");
  expect(signatures.length).toBeGreaterThan(500);
});

describe("a key set from the network", () => {
  interface Answer {
    readonly status: number;
    readonly headers?: Record<string, string>;
    readonly body: string;
    readonly isSilent?: boolean;
  }
  let answer: (asked: IncomingMessage) => Answer = () => ({ status: 200, body: "" });
  const server = createServer((asked, response) => {
    const { status, headers = {}, body, isSilent = false } = answer(asked);
    if (isSilent) return;
    response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(status === 204 || status === 304 ? undefined : body);
  });
  const started = (async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  })();
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const secret = encodeURIComponent(query.text);
  const fetchAll = async (what: string): Promise<void> => {
    const origin = await started;
    const options = { allowInsecureLoopback: true, timeoutMs: 300, failureMemoryMs: 0, minRevalidateIntervalMs: 0 };
    const sets = [
      createRemoteKeySet(`${origin}/jwks?token=${secret}`, options),
      createRemoteKeySet(`${origin}/jwks?token=${secret}`, { ...options, revalidateWith: "head" }),
    ];
    for (const set of sets) {
      await watch.sawCall(() => set.preload(), `a key set, ${what}`);
      await watch.sawCall(() => set({ alg: "ES256", kid: claim.text }).then(() => "found"), `a key, ${what}`);
      await watch.sawCall(() => set.refresh(), `a refresh, ${what}`);
      watch.saw(set.stats(), `counters, ${what}`);
    }
    const discovered = discoverKeySet(origin, options);
    await watch.sawCall(() => discovered.preload(), `a discovered set, ${what}`);
    watch.saw(discovered.stats(), `counters, ${what}`);
    const clients = createClientKeySets({ ...options });
    await watch.sawCall(
      () =>
        clients
          .keysOf("rp", { jwksUri: `${origin}/jwks?token=${secret}` })({ alg: "ES256", kid: claim.text })
          .then(() => "found"),
      `a client's key, ${what}`,
    );
  };

  test.each(chosen(ECHO_STATUSES, 9))("that answers %i and repeats the URL", async (status) => {
    answer = ({ url, headers }) => ({
      status,
      headers: {
        location: `/${String(url)}`,
        "x-a": String(url),
        etag: `"${String(url).replaceAll('"', "")}"`,
        "retry-after": String(url),
      },
      body: JSON.stringify({
        error: url,
        headers,
        keys: [],
        jwks_uri: `https://host.example/?a=${secret}`,
        issuer: String(url),
      }),
    });
    await fetchAll(`status ${status}`);
  });

  test.each([
    ["private keys", () => JSON.stringify({ keys: [{ ...privateKey.jwk, kid: "a" }] })],
    [
      "private keys among others",
      () => JSON.stringify({ keys: [key.jwk, { ...privateKey.jwk, kid: "a", x5c: [privateKey.pem] }] }),
    ],
    ["a private key as PEM", () => privateKey.pem],
    ["a secret key", () => JSON.stringify({ keys: [{ kty: "oct", k: privateKey.jwk.d }] })],
    ["a damaged key", () => JSON.stringify({ keys: [{ ...key.jwk, x: privateKey.jwk.d }] })],
    ["text that is no JSON", () => `{"keys":[{"d":"${privateKey.jwk.d}"`],
    ["another issuer", () => JSON.stringify({ issuer: query.text, jwks_uri: `https://user:${secret}@host.example/` })],
    ["a jwks_uri with a secret", () => JSON.stringify({ issuer: "x", jwks_uri: `http://host.example/?a=${secret}` })],
  ])("that has %s", async (what, body) => {
    answer = () => ({ status: 200, body: body() });
    await fetchAll(what);
  });

  test("that breaks a limit, or gives another key to a kid", async () => {
    const jwksUri = `${await started}/jwks?token=${secret}`;
    const codeOf = async (
      what: string,
      options: object,
      call: (set: RemoteKeyFunction) => unknown,
    ): Promise<unknown> => {
      const set = createRemoteKeySet(jwksUri, { allowInsecureLoopback: true, ...options });
      return Reflect.get(Object(await watch.sawFailure(() => call(set), what)), "code");
    };
    const good = JSON.stringify({ keys: [key.jwk] });
    answer = () => ({ status: 200, headers: { "content-type": `text/html; a=${secret}` }, body: query.text });
    expect(await codeOf("another type", {}, (set) => set.preload())).toBe("unexpected_content_type");
    answer = () => ({ status: 200, body: `{"keys":[],"a":"${secret.repeat(3000)}"}` });
    expect(await codeOf("a long body", {}, (set) => set.preload())).toBe("body_too_large");
    answer = () => ({ status: 200, body: "", isSilent: true });
    expect(await codeOf("silence", { timeoutMs: 50 }, (set) => set.preload())).toBe("timeout");
    expect(await codeOf("an abort", {}, (set) => set.preload({ signal: AbortSignal.abort() }))).toBe("aborted");
    answer = () => ({ status: 200, body: good });
    const unknown = { alg: "ES256", kid: claim.text };
    const often = (set: RemoteKeyFunction): unknown => set(unknown).catch(() => set({ ...unknown, kid: "another" }));
    expect(await codeOf("unknown kids", {}, often)).toBe("unknown_kid");
    const rebound = async (set: RemoteKeyFunction): Promise<unknown> => {
      await set({ alg: "ES256", kid: "k" });
      answer = () => ({ status: 200, body: JSON.stringify({ keys: [testKey("k").jwk] }) });
      await set.refresh();
      return set({ alg: "ES256", kid: "k" });
    };
    expect(await codeOf("another key", { minRevalidateIntervalMs: 0 }, rebound)).toBe("kid_rebound");
  });

  test("that cannot be fetched by the function of the caller", async () => {
    for (const code of ["ECONNREFUSED", "UND_ERR_SOCKET", undefined]) {
      const fetch = (url: string): Promise<never> =>
        Promise.reject(
          Object.assign(
            new TypeError(`fetch failed: ${url}`, { cause: Object.assign(new Error(`connect ${url}`), { code }) }),
            { url },
          ),
        );
      const set = createRemoteKeySet(`https://op.example/jwks?token=${secret}`, { fetch });
      await watch.sawCall(() => set.preload(), `a fetch that fails with ${code}`);
      const client = createClientKeySets({ fetch }).keysOf("rp", {
        jwksUri: `https://op.example/jwks?token=${secret}`,
      });
      await watch.sawCall(() => client({ alg: "ES256", kid: "a" }), `a client's fetch that fails with ${code}`);
    }
  });
});

describe("a rule that a token breaks", () => {
  const broken: readonly (readonly [what: string, claims: object, code: string])[] = [
    ["expired", { exp: NOW - 100 }, "expired"],
    ["not valid yet", { nbf: NOW + 1000 }, "not_yet_valid"],
    ["valid for too long", { exp: NOW + 100_000 }, "lifetime_too_long"],
  ];
  test.each(broken)("it is %s", async (what, claims, code) => {
    const jwt = tokenOf({ iss: "rp", ...claims, other: claim.text, jti: claim.text });
    const assertion = { issuer, keysOf: () => keys, replayStore: createMemoryReplayStore(), now };
    expect(await watch.sawFailure(() => verifyClientAssertion(jwt, assertion), what)).toMatchObject({ code });
  });

  test("it was used before, or its client is unknown", async () => {
    const jwt = tokenOf({ other: claim.text, jti: claim.text, sub: claim.text, iss: claim.text });
    const assertion = { issuer, keysOf: () => keys, replayStore: createMemoryReplayStore(), now };
    await verifyClientAssertion(jwt, assertion);
    const again = await watch.sawFailure(() => verifyClientAssertion(jwt, assertion), "used before");
    expect(again).toMatchObject({ code: "replayed" });
    const unknown = { ...assertion, keysOf: () => undefined };
    expect(await watch.sawFailure(() => verifyClientAssertion(jwt, unknown), "unknown")).toMatchObject({
      code: "unknown_client",
    });
  });

  test.each([
    ["fits no key", [key.jwk], { alg: "RS256", kid: "k" }, "no_suitable_key"],
    [
      "names a key that was left out",
      [key.jwk, { ...privateKey.jwk, kid: "p" }],
      { alg: "ES256", kid: "p" },
      "key_left_out",
    ],
    ["names two keys", [key.jwk, { ...testKey("k").jwk }], { alg: "ES256", kid: "k" }, "ambiguous_key"],
  ])("its header %s", async (what, list, header, code) => {
    const set = createStaticKeySet({ keys: list });
    expect(await watch.sawFailure(() => set(header), what)).toMatchObject({ code });
  });
});

describe("a replay store", () => {
  const jti = markedLetters("a jti", 24);
  test.each([
    [
      "that repeats its arguments",
      (id: string) => new Error(`ERR unknown command 'SET', with args beginning with: '${id}' 'x'`),
    ],
    [
      "whose error has the command",
      (id: string) =>
        Object.assign(new Error("NOAUTH Authentication required."), {
          command: { name: "set", args: [id, password.text] },
        }),
    ],
    [
      "that tells its password",
      () =>
        Object.assign(new Error("WRONGPASS invalid username-password pair"), {
          command: { name: "auth", args: [password.text] },
          options: { password: password.text },
        }),
    ],
  ])("%s", async (what, failure) => {
    const client = { call: (_command: string, args: string[]) => Promise.reject(failure(args[0] ?? "")) };
    const replayStore = createRedisReplayStore(client);
    using found = watchLeaks([{ name: "an id", bytes: Buffer.from(jti) }]);
    await found.sawCall(() => replayStore.claim(jti, 1000), what);
    expect(found.leaks()).toEqual([]);
    await watch.sawCall(() => replayStore.ready(), what);
    const jwt = tokenOf({ jti: claim.text });
    await watch.sawCall(() => verifyClientAssertion(jwt, { issuer, keysOf: () => keys, replayStore, now }), what);
  });

  test("that is full, or that a client fills", async () => {
    const store = createMemoryReplayStore({ maxEntries: 100 });
    for (let count = 0; count < 101; count += 1) {
      await watch.sawCall(() => store.claim(`${claim.text}${count}`, 60_000, { clientId: claim.text }), "a full store");
    }
  });
});

test("the codes of all failures were seen", () => {
  const source = readFileSync(fileURLToPath(new URL("../src/errors.ts", import.meta.url)), "utf8");
  const codes = [...source.matchAll(/^ {2}\| "(\w+)"/gm)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(30);
  // Only where undici cannot check addresses, and where thousands of documents make room for each other.
  expect(codes.filter((code) => !watch.codes.has(code))).toEqual(["guard_unavailable", "throttled"]);
});
