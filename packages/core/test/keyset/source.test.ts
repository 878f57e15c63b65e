import { describe, expect, test, vi } from "vitest";
import { ConfigurationError, createKeySet, currentKeySet, type KeySet } from "@signpost/core";
import { tryKeySource } from "@signpost/core/adapter";
import { lastKeySet } from "../../src/keyset/source.ts";
import { goldenSet, newP256Jwk, newRsaKey, publishingSigner, setOf, thrownBy } from "../support/key-fixtures.ts";

/** A source function that gives the sets in turn; an Error among them is thrown. */
function sourceOf(...steps: (KeySet | Error)[]): () => KeySet {
  return () => {
    const step = steps.shift();
    if (step === undefined) throw new Error("the test asked the source too often");
    if (step instanceof Error) throw step;
    return step;
  };
}

describe("a source", () => {
  test("may be a set, which is then always the current one", () => {
    const set = goldenSet();
    expect(currentKeySet(set)).toBe(set);
  });

  test("may be a function, which is asked each time", () => {
    const [first, second] = [setOf("a"), setOf("b")];
    const source = sourceOf(first, first, second);
    expect([currentKeySet(source), currentKeySet(source), currentKeySet(source)]).toEqual([first, first, second]);
  });

  test("that throws has its error passed through", () => {
    const error = new Error("the configuration store is away");
    expect(thrownBy(() => currentKeySet(sourceOf(error)))).toBe(error);
  });

  const answers: readonly (readonly [string, () => unknown])[] = [
    ["nothing", () => undefined],
    ["null", () => null],
    ["an object of the same shape", () => ({ ...goldenSet() })],
    ["a list of entries", () => [{ signer: publishingSigner() }]],
    ["a promise of a set", () => Promise.resolve(goldenSet())],
    // An unhandled rejection would fail the run.
    ["a promise that rejects", () => Promise.reject(new Error("dropped"))],
    ["a function", () => goldenSet],
  ];
  test.for(answers)("that gives %s is refused", ([, source]) => {
    const error = thrownBy(() => currentKeySet(source as () => KeySet));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ argument: "keys" });
  });

  test.for([undefined, null, {}, "set", [], { active: {}, keys: [], find: () => undefined }])(
    "that is %s is refused",
    (value) => {
      expect(thrownBy(() => currentKeySet(value as KeySet))).toMatchObject({ argument: "keys" });
    },
  );

  test("that returns a copy of a set, or a set from another copy of the package, is refused with a message that says so", async () => {
    vi.resetModules();
    const other = await import("@signpost/core");
    const foreign = other.createKeySet([{ signer: publishingSigner() }]);
    const schedule = {
      keySet: () => foreign,
      jwksRotationActive: () => false,
      withdrawn: () => [],
      nextChange: () => null,
      latestExpiry: () => 0,
    };
    for (const source of [foreign, () => foreign, schedule, () => ({ ...goldenSet() })]) {
      const refused = expect.objectContaining({ message: expect.stringContaining("another copy of @signpost/core") });
      expect(thrownBy(() => currentKeySet(source as KeySet))).toEqual(refused);
    }
  });

  test("costs no comparison of keys while it returns the same object", () => {
    const set = goldenSet();
    const source = () => set;
    currentKeySet(source);
    const stringify = vi.spyOn(JSON, "stringify");
    currentKeySet(source);
    expect(stringify).not.toHaveBeenCalled();
    stringify.mockRestore();
  });
});

describe("the set before", () => {
  const rebound = { name: "ConfigurationError", argument: "keys", code: "kid_rebound" };

  test("forbids that one of its kids names another key in the next set", () => {
    const source = sourceOf(setOf("a"), setOf("a"));
    currentKeySet(source);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject({
      ...rebound,
      message: expect.stringContaining('"a"') as string,
    });
  });

  test.for([1, 2, 50])("forbids it also after %i sets in between", (between) => {
    const others = Array.from({ length: between }, (_, index) => setOf(`b${index}`));
    const [first, second] = [newP256Jwk(), newP256Jwk()];
    const source = sourceOf(setOf("a", first), ...others, setOf("a", second), setOf("a", first));
    for (let set = 0; set <= between; set += 1) currentKeySet(source);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject(rebound);
    expect(currentKeySet(source).active.publicKey.x).toBe(first.x);
  });

  test("forbids it for the last 10,000 kids", () => {
    const [first, second, filling] = [newP256Jwk(), newP256Jwk(), newP256Jwk()];
    const after = (kids: number): (() => KeySet) => {
      const keyIds = Array.from({ length: kids }, (_, index) => `k${index}`);
      const full = createKeySet([
        { keyId: "active", signer: publishingSigner() },
        ...keyIds.map((keyId) => ({ keyId, publicKey: filling })),
      ]);
      const source = sourceOf(setOf("a", first), full, setOf("a", second));
      currentKeySet(source);
      currentKeySet(source);
      return source;
    };
    expect(thrownBy(() => currentKeySet(after(9998)))).toMatchObject(rebound);
    expect(currentKeySet(after(9999)).active.publicKey.x).toBe(second.x);
  });

  test("also forbids it for retiring, legacy and encryption keys", () => {
    const rsa = [newRsaKey(2048).jwk, newRsaKey(2048).jwk] as const;
    const active = { keyId: "active", signer: publishingSigner() };
    const [before, after] = rsa;
    const changes = [
      [newP256Jwk(), newP256Jwk()].map((publicKey) => createKeySet([active, { keyId: "k", publicKey }])),
      rsa.map((publicKey) =>
        createKeySet([active], { legacyVerificationKeys: [{ keyId: "k", publicKey, alg: "RS256" }] }),
      ),
      rsa.map((publicKey) => createKeySet([active], { encryptionKeyset: [{ keyId: "k", publicKey }] })),
      [
        createKeySet([active], { encryptionKeyset: [{ keyId: "k", publicKey: before }] }),
        createKeySet([active], { legacyVerificationKeys: [{ keyId: "k", publicKey: after, alg: "PS256" }] }),
      ],
    ];
    for (const sets of changes) {
      const source = sourceOf(...sets);
      currentKeySet(source);
      expect(thrownBy(() => currentKeySet(source))).toMatchObject(rebound);
    }
  });

  test("allows new kids, dropped kids, another order and the same set made again", () => {
    const [a, b] = [newP256Jwk(), newP256Jwk()];
    const steps = [
      setOf("a", a),
      setOf("a", a),
      createKeySet([
        { keyId: "a", signer: publishingSigner(a) },
        { keyId: "b", publicKey: b },
      ]),
      createKeySet([
        { keyId: "b", signer: publishingSigner(b) },
        { keyId: "a", publicKey: a },
      ]),
      setOf("b", b),
    ];
    const source = sourceOf(...steps);
    for (const step of steps) expect(currentKeySet(source)).toBe(step);
  });

  test("stays the last accepted one when the source throws, so that a failure hides no rebinding", () => {
    const source = sourceOf(setOf("a"), new Error("away"), setOf("a"));
    currentKeySet(source);
    thrownBy(() => currentKeySet(source));
    expect(thrownBy(() => currentKeySet(source))).toMatchObject(rebound);
  });

  test("is not replaced by a refused one: asking again refuses again, and the set before is welcome back", () => {
    const [accepted, refused] = [setOf("a"), setOf("a")];
    const source = sourceOf(accepted, refused, refused, accepted);
    currentKeySet(source);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject(rebound);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject(rebound);
    expect(currentKeySet(source)).toBe(accepted);
  });

  test("belongs to one source function: another one may name other keys alike", () => {
    const tenants = [sourceOf(setOf("sig")), sourceOf(setOf("sig"))];
    expect(tenants.map((source) => currentKeySet(source).active.keyId)).toEqual(["sig", "sig"]);
  });
});

describe("a source that is tried", () => {
  const refusal = new Error("refused");
  const refuse = (source: () => KeySet): unknown =>
    thrownBy(() =>
      tryKeySource(source, () => {
        currentKeySet(source);
        throw refusal;
      }),
    );

  test("gives the result of the work", () => {
    const source = sourceOf(setOf("a"));
    expect(tryKeySource(source, () => currentKeySet(source).active.keyId)).toBe("a");
  });

  test("is remembered if the work is done", () => {
    const source = sourceOf(setOf("a"), setOf("a"));
    tryKeySource(source, () => currentKeySet(source));
    expect(thrownBy(() => currentKeySet(source))).toMatchObject({ code: "kid_rebound" });
  });

  test("is forgotten if the work throws, with its first set", () => {
    const again = setOf("a");
    const source = sourceOf(setOf("a"), again);
    expect(refuse(source)).toBe(refusal);
    expect(lastKeySet(source)).toBeUndefined();
    expect(currentKeySet(source)).toBe(again);
  });

  test("is forgotten if the work throws, and not what was there before", () => {
    const [first, again] = [setOf("a"), setOf("b")];
    const source = sourceOf(first, setOf("b"), again, setOf("a"));
    currentKeySet(source);
    expect(refuse(source)).toBe(refusal);
    expect(lastKeySet(source)).toBe(first);
    expect(currentKeySet(source)).toBe(again);
    expect(thrownBy(() => currentKeySet(source))).toMatchObject({ code: "kid_rebound" });
  });
});
