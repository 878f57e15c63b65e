import { createKeySet, signJwt } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import {
  createClientKeySets,
  createMemoryReplayStore,
  createOwnKeySet,
  createPublicDispatcher,
  createRedisReplayStore,
  createRemoteKeySet,
  createStaticKeySet,
  discoverKeySet,
  verifyClientAssertion,
  verifyOwnJwt,
  verifyRequestObject,
} from "@signpost/verify";
import { describe, expect, it } from "vitest";
import { testKey } from "./support/keys.ts";

// Options of every public function: what is misspelled, missing or out of bounds is refused, before anything is verified.

const issuer = "https://op.example";
const jwksUri = `${issuer}/jwks`;
const client = testKey("k");
const set = createKeySet([{ keyId: "one", signer: await openLocalSigner() }]);
const keyFunction = createOwnKeySet(set);
const registered = createStaticKeySet({ keys: [client.jwk] });
const redis = { sendCommand: async () => "OK" };

const now = Math.floor(Date.now() / 1000);
const times = { iat: now, exp: now + 60 };
const accessToken = await signJwt(
  set,
  { iss: issuer, aud: "api", sub: "s", client_id: "c", jti: "j", ...times },
  { typ: "at+jwt" },
);
const event = { "http://schemas.openid.net/event/backchannel-logout": {} };
const logoutToken = await signJwt(
  set,
  { iss: issuer, aud: "c", sub: "s", jti: "j", events: event, ...times },
  { typ: "logout+jwt" },
);
const idToken = await signJwt(set, { iss: issuer, aud: "c", sub: "s", ...times });
const assertion = await client.token({ iss: "client", sub: "client", aud: issuer, jti: "1", ...times });
const requestObject = await client.token({ client_id: "client", aud: issuer, ...times });

type Given = Readonly<Record<string, unknown>>;

interface Subject {
  /** Options that work. */
  readonly good: Given;
  /** Those of them that are required, with the values that are not taken for them. */
  readonly required?: Readonly<Record<string, readonly unknown[]>>;
  readonly call: (options: never) => unknown;
}

const assertionOptions = {
  issuer,
  keysOf: () => registered,
  replayStore: { claim: async () => true, ready: async () => {} },
};
const notText = [undefined, null, "", 7, ["a"]];
const notFunction = [undefined, null, "keys", {}];
const common = { keyFunction, issuer };
const ownRequired = { keyFunction: notFunction, issuer: notText, purpose: [undefined, "accesstoken", "Access_Token"] };

const subjects: Record<string, Subject> = {
  createRemoteKeySet: { good: {}, call: (options) => createRemoteKeySet(jwksUri, options) },
  "preload of a remote set": { good: {}, call: async (options) => remote().preload(options) },
  "refresh of a remote set": { good: {}, call: async (options) => remote().refresh(options) },
  discoverKeySet: { good: {}, call: (options) => discoverKeySet(issuer, options) },
  createStaticKeySet: { good: {}, call: (options) => createStaticKeySet({ keys: [client.jwk] }, options) },
  createOwnKeySet: { good: {}, call: (options) => createOwnKeySet(set, options) },
  createClientKeySets: { good: {}, call: (options) => createClientKeySets(options) },
  createMemoryReplayStore: { good: {}, call: (options) => createMemoryReplayStore(options) },
  createRedisReplayStore: { good: {}, call: (options) => createRedisReplayStore(redis, options) },
  createPublicDispatcher: { good: {}, call: (options) => createPublicDispatcher(options) },
  "verifyOwnJwt for an access token": {
    good: { ...common, purpose: "access_token", audience: "api" },
    required: { ...ownRequired, audience: [undefined, null, "", 7, [], ["api", ""], [7]] },
    call: async (options) => verifyOwnJwt(accessToken, options),
  },
  "verifyOwnJwt for a logout token": {
    good: { ...common, purpose: "logout_token", audience: "c" },
    required: { ...ownRequired, audience: notText },
    call: async (options) => verifyOwnJwt(logoutToken, options),
  },
  "verifyOwnJwt for an id_token_hint": {
    good: { ...common, purpose: "id_token_hint" },
    required: { ...ownRequired, keyFunction: [...notFunction, registered], audience: [null, 7, ["c"]] },
    call: async (options) => verifyOwnJwt(idToken, options),
  },
  verifyClientAssertion: {
    good: assertionOptions,
    required: {
      issuer: notText,
      keysOf: notFunction,
      replayStore: [undefined, null, {}, () => true],
      otherAudiences: [null, `${issuer}/token`, [7], [""]],
      clientId: [null, 7, ["client"]],
      algorithms: [null, "ES256", [], ["none"], { length: 1 }],
    },
    call: async (options) => verifyClientAssertion(assertion, options),
  },
  verifyRequestObject: {
    good: { issuer, clientId: "client", keyFunction: registered },
    required: { issuer: notText, clientId: notText, keyFunction: notFunction, algorithms: [null, "ES256", []] },
    call: async (options) => verifyRequestObject(requestObject, options),
  },
};

function remote() {
  const fetch = async () => Response.json({ keys: [client.jwk] });
  return createRemoteKeySet(jwksUri, { fetch });
}

async function refusal(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

const entries = Object.entries(subjects);

describe.each(entries)("%s", (_name, { good, call }) => {
  const called = async (options: unknown) => refusal(() => call(options as never));

  it("works with the options of this table", async () => {
    expect(await called(good)).toBeUndefined();
  });

  it.each([[null], ["options"], [7], [[]]])("refuses %j as options", async (options) => {
    expect(await called(options)).toMatchObject({ name: "ConfigurationError", argument: "options" });
  });

  it("refuses an option that it does not know", async () => {
    expect(await called({ ...good, colour: 1 })).toMatchObject({
      name: "ConfigurationError",
      argument: "colour",
      message: expect.stringMatching(/^colour: unknown option; /),
    });
    expect(await called({ ...good, colour: undefined })).toBeUndefined();
  });
});

const missing = entries.flatMap(([name, { required = {} }]) =>
  Object.entries(required).flatMap(([option, values]) => values.map((value) => [name, option, value] as const)),
);

it.each(missing)("%s refuses %s: %j", async (name, option, value) => {
  const subject = subjects[name];
  expect(await refusal(() => subject?.call({ ...subject.good, [option]: value } as never))).toMatchObject({
    name: "ConfigurationError",
    argument: option,
  });
});

it.each(entries.filter(([, { required }]) => required !== undefined))("%s needs options", async (_name, { call }) => {
  expect(await refusal(() => call(undefined as never))).toMatchObject({ name: "ConfigurationError" });
});

it("no token without iss passes for want of an issuer to compare", async () => {
  const token = await signJwt(set, { aud: "api", sub: "s", client_id: "c", jti: "j", ...times }, { typ: "at+jwt" });
  const options = { keyFunction, purpose: "access_token", audience: "api" };
  await expect(verifyOwnJwt(token, options as never)).rejects.toMatchObject({ argument: "issuer" });
});

it.each([
  ["createRemoteKeySet", "timeoutMS", "timeoutMs"],
  ["createRemoteKeySet", "maxAgeSeconds", "maxAgeCapSeconds"],
  ["discoverKeySet", "staleIfErrorSecond", "staleIfErrorSeconds"],
  ["createStaticKeySet", "allowMissingKID", "allowMissingKid"],
  ["createOwnKeySet", "withdrawnn", "withdrawn"],
  ["createClientKeySets", "maxClient", "maxClients"],
  ["createMemoryReplayStore", "maxEntrys", "maxEntries"],
  ["createRedisReplayStore", "keyPrefx", "keyPrefix"],
  ["createPublicDispatcher", "allowSubnet", "allowSubnets"],
  ["verifyOwnJwt for an access token", "clockToleranceSecs", "clockToleranceSeconds"],
  ["verifyClientAssertion", "maxLifeTimeSecond", "maxLifetimeSeconds"],
  ["verifyRequestObject", "clientID", "clientId"],
])("%s knows what %s was meant to be", async (name, misspelled, meant) => {
  const subject = subjects[name];
  const error = await refusal(() => subject?.call({ ...subject.good, [misspelled]: 1 } as never));
  expect(error).toMatchObject({ message: `${misspelled}: unknown option; did you mean ${meant}?` });
});

it("a client's key sets choose their own addresses", async () => {
  expect(await refusal(() => createClientKeySets({ publicAddressesOnly: false } as never))).toMatchObject({
    argument: "publicAddressesOnly",
  });
});

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly whole: boolean;
}

const DAY = 86_400;
const whole = (min: number, max: number): Bounds => ({ min, max, whole: true });
const number = (min: number, max: number): Bounds => ({ min, max, whole: false });

const remoteNumbers: Record<string, Bounds> = {
  timeoutMs: whole(1, 60_000),
  maxBodyBytes: whole(1, 16_777_216),
  maxKeys: whole(1, 10_000),
  defaultMaxAgeSeconds: number(0, DAY),
  maxAgeCapSeconds: number(0, 31 * DAY),
  minRevalidateIntervalMs: number(0, 3_600_000),
  staleIfErrorSeconds: number(0, DAY),
  forcedRefetchIntervalMs: number(0, 3_600_000),
  forcedRefetchBurst: whole(1, 1000),
  failureMemoryMs: number(0, 3_600_000),
};
const tolerance = { clockToleranceSeconds: number(0, 60) };

const numbers: Record<string, Record<string, Bounds>> = {
  createRemoteKeySet: remoteNumbers,
  discoverKeySet: remoteNumbers,
  createClientKeySets: { ...remoteNumbers, maxClients: whole(1, 1_000_000) },
  createStaticKeySet: { maxKeys: whole(1, 10_000) },
  createMemoryReplayStore: { maxEntries: whole(1, 10_000_000) },
  createRedisReplayStore: { timeoutMs: whole(1, 60_000) },
  "verifyOwnJwt for an access token": tolerance,
  "verifyOwnJwt for a logout token": tolerance,
  "verifyOwnJwt for an id_token_hint": tolerance,
  verifyClientAssertion: { ...tolerance, maxLifetimeSeconds: number(1, DAY) },
  verifyRequestObject: { ...tolerance, maxLifetimeSeconds: number(1, DAY) },
};

const bounded = Object.entries(numbers).flatMap(([name, options]) =>
  Object.entries(options).map(([option, bounds]) => [name, option, bounds] as const),
);

it.each(bounded)("%s takes %s within its bounds alone", async (name, option, { min, max, whole: isWhole }) => {
  const subject = subjects[name];
  const given = async (value: unknown) => refusal(() => subject?.call({ ...subject.good, [option]: value } as never));
  const bad = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, "10m", String(min), null, true, min - 1];
  for (const value of [...bad, max + 1, ...(isWhole ? [min + 0.5] : [])]) {
    expect([value, await given(value)]).toEqual([
      value,
      expect.objectContaining({ name: "ConfigurationError", argument: option }),
    ]);
  }
  for (const value of [min, max, undefined]) {
    const error = await given(value);
    // Within the bounds, a limit may still refuse the token.
    expect([value, (error as Error | undefined)?.name]).not.toEqual([value, "ConfigurationError"]);
  }
});

const notFlag = ["false", 0, null];
const notCallback = [null, "now", {}, 0];
const remoteOthers = {
  fetch: notCallback,
  dispatcher: [null, {}, "proxy"],
  allowInsecureLoopback: notFlag,
  staleWhileRevalidate: notFlag,
  allowMissingKid: notFlag,
  // Those with other texts would equal no answer's type.
  contentTypes: [
    null,
    "application/json",
    "ANY",
    [],
    [7],
    [""],
    ["any"],
    ["*/*"],
    ["json"],
    ["Application/JSON"],
    [" application/json"],
    ["application/json; charset=utf-8"],
  ],
  revalidateWith: [null, "HEAD", "post"],
  clock: notCallback,
  now: notCallback,
};

const others: Record<string, Record<string, readonly unknown[]>> = {
  createRemoteKeySet: { ...remoteOthers, publicAddressesOnly: notFlag },
  discoverKeySet: { ...remoteOthers, publicAddressesOnly: notFlag },
  createClientKeySets: remoteOthers,
  "preload of a remote set": { signal: [null, {}, "now"] },
  "refresh of a remote set": { signal: [null, {}, "now"] },
  createStaticKeySet: { allowMissingKid: notFlag },
  createOwnKeySet: { withdrawn: [null, [], {}] },
  createMemoryReplayStore: { clock: notCallback, now: notCallback },
  createRedisReplayStore: { keyPrefix: [null, 7, {}] },
  createPublicDispatcher: {
    allowSubnets: [null, "10.0.0.0/8", [7], ["10.0.0.0"]],
    nat64Prefixes: [null, "64:ff9b::/96", [7], ["64:ff9b::"]],
    // The last ones are read by no TLS library: a path, and the text of a variable that is not set.
    ca: [null, 7, {}, [7], [null], [], "/etc/ssl/ca.pem", "", [Buffer.from("ca")]],
    lookup: notCallback,
  },
  "verifyOwnJwt for an access token": { now: notCallback },
  "verifyOwnJwt for a logout token": { now: notCallback },
  "verifyOwnJwt for an id_token_hint": { now: notCallback },
  verifyClientAssertion: { now: notCallback, strictTyp: notFlag },
  verifyRequestObject: { now: notCallback, strictTyp: notFlag, allowOtherAudiences: notFlag },
};

const ofOtherTypes = Object.entries(others).flatMap(([name, options]) =>
  Object.entries(options).flatMap(([option, values]) => values.map((value) => [name, option, value] as const)),
);

it.each(ofOtherTypes)("%s refuses %s: %j as well", async (name, option, value) => {
  const subject = subjects[name];
  expect(await refusal(() => subject?.call({ ...subject.good, [option]: value } as never))).toMatchObject({
    name: "ConfigurationError",
    argument: option,
  });
});

it.each([
  [[], "an empty list"],
  [["none"], "a list with another value"],
  ["ES256", "a string"],
])("the algorithms %j are refused as %s", async (algorithms, words) => {
  const call = () => verifyClientAssertion(assertion, { ...assertionOptions, algorithms } as never);
  expect(await refusal(call)).toMatchObject({
    argument: "algorithms",
    message: expect.stringMatching(`got ${words}$`),
  });
});

// Nothing is earlier than NaN: no limit would end, or each of them at once.
it.each([
  ["clock", Number.NaN],
  ["now", Number.NaN],
  ["clock", Number.POSITIVE_INFINITY],
  ["now", "1000"],
])("a %s that gives %s is refused where it is read", async (option, value) => {
  const broken = { [option]: () => value } as never;
  for (const use of [
    () => createRemoteKeySet(jwksUri, broken),
    () => discoverKeySet(issuer, broken),
    () => createClientKeySets(broken).keysOf("client", { jwksUri }),
    () => createMemoryReplayStore(broken),
  ]) {
    expect(await refusal(use)).toMatchObject({ name: "ConfigurationError", argument: option });
  }
});

describe("arguments that are not options", () => {
  it.each([[undefined], [null], ["redis://127.0.0.1"], [{}]])(
    "createRedisReplayStore refuses the client %j",
    (value) => {
      expect(() => createRedisReplayStore(value as never)).toThrow(
        expect.objectContaining({ name: "ConfigurationError", argument: "client" }),
      );
    },
  );

  it.each([[undefined], [null], [7], [""], [new URL(issuer)]])("discoverKeySet refuses the issuer %s", (value) => {
    expect(() => discoverKeySet(value as never)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument: "issuer" }),
    );
  });

  it.each([[undefined], [null], [{}], ["now"]])("withSignal refuses %j", (signal) => {
    for (const keySet of [remote(), discoverKeySet(issuer)]) {
      expect(() => keySet.withSignal(signal as never)).toThrow(
        expect.objectContaining({ name: "ConfigurationError", argument: "signal" }),
      );
    }
  });

  it.each<[string, unknown, unknown, string]>([
    ["no client id", undefined, { jwksUri }, "clientId"],
    ["an empty client id", "", { jwksUri }, "clientId"],
    ["a client id that is not a string", 7, { jwksUri }, "clientId"],
    ["no keys", "client", undefined, "keys"],
    ["null for keys", "client", null, "keys"],
    ["a URI for keys", "client", jwksUri, "keys"],
    ["neither jwks nor jwksUri", "client", {}, "keys"],
    ["an empty URI", "client", { jwksUri: "" }, "jwksUri"],
  ])("keysOf refuses %s", (_name, clientId, keys, argument) => {
    expect(() => createClientKeySets().keysOf(clientId as never, keys as never)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", argument }),
    );
  });

  it("verifyClientAssertion accepts null from keysOf for an unknown client, and refuses anything else but a key function", async () => {
    const given = async (keys: unknown) =>
      refusal(() => subjects["verifyClientAssertion"]?.call({ ...assertionOptions, keysOf: () => keys } as never));
    expect(await given(null)).toMatchObject({ code: "unknown_client" });
    expect(await given({ keys: [] })).toMatchObject({ name: "ConfigurationError", argument: "keysOf" });
  });

  it.each([
    ["in memory", createMemoryReplayStore()],
    ["in Redis", createRedisReplayStore(redis)],
  ])("claim %s refuses times and ids that are none", async (_name, store) => {
    const bad = [Number.NaN, Number.POSITIVE_INFINITY, 0, -1, "1000", undefined, null, 31_622_400_001];
    for (const ttlMs of bad) {
      await expect(store.claim("id", ttlMs as never)).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "ttlMs",
      });
    }
    for (const id of [undefined, null, "", 7]) {
      await expect(store.claim(id as never, 1000)).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "id",
      });
    }
    for (const clientId of [null, "", 7]) {
      await expect(store.claim("id", 1000, { clientId } as never)).rejects.toMatchObject({
        name: "ConfigurationError",
        argument: "clientId",
      });
    }
    await expect(store.claim("id", 1000, { client: "one" } as never)).rejects.toMatchObject({ argument: "client" });
    await expect(store.claim("id", 1000, null as never)).rejects.toMatchObject({ argument: "options" });
    await expect(store.claim("id", 1000.5)).resolves.toBe(true);
    await expect(store.claim("another", 1000, { clientId: "one" })).resolves.toBe(true);
  });
});
