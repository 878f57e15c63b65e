import { describe, expect, test, vi } from "vitest";
import type { GcpKmsCallOptions, GcpKmsClientLike, GcpKmsInterceptor } from "../src/api.ts";
import { connect } from "../src/connection.ts";

const NAME = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";
const SUBJECT = { action: "sign with", name: NAME };
const refuse = async (): Promise<never> => Promise.reject(new Error("not of this test"));

/** A client of the caller, and how often it was asked to be ready and for a token. */
function given(stub: () => Promise<unknown>): {
  readonly client: GcpKmsClientLike;
  readonly initialize: ReturnType<typeof vi.fn<() => Promise<unknown>>>;
  readonly headers: ReturnType<typeof vi.fn<() => Promise<unknown>>>;
  readonly close: ReturnType<typeof vi.fn<() => Promise<unknown>>>;
} {
  const initialize = vi.fn<() => Promise<unknown>>(stub);
  const headers = vi.fn<() => Promise<unknown>>(async () => ({ Authorization: "Bearer token" }));
  const close = vi.fn<() => Promise<unknown>>(async () => undefined);
  const client: GcpKmsClientLike = {
    initialize,
    auth: { getRequestHeaders: headers },
    getPublicKey: refuse,
    asymmetricSign: refuse,
    getCryptoKeyVersion: refuse,
    listCryptoKeyVersions: refuse,
    close,
  };
  return { client, initialize, headers, close };
}

const ask = async (
  client: GcpKmsClientLike,
  calls: number,
  signal = new AbortController().signal,
): Promise<unknown[]> => {
  const connection = await connect({ client }, NAME);
  const seen: unknown[] = [];
  for (let call = 0; call < calls; call += 1) {
    await connection.call({ timeoutMs: 1000, signal }, SUBJECT, async (used, options) =>
      seen.push([used === client, options]),
    );
  }
  await connection.close();
  return seen;
};

describe("a client of the caller", () => {
  test("over gRPC is ready once, is asked for no token, and is left open", async () => {
    const stub = Promise.resolve({ getChannel: () => undefined });
    const { client, initialize, headers, close } = given(() => stub);
    const interceptors = expect.any(Array) as readonly [GcpKmsInterceptor];
    const options: GcpKmsCallOptions = { timeout: 1100, retry: null, otherArgs: { options: { interceptors } } };
    expect(await ask(client, 3)).toEqual([
      [true, options],
      [true, options],
      [true, options],
    ]);
    expect(headers).not.toHaveBeenCalled();
    expect(initialize).toHaveBeenCalledTimes(3);
    expect(close).not.toHaveBeenCalled();
  });

  test("over gRPC that makes another stub is asked to be ready again", async () => {
    const stubs = [{}, {}].map(() => Promise.resolve({ getChannel: () => undefined }));
    const { client, initialize } = given(async () => undefined);
    initialize.mockReturnValueOnce(stubs[0] ?? refuse()).mockReturnValue(stubs[1] ?? refuse());
    expect(await ask(client, 3)).toHaveLength(3);
    expect(initialize).toHaveBeenCalledTimes(3);
  });

  test("over REST is asked for a token before each call", async () => {
    const stub = Promise.resolve({});
    const { client, headers } = given(() => stub);
    expect(await ask(client, 3)).toEqual([1, 2, 3].map(() => [true, { timeout: 11_000, retry: null }]));
    expect(headers).toHaveBeenCalledTimes(3);
  });

  test("that cannot be made ready says so, and is tried again by the next call", async () => {
    const { client, initialize } = given(refuse);
    await expect(ask(client, 1)).rejects.toMatchObject({
      code: "access_denied",
      message: `cannot sign with ${NAME}: no usable Google credentials were found`,
    });
    initialize.mockResolvedValue({ getChannel: () => undefined });
    expect(await ask(client, 1)).toHaveLength(1);
  });

  test("that is ready makes no call that was aborted before", async () => {
    const stub = Promise.resolve({ getChannel: () => undefined });
    const { client } = given(() => stub);
    const connection = await connect({ client }, NAME);
    const called = vi.fn<() => Promise<unknown>>(async () => "answer");
    await connection.call({ timeoutMs: 1000, signal: new AbortController().signal }, SUBJECT, called);
    const gone = new Error("gone");
    const late = connection.call({ timeoutMs: 1000, signal: AbortSignal.abort(gone) }, SUBJECT, called);
    await expect(late).rejects.toBe(gone);
    expect(called).toHaveBeenCalledOnce();
  });

  test("makes no call that was aborted while it became ready", async () => {
    const caller = new AbortController();
    const { client } = given(async () => {
      caller.abort(new Error("gone"));
      return { getChannel: () => undefined };
    });
    const called = vi.fn<() => Promise<unknown>>();
    const connection = await connect({ client }, NAME);
    await expect(connection.call({ timeoutMs: 1000, signal: caller.signal }, SUBJECT, called)).rejects.toMatchObject({
      code: "aborted",
    });
    expect(called).not.toHaveBeenCalled();
  });
});
