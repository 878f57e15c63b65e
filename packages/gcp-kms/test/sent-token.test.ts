import { generateKeyPairSync } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { rememberToken, sentSecretsOf, withSentToken } from "../src/sent-token.ts";
import { rejection } from "./support/signatures.ts";

const TOKEN = "opaque-token-0123456789abcdef";
const keyVersion = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";

/** A client of the caller, whose service repeats the headers of a call. A stub of gRPC has a channel. */
function repeatingClient(stub: object, auth: object): GcpKmsClientLike {
  const initialized = Promise.resolve(stub);
  const refuse = (): Promise<never> => {
    const details = `no access for ${TOKEN}`;
    return Promise.reject(Object.assign(new Error(`7 PERMISSION_DENIED: ${details}`), { code: 7, details }));
  };
  return {
    auth: auth as NonNullable<GcpKmsClientLike["auth"]>,
    initialize: () => initialized,
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close: async () => undefined,
  };
}

const refusalBy = async (client: GcpKmsClientLike): Promise<unknown> =>
  rejection(openGcpKmsSigner({ keyVersion, client }));
const getRequestHeaders = async (): Promise<Headers> => new Headers({ authorization: `Bearer ${TOKEN}` });

describe("the access token of the caller's client is not shown, if the service repeats it,", () => {
  test.each([
    ["gRPC", { getChannel: () => undefined }],
    ["REST", {}],
  ])("over %s", async (_transport, stub) => {
    const refusal = await refusalBy(repeatingClient(stub, { cachedCredential: {}, getRequestHeaders }));
    expect(refusal).toMatchObject({ code: "access_denied" });
    expect(inspect(refusal, { depth: Infinity, showHidden: true })).not.toContain(TOKEN);
  });
});

test("a client over gRPC without credentials of the SDK is not made to search for them", async () => {
  let asked = 0;
  const auth = { cachedCredential: null, getRequestHeaders: () => Promise.reject(new Error(String((asked += 1)))) };
  await refusalBy(repeatingClient({ getChannel: () => undefined }, auth));
  expect(asked).toBe(0);
});

test("a token that does not come is not waited for", async () => {
  const auth = { cachedCredential: {}, getRequestHeaders: () => new Promise(() => undefined) };
  const refusal = await refusalBy(repeatingClient({ getChannel: () => undefined }, auth));
  expect(refusal).toMatchObject({ code: "access_denied" });
});

test("a token that was replaced while a call goes on is not shown either", async () => {
  let given = TOKEN;
  const waiting: (() => void)[] = [];
  const auth = { getRequestHeaders: async () => new Headers({ authorization: `Bearer ${given}` }) };
  const client = repeatingClient({}, auth);
  const signer = await openGcpKmsSigner({
    keyVersion,
    publicKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ format: "jwk" }),
    policy: false,
    client: {
      ...client,
      asymmetricSign: async (request, options) => {
        await new Promise<void>((resolve) => waiting.push(resolve));
        return client.asymmetricSign(request, options);
      },
    },
  });
  const refused = [rejection(signer.sign(new Uint8Array(32)))];
  await vi.waitFor(() => expect(waiting).toHaveLength(1));
  given = "ZYXWVUTSRQPONMLKJIHGFEDCBA";
  refused.push(rejection(signer.sign(new Uint8Array(32))));
  await vi.waitFor(() => expect(waiting).toHaveLength(2));
  for (const goOn of waiting) goOn();
  for (const refusal of await Promise.all(refused)) {
    expect(refusal).toMatchObject({ code: "access_denied" });
    expect(inspect(refusal, { depth: Infinity, showHidden: true })).not.toContain(TOKEN);
  }
});

describe("the token", () => {
  const client = {};
  const secretsAfter = async (headers: unknown): Promise<readonly string[]> => {
    const fresh = {};
    rememberToken(fresh, headers);
    return sentSecretsOf(await withSentToken(new Error("no"), fresh));
  };

  test.each<[what: string, headers: unknown, token: string | undefined]>([
    ["a plain object", { Authorization: `Bearer ${TOKEN}` }, TOKEN],
    ["headers of fetch", new Headers({ authorization: `Bearer ${TOKEN}` }), TOKEN],
    ["headers of another realm", { get: (name: string) => (name === "authorization" ? `bearer ${TOKEN}` : "") }, TOKEN],
    ["white space around it", { Authorization: ` Bearer ${TOKEN} ` }, TOKEN],
    ["the scheme of Google Distributed Cloud", { Authorization: `STS-Bearer ${TOKEN}` }, TOKEN],
    ["no scheme", { Authorization: TOKEN }, undefined],
    ["nothing behind its scheme", { Authorization: "Bearer " }, undefined],
    ["no text", { Authorization: [`Bearer ${TOKEN}`] }, undefined],
    ["nothing", undefined, undefined],
  ])("is read from %s", async (_what, headers, token) => {
    expect(await secretsAfter(headers)).toEqual(token === undefined ? [] : [token]);
  });

  test("and the one before it are those of a client, and no other's", async () => {
    rememberToken(client, { Authorization: "Bearer first-token" });
    rememberToken(client, { Authorization: "Bearer second-token" });
    rememberToken(client, {});
    expect(sentSecretsOf(await withSentToken(new Error("no"), client))).toEqual(["second-token", "first-token"]);
    expect(sentSecretsOf(await withSentToken(new Error("no"), {}))).toEqual([]);
  });

  test("is not looked for with an error that is no object", async () => {
    expect(await withSentToken("text", client)).toBe("text");
    expect(await withSentToken(null, client)).toBeNull();
    expect([sentSecretsOf("text"), sentSecretsOf(null)]).toEqual([[], []]);
  });

  test("that the client keeps is waited for 100 ms", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const auth = { cachedCredential: {}, getRequestHeaders: () => new Promise(() => undefined) };
    let isOver = false;
    const error = withSentToken(new Error("no"), { auth }).finally(() => (isOver = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isOver).toBe(true);
    expect(sentSecretsOf(await error)).toEqual([]);
  });

  test("that the client keeps is asked for as the client does", async () => {
    const auth = {
      cachedCredential: {},
      getRequestHeaders(): Promise<object> {
        return Promise.resolve({ Authorization: this === auth ? `Bearer ${TOKEN}` : "" });
      },
    };
    expect(sentSecretsOf(await withSentToken(new Error("no"), { auth }))).toEqual([TOKEN]);
    const broken = { cachedCredential: {}, getRequestHeaders: () => Promise.reject(new Error("no token")) };
    expect(sentSecretsOf(await withSentToken(new Error("no"), { auth: broken }))).toEqual([]);
    expect(sentSecretsOf(await withSentToken(new Error("no"), { auth: { cachedCredential: {} } }))).toEqual([]);
  });
});
