import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createKeySet,
  createLimiter,
  failoverSigner,
  guardSigner,
  type Limiter,
  openSigner,
  type P256PublicJwk,
  type Signer,
  SignerError,
  type SignOptions,
  signWith,
} from "@signpost/core";
import { createSigner, type SignerBackend } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { thrownBy } from "../support/key-fixtures.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const INPUT = new TextEncoder().encode("header.payload");
const down = (): SignerError => new SignerError("unavailable", "down");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One key, and signers of it that were written by hand. */
function keyPair() {
  const { signer } = scriptedSigner();
  const byHand = (uri: string, sign: Signer["sign"], publicKey: P256PublicJwk = signer.publicKey): Signer => ({
    uri,
    publicKey,
    sign,
    close: async () => {},
  });
  return { sign: (digest: Uint8Array) => signer.sign(digest), publicKey: signer.publicKey, byHand };
}

async function settles<Value>(call: Promise<Value>): Promise<Value> {
  call.catch(() => {});
  await vi.advanceTimersByTimeAsync(3000);
  return call;
}

describe("places that share one buffer", () => {
  test('prove themselves one by one with verify: "first"', async () => {
    const [own, other] = [keyPair(), keyPair()];
    const shared = new Uint8Array(64);
    let isDown = false;
    const first = own.byHand("test:first", async (digest) => {
      if (isDown) throw down();
      shared.set(await own.sign(digest));
      return shared;
    });
    const wrong = own.byHand("test:wrong", async (digest) => {
      shared.set(await other.sign(digest));
      return shared;
    });
    const entry = createKeySet([{ signer: guardSigner(failoverSigner([first, wrong])) }]).active;
    await signWith(entry, INPUT, { verify: "first" });
    isDown = true;
    const call = settles(signWith(entry, INPUT, { verify: "first" }));
    expect(await failure(call)).toMatchObject({ code: "bad_signature", uri: "test:wrong" });
  });

  test("may give bytes that nothing can be hung on", async () => {
    const own = keyPair();
    const sealed = own.byHand("test:sealed", async (digest) => Object.preventExtensions(await own.sign(digest)));
    expect(await failoverSigner([sealed]).sign(DIGEST)).toHaveLength(64);
  });
});

describe("the signing input that a signer gets", () => {
  test("is the bytes that were hashed, whatever the caller does with its buffer meanwhile", async () => {
    const own = keyPair();
    let seen: Uint8Array | undefined;
    const signer = own.byHand("test:own", async (digest, { signingInput } = {}) => {
      await Promise.resolve();
      seen = signingInput;
      return own.sign(digest);
    });
    for (const wrapped of [signer, guardSigner(signer), failoverSigner([signer])]) {
      const buffer = INPUT.slice();
      const call = signWith(createKeySet([{ signer: wrapped }]).active, buffer);
      buffer.fill(0);
      await call;
      expect(Buffer.from(seen ?? []).toString()).toBe("header.payload");
    }
  });

  test("is its own to write into", async () => {
    const own = keyPair();
    const signer = own.byHand("test:own", async (digest, { signingInput } = {}) => {
      signingInput?.fill(0);
      return own.sign(digest);
    });
    const input = INPUT.slice();
    expect(await signWith(createKeySet([{ signer }]).active, input)).toHaveLength(64);
    expect(input).toEqual(INPUT);
  });
});

describe("a public key that is an instance of a class", () => {
  class LazyKey implements P256PublicJwk {
    readonly #jwk: P256PublicJwk;
    constructor(jwk: P256PublicJwk) {
      this.#jwk = jwk;
    }
    get kty() {
      return this.#jwk.kty;
    }
    get crv() {
      return this.#jwk.crv;
    }
    get x() {
      return this.#jwk.x;
    }
    get y() {
      return this.#jwk.y;
    }
  }

  test("is read by its members", () => {
    const own = keyPair();
    const signer = own.byHand("test:own", own.sign, new LazyKey(own.publicKey));
    expect(guardSigner(signer).publicKey).toEqual(own.publicKey);
    expect(createKeySet([{ signer: guardSigner(signer) }]).active.publicKey).toEqual(own.publicKey);
  });

  test("is told from another one by a failover", () => {
    const [a, b] = [keyPair(), keyPair()];
    const signers = [a, b].map((pair) => pair.byHand("test:key", pair.sign, new LazyKey(pair.publicKey)));
    expect(thrownBy(() => failoverSigner(signers))).toMatchObject({ argument: "signers[1]" });
  });
});

describe("anything that is not a signer", () => {
  const own = keyPair();
  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["an object without close", { uri: "a", publicKey: own.publicKey, sign: own.sign }],
    ["an object without a key", { uri: "a", sign: own.sign, close: async () => {} }],
    ["an object without a URI", { publicKey: own.publicKey, sign: own.sign, close: async () => {} }],
  ])("%s is refused by the guard and by a failover", (_name, signer) => {
    expect(thrownBy(() => guardSigner(signer as Signer))).toMatchObject({ name: "ConfigurationError" });
    expect(thrownBy(() => failoverSigner([signer as Signer]))).toMatchObject({ name: "ConfigurationError" });
  });

  test.each([undefined, "text", {}])("%j is no list of signers", (signers) => {
    expect(thrownBy(() => failoverSigner(signers as never))).toMatchObject({ argument: "signers" });
  });

  test.each(["signDigest", "close", "uri", "publicKey"])("a backend without %s is refused", (member) => {
    const backend = { uri: "a", publicKey: own.publicKey, signDigest: own.sign, close: async () => {} };
    const broken = { ...backend, [member]: undefined } as unknown as SignerBackend;
    expect(thrownBy(() => createSigner(broken))).toMatchObject({ name: "ConfigurationError", argument: member });
  });

  test.each([undefined, null, {}, createKeySet([{ signer: own.byHand("a", own.sign) }])])(
    "%j is no entry to sign with",
    async (entry) => {
      expect(await failure(signWith(entry as never, INPUT))).toMatchObject({ argument: "entry" });
    },
  );
});

describe("an error of a signer", () => {
  test("may be frozen, and still moves a failover", async () => {
    const own = keyPair();
    const frozen = Object.freeze(down());
    const dead = own.byHand("test:dead", async () => Promise.reject(frozen));
    const guard = guardSigner(failoverSigner([dead, own.byHand("test:well", own.sign)]));
    expect(await settles(guard.sign(DIGEST))).toHaveLength(64);
  });

  test("is not changed, so that two signers may throw the same one", async () => {
    const own = keyPair();
    const shared = down();
    for (const uri of ["test:a", "test:b"]) {
      const guard = guardSigner(own.byHand(uri, async () => Promise.reject(shared)));
      expect(await failure(settles(guard.sign(DIGEST)))).toMatchObject({ uri, code: "unavailable" });
    }
    expect(shared.uri).toBeUndefined();
  });

  test("names the place of a timeout too, and so does the event's place", async () => {
    const own = keyPair();
    const hangs = (uri: string): Signer => own.byHand(uri, () => new Promise(() => {}));
    const guard = guardSigner(failoverSigner([hangs("test:a"), hangs("test:b")]), {
      attemptTimeoutMs: 30,
      maxAttempts: 2,
    });
    expect(await failure(settles(guard.sign(DIGEST)))).toMatchObject({ code: "timeout", uri: "test:b" });
  });
});

describe("a failover inside a failover", () => {
  test("shows that the inner one is on its standby", async () => {
    const own = keyPair();
    const dead = own.byHand("test:dead", async () => Promise.reject(down()));
    const inner = failoverSigner([dead, own.byHand("test:standby", own.sign)]);
    const guard = guardSigner(failoverSigner([inner, own.byHand("test:other", own.sign)]));
    await failure(inner.sign(DIGEST));
    await settles(guard.sign(DIGEST));
    expect(guard.health()).toMatchObject({ status: "degraded", lastCode: "unavailable" });
    expect(guard.health().notes.join("\n")).toMatch(/the standby test:standby has signed since .*test:dead failed/);
  });

  test("shows the notes of adapters' bare signers", () => {
    const own = keyPair();
    const hsm = createSigner({
      uri: "test:hsm",
      publicKey: own.publicKey,
      signDigest: own.sign,
      notes: () => ["two calls hang"],
      status: () => "degraded",
      close: async () => {},
    });
    const guard = guardSigner(failoverSigner([hsm]));
    expect(guard.health()).toMatchObject({ status: "degraded" });
    expect(guard.health().notes).toContain("test:hsm: two calls hang");
  });
});

describe("a failover over three places", () => {
  test("says why it left each place, and since when it has used the current one", async () => {
    vi.setSystemTime("2026-03-01T08:00:00Z");
    const own = keyPair();
    const failing = { a: true, b: false };
    const place = (name: "a" | "b"): Signer =>
      own.byHand(`test:${name}`, async (digest) => (failing[name] ? Promise.reject(down()) : own.sign(digest)));
    const guard = guardSigner(failoverSigner([place("a"), place("b"), own.byHand("test:c", own.sign)]));
    await settles(guard.sign(DIGEST));
    vi.setSystemTime("2026-03-01T08:00:10Z");
    failing.b = true;
    await settles(guard.sign(DIGEST));
    expect(guard.health()).toMatchObject({ status: "degraded", since: new Date("2026-03-01T08:00:10Z") });
    expect(guard.health().notes).toEqual([
      "the standby test:c has signed since 2026-03-01T08:00:10.000Z: test:a failed (unavailable), test:b failed (unavailable)",
    ]);
  });
});

describe("a limiter whose release fails later", () => {
  test("costs neither the signature nor the process", async () => {
    vi.useRealTimers();
    const own = keyPair();
    const release = async (): Promise<void> => Promise.reject(new Error("the store is away"));
    const broken: Limiter = { active: 0, queued: 0, acquire: () => release };
    const unhandled = once(process, "unhandledRejection", { signal: AbortSignal.timeout(50) });
    expect(await guardSigner(own.byHand("test:own", own.sign), { limiter: broken }).sign(DIGEST)).toHaveLength(64);
    await expect(unhandled).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("a signer that only looks like one of ours", () => {
  test("gives its slot back like any signer that was written by hand", async () => {
    const own = keyPair();
    const ours = createSigner({ uri: "a", publicKey: own.publicKey, signDigest: own.sign, close: async () => {} });
    const heir = Object.create(ours, { sign: { value: () => new Promise(() => {}) } }) as Signer;
    const limiter = createLimiter({ concurrency: 1, maxQueue: 0 });
    const guard = guardSigner(heir, { limiter, attemptTimeoutMs: 100, maxAttempts: 1 });
    expect(await failure(settles(guard.sign(DIGEST)))).toMatchObject({ code: "timeout" });
    expect(limiter.active).toBe(0);
  });
});

describe("openSigner", () => {
  const own = keyPair();
  const adapter = (open: () => Promise<Signer>) => ({ scheme: "test", open });

  test("refuses policy: false before anything is opened", async () => {
    const open = vi.fn<() => Promise<Signer>>();
    const call = openSigner("test:key", [adapter(open)], { policy: false } as object);
    expect(await failure(call)).toMatchObject({ argument: "policy" });
    expect(open).not.toHaveBeenCalled();
  });

  test("closes a signer that it cannot guard", async () => {
    const close = vi.fn<() => Promise<void>>(async () => {});
    const odd = { publicKey: own.publicKey, sign: own.sign, close } as unknown as Signer;
    expect(await failure(openSigner("test:key", [adapter(async () => odd)]))).toMatchObject({ argument: "uri" });
    expect(close).toHaveBeenCalledTimes(1);
  });

  test.each<[unknown, string]>([
    [null, "expected an adapter, got null"],
    [() => adapter(async () => own.byHand("a", own.sign)), "call it"],
  ])("says what is wrong with an adapter that is %s", async (given, message) => {
    expect(await failure(openSigner("test:key", [given as never]))).toMatchObject({
      argument: "adapters[0]",
      message: expect.stringContaining(message),
    });
  });
});

describe("options of sign", () => {
  const own = keyPair();
  const bare = own.byHand("test:own", own.sign);

  test.each<[string, unknown]>([
    ["null", null],
    ["a signal that is none", { signal: {} }],
  ])("that are %s are refused with a typed error, also by a failover", async (_name, options) => {
    for (const signer of [guardSigner(bare), failoverSigner([bare])]) {
      expect(await failure(signer.sign(DIGEST, options as SignOptions))).toMatchObject({ code: "invalid_argument" });
    }
  });

  test("are read once", async () => {
    let reads = 0;
    const options = {
      get signal(): AbortSignal | undefined {
        reads += 1;
        return reads === 1 ? undefined : ({} as AbortSignal);
      },
    };
    expect(await guardSigner(bare).sign(DIGEST, options)).toHaveLength(64);
  });

  test("put one listener on a signal that many calls of a bare signer share", async () => {
    const controller = new AbortController();
    const warned = vi.spyOn(process, "emitWarning");
    const hanging = createSigner({
      uri: "a",
      publicKey: own.publicKey,
      signDigest: () => new Promise(() => {}),
      close: async () => {},
    });
    const calls = Array.from({ length: 20 }, () => failure(hanging.sign(DIGEST, { signal: controller.signal })));
    controller.abort();
    await vi.advanceTimersByTimeAsync(2000);
    await Promise.all(calls);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  test("a result whose memory was transferred away is a bad signature", async () => {
    const gone = own.byHand("test:gone", async (digest) => {
      const signature = new Uint8Array(await own.sign(digest));
      structuredClone(signature.buffer, { transfer: [signature.buffer] });
      return signature;
    });
    for (const signer of [gone, guardSigner(gone)]) {
      expect(await failure(signWith(createKeySet([{ signer }]).active, INPUT))).toMatchObject({
        code: "bad_signature",
      });
    }
  });
});

describe("details of an adapter", () => {
  const own = keyPair();
  test.each([
    [{ defaults: { maxAttemps: 1 } }, "details.defaults.maxAttemps"],
    [{ notes: "text" }, "details.notes"],
    [{ status: "down" }, "details.status"],
  ])("%j are refused", (details, argument) => {
    const call = (): unknown => guardSigner(own.byHand("a", own.sign), {}, details as object);
    expect(thrownBy(call)).toMatchObject({ name: "ConfigurationError", argument });
  });

  test.each(["deadlineMs", "attemptTimeoutMs", "maxAttempts", "concurrency", "maxQueue"])(
    "a policy's %s of null is no default",
    (name) => {
      const call = (): unknown => guardSigner(own.byHand("a", own.sign), { [name]: null });
      expect(thrownBy(call)).toMatchObject({ name: "ConfigurationError" });
    },
  );
});
