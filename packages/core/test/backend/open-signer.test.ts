import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import {
  ConfigurationError,
  SignerError,
  type GuardedSigner,
  type P256PublicJwk,
  type Signer,
  type SignerAdapter,
} from "@signpost/core";
import {
  createAdapter,
  createAdapterSigner,
  openAdapterSigner,
  planOpening,
  type AdapterSignerOptions,
  type CallBounds,
  type OpenedKey,
  type RemoteBackend,
} from "@signpost/core/adapter";

// RFC 7515 appendix A.3.
const publicKey: P256PublicJwk = {
  kty: "EC",
  crv: "P-256",
  x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
};
const DIGEST = randomBytes(32);
const never = new Promise<never>(() => {});
const outage = (): SignerError => new SignerError("unavailable", "the backend is away");

function backendWith(changes: Partial<RemoteBackend> = {}): RemoteBackend {
  return {
    name: "given",
    readKey: async () => ({ name: "found", publicKey, notes: ["of the tests"] }),
    uriOf: (name) => `test:${name}`,
    signDigest: async () => new Uint8Array(64).fill(1),
    close: async () => {},
    ...changes,
  };
}

const open = (options: AdapterSignerOptions, changes: Partial<RemoteBackend> = {}): Promise<Signer> =>
  openAdapterSigner(planOpening(options), backendWith(changes));

describe("openAdapterSigner", () => {
  test("names the key as the backend does, and signs with that name", async () => {
    const signDigest = vi.fn<RemoteBackend["signDigest"]>(async () => new Uint8Array(64).fill(1));
    const signer = (await open({}, { signDigest })) as GuardedSigner;
    expect(signer).toMatchObject({ uri: "test:found", publicKey });
    expect(signer.health().notes).toEqual(["of the tests"]);
    await signer.sign(DIGEST);
    expect(signDigest).toHaveBeenCalledWith("found", new Uint8Array(DIGEST), {
      signal: expect.any(AbortSignal),
      timeoutMs: 2000,
    });
  });

  test("shows the notes on the connection before the notes on the key", async () => {
    const signer = (await open({}, { notes: ["through a proxy"] })) as GuardedSigner;
    expect(signer.health().notes).toEqual(["through a proxy", "of the tests"]);
  });

  test.each<[string, AdapterSignerOptions, Partial<RemoteBackend>]>([
    ["a refusal", {}, { readKey: () => Promise.reject(new SignerError("access_denied", "no")) }],
    ["silence", { openDeadlineMs: 20 }, { readKey: () => never }],
    ["an abort", { signal: AbortSignal.abort() }, {}],
  ])("names the key that was asked for in the error of %s", async (_what, options, changes) => {
    await expect(open(options, changes)).rejects.toMatchObject({ name: "SignerError", uri: "test:given" });
  });

  test.each<[what: string, error: Error, expected: { code: string; message: string }]>([
    [
      "a timeout that does not",
      new SignerError("timeout", "no answer"),
      { code: "timeout", message: "test:given: no answer" },
    ],
    [
      "a timeout that does",
      new SignerError("timeout", "no answer of given"),
      { code: "timeout", message: "no answer of given" },
    ],
    ["another error", new SignerError("access_denied", "no"), { code: "access_denied", message: "no" }],
    [
      "an option",
      new ConfigurationError("tls", "expected a file"),
      { code: "invalid_configuration", message: "tls: expected a file" },
    ],
    ["a foreign error", new TypeError("x"), { code: "integrity", message: expect.any(String) as string }],
  ])("names the key in the message of %s name it itself", async (_what, error, expected) => {
    const opening = open({ policy: { maxAttempts: 1 } }, { readKey: () => Promise.reject(error) });
    await expect(opening).rejects.toMatchObject(expected);
  });

  test("does not read the key if the public key is given, and says so", async () => {
    const readKey = vi.fn<() => Promise<OpenedKey>>();
    const signer = (await open({ publicKey: { ...publicKey } }, { readKey })) as GuardedSigner;
    expect(readKey).not.toHaveBeenCalled();
    expect(signer).toMatchObject({ uri: "test:given", publicKey });
    expect(signer.health().notes).toEqual(["the public key was given, not fetched"]);
  });

  test("tries again in the bounds of the policy, and waits for a key that is pending", async () => {
    const readKey = vi.fn<() => Promise<OpenedKey>>(() => Promise.reject(outage()));
    await expect(open({ policy: { maxAttempts: 2 } }, { readKey })).rejects.toMatchObject({ code: "unavailable" });
    expect(readKey).toHaveBeenCalledTimes(2);

    readKey.mockClear();
    const options = { policy: { maxAttempts: 1 }, openDeadlineMs: 500 };
    const opening = open(options, { readKey, isPending: ({ code }) => code === "unavailable" });
    await expect(opening).rejects.toMatchObject({ code: "unavailable" });
    expect(readKey.mock.calls.length).toBeGreaterThan(1);
  });

  test.each<[string, AdapterSignerOptions, Partial<RemoteBackend>, string]>([
    ["fails", {}, { readKey: () => Promise.reject(new SignerError("access_denied", "no")) }, "access_denied"],
    ["is out of time", { openDeadlineMs: 10 }, { readKey: () => never }, "timeout"],
    ["is given up", { publicKey: { ...publicKey }, signal: AbortSignal.abort() }, {}, "aborted"],
  ])(
    "closes the backend when opening %s, and tells why even where closing fails",
    async (_how, options, more, code) => {
      const close = vi.fn<() => Promise<void>>(() => Promise.reject(new Error("not closed")));
      await expect(open(options, { ...more, close })).rejects.toMatchObject({ code });
      expect(close).toHaveBeenCalledTimes(1);
    },
  );

  test("guards with the policy that was checked, even if it changes while the key is being opened", async () => {
    const policy = { maxAttempts: 1 };
    const signDigest = vi.fn<RemoteBackend["signDigest"]>(() => Promise.reject(outage()));
    const opening = open({ policy }, { signDigest });
    policy.maxAttempts = 3;
    const signer = await opening;
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "unavailable" });
    expect(signDigest).toHaveBeenCalledTimes(1);
  });

  test("does not wait for a backend that never closes before it says why opening failed", async () => {
    vi.useFakeTimers();
    try {
      const outcome = open({ openDeadlineMs: 10 }, { readKey: () => never, close: () => never }).catch(
        (error: unknown) => error,
      );
      await vi.advanceTimersByTimeAsync(1010);
      expect(await outcome).toMatchObject({ code: "timeout", uri: "test:given" });
    } finally {
      vi.useRealTimers();
    }
  });

  test("closes it once with the signer", async () => {
    const close = vi.fn<() => Promise<void>>(async () => {});
    const signer = await open({}, { close });
    await Promise.all([signer.close(), signer.close()]);
    expect(close).toHaveBeenCalledTimes(1);
  });

  test("bounds a call of a bare signer by 5 s", async () => {
    let bounds: CallBounds | undefined;
    const signDigest = (_name: string, _digest: Uint8Array, given: CallBounds): Promise<Uint8Array> => {
      bounds = given;
      return new Promise((_resolve, reject) => given.signal.addEventListener("abort", () => reject(new Error("cut"))));
    };
    const signer = await open({ policy: false }, { signDigest });
    const startedAt = performance.now();
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({
      code: "timeout",
      message: `${signer.uri}: no answer within 5000 ms`,
    });
    expect(performance.now() - startedAt).toBeGreaterThan(4900);
    expect(bounds?.timeoutMs).toBe(5000);
  }, 20_000);

  test("drops a signature that comes after the caller has left", async () => {
    const signDigest = async (): Promise<Uint8Array> => {
      await pause(100);
      return new Uint8Array(64).fill(1);
    };
    const signer = await open({ policy: false }, { signDigest });
    const call = signer.sign(DIGEST, { signal: AbortSignal.timeout(20) });
    await expect(call).rejects.toMatchObject({ code: "aborted" });
  });

  test("keeps the place of a call that was ended until the backend has settled it", async () => {
    let running = 0;
    let mostAtOnce = 0;
    const signDigest = async (): Promise<Uint8Array> => {
      running += 1;
      mostAtOnce = Math.max(mostAtOnce, running);
      await pause(200);
      running -= 1;
      return new Uint8Array(64).fill(1);
    };
    const signer = await open({ policy: { concurrency: 1, attemptTimeoutMs: 50, maxAttempts: 2 } }, { signDigest });
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "timeout" });
    await signer.close();
    expect(mostAtOnce).toBe(1);
  });
});

test("calls that never settle are counted and limited, even those of a bare signer", async () => {
  const signDigest = vi.fn<() => Promise<Uint8Array>>(() => never);
  const signer = await openAdapterSigner(
    { ...planOpening({ policy: false }), bounds: { ...planOpening({}).bounds, attemptTimeoutMs: 10 } },
    backendWith({ signDigest }),
  );
  const outcomes = await Promise.allSettled(Array.from({ length: 16 }, () => signer.sign(DIGEST)));
  expect(outcomes).toMatchObject(Array.from({ length: 16 }, () => ({ reason: { code: "timeout" } })));
  await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "unavailable" });
  expect(signDigest).toHaveBeenCalledTimes(16);
});

describe("planOpening", () => {
  test.each<[string, object, string]>([
    ["a policy", { policy: { deadlineMS: 5 } }, "policy.deadlineMS"],
    ["a policy", { policy: { attemptTimeoutMs: Number.NaN } }, "policy.attemptTimeoutMs"],
    ["a deadline", { openDeadlineMs: "5" }, "openDeadlineMs"],
    ["a signal", { signal: 5 }, "signal"],
  ])("refuses %s that cannot work", (_what, options, argument) => {
    expect(() => planOpening(options)).toThrow(expect.objectContaining({ name: "ConfigurationError", argument }));
  });

  test("refuses a public key that is none", () => {
    expect(() => planOpening({ publicKey: "x" })).toThrow(expect.objectContaining({ code: "invalid_spki" }));
  });
});

describe("createAdapterSigner", () => {
  const backend = {
    uri: "test:key",
    publicKey,
    signDigest: async () => new Uint8Array(64).fill(1),
    close: async () => {},
  };

  test("guards, unless the policy is false", () => {
    expect("health" in createAdapterSigner(backend, false)).toBe(false);
    expect("health" in createAdapterSigner(backend, undefined)).toBe(true);
    const guarded = createAdapterSigner(backend, {}, { notes: ["a note"] }) as GuardedSigner;
    expect(guarded.health().notes).toEqual(["a note"]);
  });

  test("shows what the backend says of itself, before the details", async () => {
    const telling = { ...backend, notes: () => ["of the backend"], status: () => "down" as const };
    const guarded = createAdapterSigner(telling, {}, { notes: ["a note"] }) as GuardedSigner;
    expect(guarded.health()).toMatchObject({ status: "down", notes: ["of the backend", "a note"] });
    const other = createAdapterSigner(telling, {}, { status: () => "degraded" }) as GuardedSigner;
    expect(other.health().status).toBe("down");
  });

  test("takes a backend that is an instance of a class", async () => {
    class Backend {
      readonly uri: string = "test:class";
      readonly publicKey: P256PublicJwk = publicKey;
      readonly #byte: number = 1;
      async signDigest(): Promise<Uint8Array> {
        return new Uint8Array(64).fill(this.#byte);
      }
      async close(): Promise<void> {}
    }
    expect(await createAdapterSigner(new Backend(), false).sign(DIGEST)).toEqual(new Uint8Array(64).fill(1));
  });
});

describe("createAdapter", () => {
  const given = vi.fn<SignerAdapter["open"]>(() => open({}));
  const adapter = createAdapter("test", given);

  test("passes the URI, the policy and the signal on", async () => {
    const { signal } = new AbortController();
    await adapter.open("test:key", { policy: false, signal });
    await adapter.open("test:key");
    expect(given.mock.calls).toEqual([
      ["test:key", { policy: false, signal }],
      ["test:key", { policy: undefined, signal: undefined }],
    ]);
  });

  test.each<[string, unknown, string]>([
    ["a misspelled option", { polcy: {} }, "polcy"],
    ["no object", null, "options"],
    ["a list", [], "options"],
  ])("refuses %s", async (_what, options, argument) => {
    await expect(adapter.open("test:key", options as object)).rejects.toMatchObject({
      name: "ConfigurationError",
      argument,
    });
  });
});
