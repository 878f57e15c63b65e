import { compactVerify, decodeProtectedHeader, importJWK } from "jose";
import { describe, expect, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createRotationSchedule,
  currentKeySet,
  type JwtClaims,
  type KeySet,
  type KeySetSource,
  type OwnKeys,
  type RotationSchedule,
  signJws,
  signJwt,
} from "@signpost/core";
import { readOwnKeys } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { goldenSet, newP256Jwk, newRsaKey, publishingSigner, setOf, thrownBy } from "../support/key-fixtures.ts";
import { atHour, clock, someSigner } from "../support/schedules.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

/** Two keys: `a` signs from hour 0, `b` is published from hour 90 and signs from hour 100. `a` is withdrawn at 101. */
function rotating(hours = 0) {
  const { now, set } = clock(hours);
  const signers = { a: someSigner(), b: someSigner() };
  const schedule = createRotationSchedule(
    [
      { keyId: "a", signer: signers.a, announcedFrom: atHour(0), activeFrom: atHour(0) },
      { keyId: "b", signer: signers.b, announcedFrom: atHour(90), activeFrom: atHour(100) },
    ],
    { maxTokenLifetimeSeconds: 3600, clockSkewSeconds: 0, now },
  );
  return { schedule, signers, at: set };
}

const entryOf = (keyId: string) => ({ keyId, signer: publishingSigner(newP256Jwk()) });

describe("the option keys may be", () => {
  test("a list of entries: it becomes a set, once", () => {
    const entries = [entryOf("a"), entryOf("b")];
    const { source, jwksRotationActive, withdrawn } = readOwnKeys(entries);
    entries.reverse();
    expect(currentKeySet(source)).toBe(currentKeySet(source));
    expect(currentKeySet(source).keys.map(({ keyId, role }) => [keyId, role])).toEqual([
      ["a", "active"],
      ["b", "retiring"],
    ]);
    expect(jwksRotationActive).toBeUndefined();
    expect(withdrawn()).toEqual([]);
    expect(withdrawn()).toBe(withdrawn());
  });

  test("a list of entries with the keys that go with it", () => {
    const rsa = newRsaKey(2048).jwk;
    const { source } = readOwnKeys([entryOf("sig")], {
      encryptionKeyset: [{ keyId: "enc", publicKey: rsa }],
      legacyVerificationKeys: [{ keyId: "old", publicKey: rsa, alg: "RS256" }],
    });
    expect(currentKeySet(source).keys.map(({ keyId }) => keyId)).toEqual(["sig", "old", "enc"]);
  });

  test("a key set: it is the source", () => {
    const set = goldenSet();
    const { source, jwksRotationActive, withdrawn } = readOwnKeys(set);
    expect(source).toBe(set);
    expect([jwksRotationActive, withdrawn()]).toEqual([undefined, []]);
  });

  test("a function: it is the source, and is not called yet", () => {
    const keys = vi.fn<() => KeySet>(goldenSet);
    const { source, jwksRotationActive, withdrawn } = readOwnKeys(keys);
    expect(source).toBe(keys);
    expect([jwksRotationActive, withdrawn()]).toEqual([undefined, []]);
    expect(keys).not.toHaveBeenCalled();
  });

  test("a schedule: it is the source, and provides its cache mode and its withdrawn keys", () => {
    const { schedule, at } = rotating();
    const { source, jwksRotationActive, withdrawn } = readOwnKeys(schedule);
    expect(source).toBe(schedule);
    const answers = [0, 95, 101.5].map((hour) => {
      at(hour);
      return [jwksRotationActive?.(), withdrawn().map(({ keyId }) => keyId)];
    });
    expect(answers).toEqual([
      [false, []],
      [true, []],
      [true, ["a"]],
    ]);
  });

  test("a schedule with the right members that an OP has written", () => {
    const written: RotationSchedule = { ...rotating().schedule };
    expect(readOwnKeys(written).source).toBe(written);
    expect(currentKeySet(written).active.keyId).toBe("a");
  });
});

/** A plan that is replaced while the OP runs, as a class of the OP's own. */
class ReplacedPlan implements RotationSchedule {
  #plan: RotationSchedule;
  constructor(plan: RotationSchedule) {
    this.#plan = plan;
  }
  replace(plan: RotationSchedule): void {
    this.#plan = plan;
  }
  keySet() {
    return this.#plan.keySet();
  }
  jwksRotationActive() {
    return this.#plan.jwksRotationActive();
  }
  withdrawn() {
    return this.#plan.withdrawn();
  }
  nextChange() {
    return this.#plan.nextChange();
  }
  latestExpiry() {
    return this.#plan.latestExpiry();
  }
}

describe("a schedule whose members need their object", () => {
  test("is published, and provides its cache mode and its withdrawn keys", () => {
    const [calm, moving] = [rotating(), rotating(101.5)];
    const plan = new ReplacedPlan(calm.schedule);
    const endpoint = createJwksEndpoint({ issuer: "https://op.example", keys: plan });
    expect(endpoint.respond("GET").headers["Cache-Control"]).toMatch("max-age=3600");
    plan.replace(moving.schedule);
    const { latestExpiry, withdrawn } = readOwnKeys(plan);
    expect(withdrawn().map(({ keyId }) => keyId)).toEqual(["a"]);
    expect(latestExpiry?.()).toBe(moving.schedule.latestExpiry());
    expect(endpoint.respond("GET").headers["Cache-Control"]).toMatch("max-age=300,");
    const set = moving.schedule.keySet();
    expect(currentKeySet(plan)).toBe(set);
  });

  test("shares nothing with another of its class", () => {
    const plans = [new ReplacedPlan(rotating().schedule), new ReplacedPlan(rotating().schedule)];
    expect(plans.map((plan) => currentKeySet(plan).active.keyId)).toEqual(["a", "a"]);
  });
});

describe("keys are refused when they are", () => {
  const { schedule } = rotating();
  test.for<[string, unknown, string]>([
    ["nothing", undefined, "keys"],
    ["null", null, "keys"],
    ["a text", "sig", "keys"],
    ["an object without members", {}, "keys"],
    ["a copy of a key set", { ...goldenSet() }, "keys"],
    ["a schedule without its cache mode", { ...schedule, jwksRotationActive: undefined }, "keys"],
    ["a schedule without its withdrawn keys", { ...schedule, withdrawn: [] }, "keys"],
    ["what a schedule answered once, and no function", { ...schedule, keySet: goldenSet() }, "keys"],
    ["one entry outside of a list", entryOf("a"), "keys"],
    ["an empty list", [], "keys"],
    ["a list whose first entry signs nothing", [{ publicKey: newP256Jwk() }], "keys[0]"],
    ["a list with a wrong key", [entryOf("a"), { publicKey: "PEM" }], "keys[1].publicKey"],
    ["a list with one kid twice", [entryOf("a"), entryOf("a")], "keys"],
  ])("%s", ([, keys, argument]) => {
    const error = thrownBy(() => readOwnKeys(keys as OwnKeys));
    expect(error).toMatchObject({ name: "ConfigurationError", argument });
  });

  test("a promise, whose rejection is caught", async () => {
    const unhandled = vi.fn<() => void>();
    process.on("unhandledRejection", unhandled);
    const keys = Promise.reject(new Error("dropped")) as unknown as OwnKeys;
    expect(thrownBy(() => readOwnKeys(keys))).toMatchObject({
      argument: "keys",
      message: expect.stringContaining("promise") as string,
    });
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("currentKeySet of a schedule", () => {
  test("is the current set, the same object until something changes", () => {
    const { schedule, at } = rotating();
    const first = currentKeySet(schedule);
    expect(first).toBe(schedule.keySet());
    at(89);
    expect(currentKeySet(schedule)).toBe(first);
    at(90);
    expect(currentKeySet(schedule)).not.toBe(first);
    expect(currentKeySet(schedule).keys.map(({ keyId }) => keyId)).toEqual(["a", "b"]);
    at(100);
    expect(currentKeySet(schedule).active.keyId).toBe("b");
  });

  test("refuses a kid that names another key than before, also if the schedule's function was asked itself", () => {
    let keys = setOf("a");
    const schedule: RotationSchedule = { ...rotating().schedule, keySet: () => keys };
    currentKeySet(schedule.keySet);
    keys = setOf("a");
    expect(thrownBy(() => currentKeySet(schedule))).toMatchObject({ argument: "keys", code: "kid_rebound" });
  });

  test("passes the schedule's own error through", () => {
    const error = new Error("the clock is away");
    const keySet = () => {
      throw error;
    };
    expect(thrownBy(() => currentKeySet({ ...rotating().schedule, keySet }))).toBe(error);
  });
});

type Sign = (keys: KeySetSource) => Promise<string>;
const claims: JwtClaims = { iss: "https://op.example", sub: "248289" };

describe.each<[string, Sign]>([
  ["signJwt", (keys) => signJwt(keys, claims)],
  ["signJws", (keys) => signJws(keys, "text")],
])("%s", (_name, sign) => {
  test("over a schedule signs with the current key", async () => {
    const { schedule, signers, at } = rotating();
    for (const [hour, kid] of [
      [0, "a"],
      [99, "a"],
      [100, "b"],
    ] as const) {
      at(hour);
      const token = await sign(schedule);
      expect(decodeProtectedHeader(token).kid).toBe(kid);
      await compactVerify(token, await importJWK({ ...signers[kid].publicKey }, "ES256"));
    }
  });

  test("refuses a list of entries, and says how to make a set from it", async () => {
    const { signer, calls } = scriptedSigner();
    const entries = [{ keyId: "a", signer }];
    expect(await failure(sign(entries as unknown as KeySetSource))).toMatchObject({
      name: "ConfigurationError",
      argument: "keys",
      message: "keys: got a list of entries; call createKeySet(entries) once and pass its result",
    });
    expect(calls).toHaveLength(0);
    expect(decodeProtectedHeader(await sign(createKeySet(entries))).kid).toBe("a");
  });
});
