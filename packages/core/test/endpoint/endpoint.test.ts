import { Hash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  currentKeySet,
  type KeySet,
  serializeJwks,
} from "@signpost/core";
import type { JwksEndpointOptions } from "@signpost/core";
import {
  GOLDEN_ETAG,
  goldenSet,
  newP256Jwk,
  newRsaKey,
  parseBody,
  publishingSigner,
  setOf,
  thrownBy,
} from "../support/key-fixtures.ts";
import { atHour, clock, someSigner } from "../support/schedules.ts";

const RSA = newRsaKey(2048);
const issuer = "https://op.example";
const endpointOf = (keys: JwksEndpointOptions["keys"], onError?: (error: unknown) => void) =>
  createJwksEndpoint({ issuer, keys, onError });
const kids = (endpoint: ReturnType<typeof endpointOf>) => {
  const { body } = endpoint.respond("GET");
  return body === null ? [] : parseBody(body).keys.map((key) => key["kid"]);
};

describe("what is published", () => {
  test("may be given as a list of entries with encryption and legacy keys", () => {
    const endpoint = createJwksEndpoint({
      issuer,
      keys: [{ keyId: "sig", signer: publishingSigner() }],
      encryptionKeyset: [{ keyId: "enc", publicKey: RSA.jwk }],
      legacyVerificationKeys: [{ keyId: "old", publicKey: RSA.jwk, alg: "RS256" }],
    });
    expect(kids(endpoint)).toEqual(["sig", "old", "enc"]);
  });

  test("may be a schedule: the document is the current one", () => {
    const { now, set: at } = clock(0);
    const schedule = createRotationSchedule(
      [
        { keyId: "a", signer: someSigner(), announcedFrom: atHour(0), activeFrom: atHour(0) },
        { keyId: "b", signer: someSigner(), announcedFrom: atHour(90), activeFrom: atHour(100) },
      ],
      { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, now },
    );
    const endpoint = endpointOf(schedule);
    for (const [hour, expected] of [
      [0, ["a"]],
      [90, ["a", "b"]],
      [100, ["b", "a"]],
      [101, ["b"]],
    ] as const) {
      at(hour);
      expect(kids(endpoint)).toEqual(expected);
      expect(endpoint.respond("GET").body).toBe(serializeJwks(schedule.keySet()).body);
    }
  });

  test("is the document of the set, the very same bytes", () => {
    const set = goldenSet();
    const { body, headers } = endpointOf(set).respond("GET");
    expect(body).toBe(serializeJwks(set).body);
    expect(headers["ETag"]).toBe(GOLDEN_ETAG);
  });

  test("is hashed and serialised when the set is made, and never on a request, however many keys there are", () => {
    const stringify = vi.spyOn(JSON, "stringify");
    const digest = vi.spyOn(Hash.prototype, "digest");
    const calls = () => [stringify, digest].map((spy) => spy.mock.calls.length);
    const entries = Array.from({ length: 200 }, (_, index) => ({ keyId: `k${index}`, publicKey: newP256Jwk() }));
    const set = createKeySet([{ keyId: "sig", signer: publishingSigner() }, ...entries]);
    const made = calls();
    const endpoints = [endpointOf(set), endpointOf(() => set)];
    const bodies = endpoints.flatMap((endpoint) => {
      const first = endpoint.respond("GET");
      endpoint.respond("HEAD");
      endpoint.respond("GET", first.headers["ETag"]);
      endpoint.respond("GET", '"other"');
      return [first.body, endpoint.respond("GET").body];
    });
    const served = calls();
    vi.restoreAllMocks();
    expect(made.every((count) => count > 0)).toBe(true);
    expect(served).toEqual(made);
    expect(bodies.every((body) => body === serializeJwks(set).body)).toBe(true);
  });

  test("has its own headers in each response, so that a caller may add to them", () => {
    const endpoint = endpointOf(goldenSet());
    endpoint.respond("GET").headers["ETag"] = '"changed"';
    expect(endpoint.respond("GET").headers["ETag"]).toBe(GOLDEN_ETAG);
  });

  test("is the same through members taken off the endpoint", async () => {
    const { respond, fetch } = endpointOf(goldenSet());
    const response = fetch(new Request("https://anywhere.example/else?x=1"));
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(respond("GET").body);
  });
});

describe("a key source", () => {
  test("is followed from set to set: body and ETag move together", () => {
    let set = setOf("a");
    const endpoint = endpointOf(() => set);
    for (const next of [set, setOf("b"), setOf("c")]) {
      set = next;
      const { body, headers } = endpoint.respond("GET");
      expect({ body, etag: headers["ETag"] }).toEqual(serializeJwks(next));
    }
  });

  test("that throws before it ever gave a set means 500 without caching, for GET and HEAD", () => {
    const endpoint = endpointOf(() => {
      throw new Error("not yet");
    });
    const { status, headers, body } = endpoint.respond("GET", "*");
    expect(status).toBe(500);
    expect(headers).toEqual({ "Content-Type": "text/plain", "Content-Length": "22", "Cache-Control": "no-store" });
    expect(Buffer.from(body ?? []).toString()).toBe("internal server error\n");
    expect(endpoint.respond("HEAD")).toEqual({ status, headers, body: null });
  });

  test("that throws later leaves the last good document, and one report until it works again", () => {
    const error = new Error("the store is away");
    const [a, b] = [setOf("a"), setOf("b")];
    const steps: (KeySet | Error)[] = [a, error, error, b, error];
    const onError = vi.fn<(error: unknown) => void>();
    const endpoint = endpointOf(() => {
      const step = steps.shift();
      if (step === undefined || step instanceof Error) throw error;
      return step;
    }, onError);
    expect(Array.from({ length: 5 }, () => kids(endpoint))).toEqual([["a"], ["a"], ["a"], ["b"], ["b"]]);
    expect(onError.mock.calls).toEqual([[error], [error]]);
  });

  const refused: readonly (readonly [string, () => unknown])[] = [
    ["an object of the same shape", () => ({ ...goldenSet() })],
    ["a promise", () => Promise.resolve(goldenSet())],
    ["nothing", () => undefined],
    ["a set that binds a kid to another key", () => setOf("a")],
  ];
  test.for(refused)("that gives %s leaves the last good document and is reported", ([, next]) => {
    const good = setOf("a");
    let source: () => unknown = () => good;
    const onError = vi.fn<(error: unknown) => void>();
    const endpoint = endpointOf(() => source() as KeySet, onError);
    const before = endpoint.respond("GET");
    source = next;
    expect(endpoint.respond("GET")).toEqual(before);
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ name: "ConfigurationError", argument: "keys" })]]);
  });

  test("shared with signing: a set that signing accepted first is the one that the endpoint goes on with", () => {
    const sets = [setOf("a"), setOf("b")];
    const source = () => {
      const set = sets.shift();
      if (set === undefined) throw new Error("away");
      return set;
    };
    const endpoint = endpointOf(source);
    expect(kids(endpoint)).toEqual(["a"]);
    expect(currentKeySet(source).active.keyId).toBe("b");
    expect(kids(endpoint)).toEqual(["b"]);
  });

  test("shared with signing: a set that was refused to one is refused to the other", () => {
    const sets = [setOf("a"), setOf("a")];
    const [first, second] = sets;
    let current = first;
    const source = () => current ?? goldenSet();
    expect(currentKeySet(source)).toBe(first);
    current = second;
    const onError = vi.fn<(error: unknown) => void>();
    expect(endpointOf(source, onError).respond("GET").body).toBe(first && serializeJwks(first).body);
    expect(onError).toHaveBeenCalledTimes(1);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject({ code: "kid_rebound" });
  });

  test("is asked for its set once a request, and only for GET and HEAD", () => {
    const set = goldenSet();
    const source = vi.fn<() => KeySet>(() => set);
    const endpoint = endpointOf(source);
    expect(source).not.toHaveBeenCalled();
    for (const method of ["GET", "HEAD", "POST", "OPTIONS"]) endpoint.respond(method);
    expect(source).toHaveBeenCalledTimes(2);
  });
});

describe("onError", () => {
  const failing = () => {
    throw new Error("source");
  };
  test("that throws does not reach the request", () => {
    const endpoint = endpointOf(failing, () => {
      throw new Error("hostile");
    });
    expect([endpoint.respond("GET").status, endpoint.respond("GET").status]).toEqual([500, 500]);
  });

  test("that is async and rejects leaves no unhandled rejection", async () => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    endpointOf(failing, () => Promise.reject(new Error("hostile")) as unknown as undefined).respond("GET");
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test("hears of the source and of the predicate apart from each other", () => {
    const [ofSource, ofPredicate] = [new Error("source"), new Error("predicate")];
    const onError = vi.fn<(error: unknown) => void>();
    const fail = (error: Error) => () => {
      throw error;
    };
    const jwksRotationActive = fail(ofPredicate);
    const endpoint = createJwksEndpoint({ issuer, keys: fail(ofSource), jwksRotationActive, onError });
    endpoint.respond("GET");
    endpoint.respond("GET");
    expect(onError.mock.calls).toEqual([[ofSource], [ofPredicate]]);
  });
});

describe("an option is refused when it is", () => {
  const entries = [{ keyId: "sig", signer: publishingSigner() }];
  test.for([
    ["keys", { keys: undefined }],
    ["keys", { keys: null }],
    ["keys", { keys: [] }],
    ["keys", { keys: {} }],
    ["keys", { keys: { ...goldenSet() } }],
    ["keys", { keys: "sig" }],
    ["keys[0]", { keys: [{ keyId: "sig", publicKey: newP256Jwk() }] }],
    ["keys[0].keyId", { keys: [{ keyId: "", signer: publishingSigner() }] }],
    ["encryptionKeyset", { keys: goldenSet(), encryptionKeyset: [] }],
    ["encryptionKeyset", { keys: () => goldenSet(), encryptionKeyset: [{ publicKey: RSA.jwk }] }],
    ["legacyVerificationKeys", { keys: goldenSet(), legacyVerificationKeys: [] }],
    ["encryptionKeyset[0].publicKey", { encryptionKeyset: [{ publicKey: RSA.privateJwk }] }],
    ["cors", { cors: "true" }],
    ["cors", { cors: 1 }],
    ["cors", { cors: null }],
    ["allowInsecureIssuer", { allowInsecureIssuer: "yes" }],
    ["weakIfNoneMatch", { weakIfNoneMatch: "weak" }],
    ["weakIfNoneMatch", { weakIfNoneMatch: true }],
    ["onError", { onError: "console" }],
  ] as const)("%s (row %#)", ([argument, change]) => {
    const options = { issuer, keys: entries, ...change } as unknown as JwksEndpointOptions;
    expect(thrownBy(() => createJwksEndpoint(options))).toMatchObject({ name: "ConfigurationError", argument });
  });
});
