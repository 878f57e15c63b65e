import { describe, expect, test } from "vitest";
import {
  createKeySet,
  guardSigner,
  openSigner,
  type Signer,
  type SignerAdapter,
  SignerError,
  signJws,
  signWith,
} from "@signpost/core";
import { createSigner, memberOf, openAdapterSigner, planOpening, safeCause } from "@signpost/core/adapter";
import { failure } from "../support/failure.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

const DIGEST = new Uint8Array(32).fill(7);
const { signer: own } = scriptedSigner();
const byHand = (changes: Partial<Signer>): Signer => ({
  uri: "hand:key",
  publicKey: own.publicKey,
  sign: (digest) => own.sign(digest),
  close: async () => {},
  ...changes,
});
const never = (): Promise<never> => new Promise(() => {});

/** A Uint8Array whose memory was moved elsewhere. */
function moved(): Uint8Array {
  const bytes = new Uint8Array(32);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const trap = new Proxy(new Error("target"), {
  get: () => {
    throw new Error("trap");
  },
});

describe("bytes whose memory was transferred elsewhere", () => {
  test.each<[string, (signer: Signer) => Promise<unknown>]>([
    ["a digest", (signer) => signer.sign(moved())],
    ["a signing input", (signer) => signer.sign(DIGEST, { signingInput: moved() })],
  ])("are refused as %s", async (_what, call) => {
    for (const signer of [createSigner({ ...own, signDigest: own.sign }), guardSigner(own)]) {
      expect(await failure(call(signer))).toMatchObject({ name: "SignerError", code: "invalid_argument" });
    }
  });

  test("are refused as the digest", async () => {
    const keys = createKeySet([{ signer: own }]);
    expect(await failure(signWith(keys.active, moved()))).toMatchObject({ argument: "signingInput" });
    expect(await failure(signJws(keys, moved()))).toMatchObject({ argument: "payload" });
  });
});

describe("an error that is not a SignerError", () => {
  test.each<[string, unknown]>([
    ["an error", new TypeError("undefined is not a function")],
    ["nothing", undefined],
    ["a Proxy that throws", trap],
    ["a Proxy that was revoked", revoked()],
  ])("is the cause of one, whichever way a backend fails with it: %s", async (_what, thrown) => {
    const fail = (): Promise<never> => Promise.reject(thrown);
    const backend = {
      name: "key",
      readKey: fail,
      uriOf: (name: string) => `test:${name}`,
      signDigest: fail,
      close: async () => {},
    };
    const bare = createSigner({ ...own, uri: "test:key", signDigest: fail });
    for (const call of [openAdapterSigner(planOpening({}), backend), bare.sign(DIGEST)]) {
      const error = await failure(call);
      expect(error).toBeInstanceOf(SignerError);
      expect(error).toMatchObject({ code: "integrity", transient: false, uri: "test:key" });
      expect(error instanceof Error && Object.is(error.cause, thrown)).toBe(true);
    }
  });

  test("has no member that cannot be read, and makes no cause", () => {
    for (const thrown of [trap, revoked()]) {
      expect(memberOf(thrown, "code")).toBeUndefined();
      expect(safeCause(thrown, { members: ["code"] })).toBeUndefined();
      expect(safeCause(Object.assign(new Error("it failed"), { code: thrown }), { members: ["code"] })).toMatchObject({
        message: "it failed",
      });
    }
  });
});

describe("a signal that is not heeded", () => {
  test("that has aborted already keeps signWith from asking a signer that was written by hand", async () => {
    const { signer, calls } = scriptedSigner();
    const { active } = createKeySet([{ signer }]);
    const signing = signWith(active, new Uint8Array(1), { signal: AbortSignal.abort("reason") });
    expect(await failure(signing)).toMatchObject({ code: "aborted", cause: "reason" });
    expect(calls).toHaveLength(0);
  });

  test("releases the caller of a signer that was written by hand", async () => {
    const { active } = createKeySet([{ signer: byHand({ sign: never }) }]);
    const controller = new AbortController();
    const call = signWith(active, DIGEST, { signal: controller.signal });
    controller.abort("reason");
    expect(await failure(call)).toMatchObject({ code: "aborted", cause: "reason" });
  });

  test("releases the caller of an adapter, and what it opens later is closed", async () => {
    let open = (_signer: Signer): void => {};
    const adapter: SignerAdapter = { scheme: "x", open: () => new Promise((resolve) => (open = resolve)) };
    const controller = new AbortController();
    const opening = openSigner("x:", [adapter], { signal: controller.signal });
    controller.abort("reason");
    expect(await failure(opening)).toMatchObject({ code: "aborted", cause: "reason" });
    const closed = new Promise<void>((resolve) => open(byHand({ close: async () => resolve() })));
    await closed;
  });
});

describe("a custom adapter", () => {
  test.each([undefined, null, 7, {}])("that opens %j is refused", async (signer) => {
    const adapter = { scheme: "x", open: async () => signer } as unknown as SignerAdapter;
    expect(await failure(openSigner("x:", [adapter]))).toMatchObject({
      name: "ConfigurationError",
      argument: "signer",
    });
  });

  test("gets an error that says what is wrong with its signer, even if that does not close", async () => {
    const close = (): never => {
      throw new Error("it does not close");
    };
    const adapter = { scheme: "x", open: async () => ({ sign: own.sign, close }) } as unknown as SignerAdapter;
    expect(await failure(openSigner("x:", [adapter]))).toMatchObject({ name: "ConfigurationError", argument: "uri" });
  });
});
