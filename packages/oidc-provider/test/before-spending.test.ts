import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, constants, createServer, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  type KeySet,
  type Signer,
  SignerError,
  type SignerErrorCode,
} from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import {
  approveDevice,
  browser,
  type DeviceAuthorization,
  type Op,
  REDIRECT_URI,
  RESOURCE,
  startOp,
} from "./support/op.ts";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const SECRET = "only-for-this-test";
const CODE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const PKCE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };

let opened: Op | undefined;
afterEach(() => {
  opened?.close();
});

interface Started {
  readonly op: Op;
  /** From now on nothing can be signed, and then it can be again. */
  breaks(): void;
  mends(): void;
}

type Breaking = (sets: { readonly good: KeySet; readonly other: KeySet }) => { keys: KeySet; publishes: KeySet };

/** An OP whose key source and endpoint are right until it breaks. */
async function start(
  breaking: Breaking,
  { told = false, format = "opaque" }: { told?: boolean; format?: "opaque" | "jwt" } = {},
): Promise<Started> {
  const [good, other] = await Promise.all(
    ["a", "b"].map(async (keyId) => createKeySet([{ keyId, signer: await openLocalSigner() }])),
  );
  if (good === undefined || other === undefined) throw new Error("expected two sets");
  const works = (): ReturnType<Breaking> => ({ keys: good, publishes: good });
  let now = works;
  const getResourceServerInfo = () => ({ scope: "api", audience: RESOURCE, accessTokenFormat: format });
  const op = await startOp({
    keys: () => now().keys,
    endpoint: (issuer) => createJwksEndpoint({ issuer, keys: () => now().publishes }),
    attach: told ? { getResourceServerInfo } : {},
    configuration: {
      rotateRefreshToken: true,
      clients: [
        {
          client_id: "rp",
          client_secret: SECRET,
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "implicit", "refresh_token", DEVICE_GRANT],
          response_types: ["code", "code id_token"],
        },
      ],
      features: { resourceIndicators: { enabled: true, getResourceServerInfo, useGrantedResource: () => true } },
    },
  });
  opened = op;
  return {
    op,
    breaks: () => {
      now = () => breaking({ good, other });
    },
    mends: () => {
      now = works;
    },
  };
}

function post(
  { issuer }: Op,
  path: string,
  form: Record<string, string>,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${issuer}${path}`, {
    method: "POST",
    signal,
    headers: { authorization: `Basic ${btoa(`rp:${SECRET}`)}` },
    body: new URLSearchParams(form),
  });
}

async function authorize({ issuer }: Op, scope: string, more: Record<string, string> = {}): Promise<string> {
  const url = new URL(`${issuer}/auth`);
  const query = { client_id: "rp", redirect_uri: REDIRECT_URI, response_type: "code", scope, ...PKCE, ...more };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const ended = await browser(issuer)(url);
  if (!(ended instanceof URL)) throw new Error(`the OP answered ${ended.status}`);
  return ended.searchParams.get("code") ?? "";
}

function exchange(op: Op, code: string, signal: AbortSignal | null = null): Promise<Response> {
  return post(op, "/token", exchangeForm(code), signal);
}

function exchangeForm(code: string): Record<string, string> {
  return { grant_type: "authorization_code", code, redirect_uri: REDIRECT_URI, code_verifier: CODE_VERIFIER };
}

async function answerOf(response: Response): Promise<Record<string, unknown>> {
  return { status: response.status, ...((await response.json()) as object) };
}

const REFUSED = { status: 500, error: "server_error" };
const SPENT = { status: 400, error: "invalid_grant" };

describe.each<[string, Breaking]>([
  ["the endpoint does not publish the active key", ({ good, other }) => ({ keys: other, publishes: good })],
  ["the endpoint publishes the active key no more", ({ good, other }) => ({ keys: good, publishes: other })],
  [
    "the key source fails",
    () => {
      throw new Error("the database is down");
    },
  ],
])("while %s", (_name, breaking) => {
  test("a code is refused, and is not spent", async () => {
    const { op, breaks, mends } = await start(breaking);
    const code = await authorize(op, "openid");
    breaks();
    expect(await answerOf(await exchange(op, code))).toMatchObject(REFUSED);
    mends();
    expect(await answerOf(await exchange(op, code))).toMatchObject({ status: 200, id_token: expect.any(String) });
    expect(await answerOf(await exchange(op, code))).toMatchObject(SPENT);
  });

  test("a refresh token that rotates is refused, and is not spent", async () => {
    const { op, breaks, mends } = await start(breaking);
    const { refresh_token } = await answerOf(await exchange(op, await authorize(op, "openid")));
    const refresh = () => post(op, "/token", { grant_type: "refresh_token", refresh_token: String(refresh_token) });
    breaks();
    for (let attempt = 0; attempt < 2; attempt += 1) expect(await answerOf(await refresh())).toMatchObject(REFUSED);
    mends();
    expect(await answerOf(await refresh())).toMatchObject({ status: 200, id_token: expect.any(String) });
    expect(await answerOf(await refresh())).toMatchObject(SPENT);
  });

  test("a device code is refused, and is not spent", async () => {
    const { op, breaks, mends } = await start(breaking);
    const device = await answerOf(await post(op, "/device/auth", { scope: "openid" }));
    await approveDevice(op, device as unknown as DeviceAuthorization);
    const poll = () => post(op, "/token", { grant_type: DEVICE_GRANT, device_code: String(device["device_code"]) });
    breaks();
    expect(await answerOf(await poll())).toMatchObject(REFUSED);
    mends();
    expect(await answerOf(await poll())).toMatchObject({ status: 200, id_token: expect.any(String) });
  });

  test("a pushed authorization request for an ID token is refused, and is not spent", async () => {
    const { op, breaks, mends } = await start(breaking);
    const form = { client_id: "rp", redirect_uri: REDIRECT_URI, scope: "openid", nonce: "n", ...PKCE };
    const { request_uri } = await answerOf(await post(op, "/request", { ...form, response_type: "code id_token" }));
    const url = new URL(
      `${op.issuer}/auth?${new URLSearchParams({ client_id: "rp", request_uri: String(request_uri) })}`,
    );
    const isGiven = async (): Promise<boolean> => {
      const ended = await browser(op.issuer)(url);
      return ended instanceof URL && new URLSearchParams(ended.hash.slice(1)).has("id_token");
    };
    breaks();
    expect(await isGiven()).toBe(false);
    mends();
    expect([await isGiven(), await isGiven()]).toEqual([true, false]);
  });

  test("a code for a resource server alone is refused before it is spent where attach was told of it", async () => {
    const { op, breaks, mends } = await start(breaking, { told: true, format: "jwt" });
    const code = await authorize(op, "api", { resource: RESOURCE });
    breaks();
    expect(await answerOf(await exchange(op, code))).toMatchObject(REFUSED);
    mends();
    expect(await answerOf(await exchange(op, code))).toMatchObject({ status: 200, access_token: expect.any(String) });
  });

  test.each([true, false])("tokens that take no signature are given (attach was told: %s)", async (told) => {
    const { op, breaks } = await start(breaking, { told });
    const first = await answerOf(
      await exchange(op, await authorize(op, "openid api offline_access", { resource: RESOURCE })),
    );
    const code = await authorize(op, "api", { resource: RESOURCE });
    breaks();
    expect(await answerOf(await exchange(op, code))).toMatchObject({ status: 200, access_token: expect.any(String) });
    // Fewer scopes than were granted (RFC 6749 section 6): no ID token.
    const form = { grant_type: "refresh_token", refresh_token: String(first["refresh_token"]), scope: "api" };
    expect(await answerOf(await post(op, "/token", form))).toMatchObject({
      status: 200,
      refresh_token: expect.any(String),
    });
  });
});

test.each([true, false])(
  "two requests with the same refresh token are the host's affair while all works (attach was told: %s)",
  async (told) => {
    const { op } = await start(({ good }) => ({ keys: good, publishes: good }), { told });
    const { refresh_token } = await answerOf(await exchange(op, await authorize(op, "openid")));
    const form = { grant_type: "refresh_token", refresh_token: String(refresh_token) };
    const { adapter } = op.provider.RefreshToken;
    const [find, consume] = [adapter.find.bind(adapter), adapter.consume.bind(adapter)];
    // The store answers when both requests have asked it, and then both at once, as a pipeline of Redis does.
    const asked: (() => void)[] = [];
    vi.spyOn(adapter, "find").mockImplementation(async (id) => {
      const found = { ...(await find(id)) };
      const both = new Promise<void>((resolve) => asked.push(resolve));
      if (asked.length === 2) for (const resolve of asked) resolve();
      await both;
      return found;
    });
    const spy = vi.spyOn(adapter, "consume");
    spy.mockImplementation(async (id) => {
      await vi.waitUntil(() => spy.mock.calls.length === 2, { interval: 5 });
      await consume(id);
    });
    const answers = await Promise.all([post(op, "/token", form), post(op, "/token", form)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(op.failures).toEqual([]);
  },
);

describe("while the backend fails", () => {
  interface Failing extends Started {
    /** From now on the backend answers no call. */
    hangs(): void;
    /** From now on the backend answers no call until the result is called. Then it signs. */
    holds(): () => void;
    /** How many calls have reached the backend. */
    calls(): number;
  }

  async function startFailing(
    code: SignerErrorCode,
    options?: { told?: boolean; format?: "opaque" | "jwt" },
  ): Promise<Failing> {
    const local = await openLocalSigner();
    let fails = false;
    let hangs = false;
    let held: Promise<void> | undefined;
    let calls = 0;
    const signer: Signer = {
      ...local,
      sign: async (...given) => {
        await setImmediate();
        calls += 1;
        if (hangs) return new Promise(() => {});
        if (fails) throw new SignerError(code, "the backend is down");
        await held;
        return local.sign(...given);
      },
    };
    const keys = createKeySet([{ keyId: "c", signer }]);
    const started = await start(() => ({ keys, publishes: keys }), options);
    started.breaks();
    return {
      op: started.op,
      calls: () => calls,
      hangs: () => {
        hangs = true;
      },
      holds: () => {
        let release: () => void = () => {};
        held = new Promise((resolve) => {
          release = resolve;
        });
        fails = false;
        return release;
      },
      breaks: () => {
        fails = true;
      },
      mends: () => {
        fails = false;
        hangs = false;
      },
    };
  }

  test.each([
    ["unavailable", 503, "temporarily_unavailable"],
    ["overloaded", 503, "temporarily_unavailable"],
    ["access_denied", 500, "server_error"],
  ] as const)("(%s) the first failure spends what it was asked for, and no other does", async (code, status, error) => {
    const { op, breaks, mends } = await startFailing(code);
    const [first = "", second = "", third = ""] = await Promise.all([1, 2, 3].map(async () => authorize(op, "openid")));
    const { refresh_token } = await answerOf(await exchange(op, third));
    const refresh = () => post(op, "/token", { grant_type: "refresh_token", refresh_token: String(refresh_token) });
    breaks();
    for (const ask of [() => exchange(op, first), () => exchange(op, second), refresh, refresh]) {
      expect(await answerOf(await ask())).toMatchObject({ status, error });
    }
    mends();
    expect(await answerOf(await exchange(op, first))).toMatchObject(SPENT);
    expect(await answerOf(await exchange(op, second))).toMatchObject({ status: 200, id_token: expect.any(String) });
    expect(await answerOf(await refresh())).toMatchObject({ status: 200, id_token: expect.any(String) });
    expect(await answerOf(await refresh())).toMatchObject(SPENT);
  });

  describe("of two requests with the same code or token that wait for the trial, one gets tokens", () => {
    /** Fails once, and then holds the trial that the requests of `ask` wait for. */
    const holdTrial = async ({ op, breaks, holds, calls }: Failing, ask: () => void): Promise<() => void> => {
      const failed = await authorize(op, "openid");
      breaks();
      await exchange(op, failed);
      const release = holds();
      const before = calls();
      ask();
      await vi.waitUntil(() => calls() > before);
      return release;
    };
    const statuses = async (asked: readonly Promise<Response>[]) =>
      (await Promise.all(asked.map(async (response) => (await response).status))).toSorted((a, b) => a - b);

    test("at once", async () => {
      const failing = await startFailing("unavailable");
      const { op } = failing;
      const code = await authorize(op, "openid");
      const { refresh_token } = await answerOf(await exchange(op, await authorize(op, "openid")));
      const refresh = () => post(op, "/token", { grant_type: "refresh_token", refresh_token: String(refresh_token) });
      const asks = [() => exchange(op, code), () => exchange(op, code), refresh, refresh];
      const answers: Promise<Response>[] = [];
      const { AuthorizationCode, RefreshToken } = op.provider;
      const finds = [AuthorizationCode, RefreshToken].map(({ adapter }) => vi.spyOn(adapter, "find"));
      const release = await holdTrial(failing, () => {
        for (const find of finds) find.mockClear();
        answers.push(...asks.map(async (ask) => ask()));
      });
      await vi.waitUntil(() => finds.every(({ mock }) => mock.calls.length === 2));
      release();
      expect(await statuses(answers.slice(0, 2))).toEqual([200, 503]);
      expect(await statuses(answers.slice(2))).toEqual([200, 503]);
      // The host sees the reuse.
      expect(await answerOf(await exchange(op, code))).toMatchObject(SPENT);
      expect(await answerOf(await refresh())).toMatchObject(SPENT);
    });

    test("one of them in another process", async () => {
      const failing = await startFailing("unavailable");
      const { op } = failing;
      const code = await authorize(op, "openid");
      const answers: Promise<Response>[] = [];
      const release = await holdTrial(failing, () => answers.push(exchange(op, code)));
      await op.provider.AuthorizationCode.adapter.consume(code);
      release();
      expect(await statuses(answers)).toEqual([503]);
      expect(await answerOf(await exchange(op, code))).toMatchObject(SPENT);
    });
  });

  describe("a client that is tired of waiting", () => {
    /** Asks, and hangs up as soon as the request waits. Resolves when the OP knows that. */
    const hangUp = async ({ server }: Op, ask: (signal: AbortSignal) => Promise<unknown>, waits: () => boolean) => {
      const client = new AbortController();
      const responses: ServerResponse[] = [];
      server.on("request", (_request, response) => responses.push(response));
      const asked = ask(client.signal).catch(() => {});
      await vi.waitUntil(waits);
      client.abort();
      await asked;
      await vi.waitUntil(() => responses[0]?.destroyed === true);
    };

    test("keeps its code or refresh token, even if it asks again before the trial ends", async () => {
      const { op, breaks, holds, calls } = await startFailing("unavailable");
      const [failed, code, other] = await Promise.all([1, 2, 3].map(async () => authorize(op, "openid")));
      const { refresh_token } = await answerOf(await exchange(op, other ?? ""));
      const refresh = { grant_type: "refresh_token", refresh_token: String(refresh_token) };
      breaks();
      await exchange(op, failed ?? "");
      const release = holds();
      const before = calls();
      await hangUp(
        op,
        async (signal) => post(op, "/token", refresh, signal),
        () => calls() > before,
      );
      const find = vi.spyOn(op.provider.AuthorizationCode.adapter, "find");
      await hangUp(
        op,
        async (signal) => exchange(op, code ?? "", signal),
        () => find.mock.calls.length > 0,
      );
      const again = exchange(op, code ?? "");
      await vi.waitUntil(() => find.mock.calls.length > 1);
      release();
      expect(await answerOf(await again)).toMatchObject({ status: 200, id_token: expect.any(String) });
      expect(await answerOf(await post(op, "/token", refresh))).toMatchObject({ status: 200 });
      expect(await answerOf(await post(op, "/token", refresh))).toMatchObject(SPENT);
      expect(op.failures.map(({ error }) => String(error.cause))).toContainEqual(expect.stringContaining("closed its"));
    });

    test("keeps its code over HTTP/2, where it closes only a stream", async () => {
      const { op, breaks, holds, calls } = await startFailing("unavailable");
      const [failed = "", code = ""] = await Promise.all([1, 2].map(async () => authorize(op, "openid")));
      breaks();
      await exchange(op, failed);
      const release = holds();
      const before = calls();
      const handle = op.provider.callback();
      const server = createServer((request, response) => void handle(request, response)).listen(0, "127.0.0.1");
      await once(server, "listening");
      const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      onTestFinished(() => {
        session.close();
        server.close();
      });
      const responses: Http2ServerResponse[] = [];
      server.on("request", (_request, response) => responses.push(response));
      const form = new URLSearchParams(exchangeForm(code)).toString();
      const stream = session.request({
        ":method": "POST",
        ":path": "/token",
        authorization: `Basic ${btoa(`rp:${SECRET}`)}`,
        "content-type": "application/x-www-form-urlencoded",
        "content-length": form.length,
      });
      stream.end(form);
      await vi.waitUntil(() => calls() > before);
      stream.close(constants.NGHTTP2_CANCEL);
      await vi.waitUntil(() => responses[0]?.stream.destroyed === true);
      release();
      await vi.waitUntil(() => op.failures.length > 1);
      expect(String(op.failures[1]?.error.cause)).toContain("closed its");
      expect(await answerOf(await exchange(op, code))).toMatchObject({ status: 200, id_token: expect.any(String) });
    });

    test("is not refused because of a request that never ends", async () => {
      const { op } = await startFailing("unavailable", { told: true });
      const code = await authorize(op, "openid api", { resource: RESOURCE });
      const { adapter } = op.provider.AuthorizationCode;
      const look = adapter.find.bind(adapter);
      const find = vi.spyOn(adapter, "find");
      // The store never answers the second look.
      find.mockImplementationOnce(look).mockReturnValueOnce(new Promise(() => {}));
      await hangUp(
        op,
        async (signal) => exchange(op, code, signal),
        () => find.mock.calls.length > 1,
      );
      expect(await answerOf(await exchange(op, code))).toMatchObject({ status: 200, id_token: expect.any(String) });
    });
  });

  test("the first failure spends a pushed authorization request with JARM, and no other does", async () => {
    const { op, breaks, mends } = await startFailing("unavailable");
    const push = async () => {
      const form = { client_id: "rp", redirect_uri: REDIRECT_URI, response_type: "code", scope: "openid", ...PKCE };
      const pushed = await answerOf(await post(op, "/request", { ...form, response_mode: "query.jwt" }));
      return String(pushed["request_uri"]);
    };
    const browse = browser(op.issuer);
    /** The status of a page of the OP, or the names of what the client gets. */
    const open = async (request_uri: string) => {
      const query = new URLSearchParams({ client_id: "rp", request_uri });
      const ended = await browse(new URL(`${op.issuer}/auth?${query}`));
      return ended instanceof URL ? [...ended.searchParams.keys()] : ended.status;
    };
    const [first, second] = [await push(), await push()];
    breaks();
    for (const uri of [first, second, second]) expect(await open(uri)).toBe(503);
    mends();
    expect(await open(first)).toContain("error");
    expect(await open(second)).toEqual(["response"]);
    expect(await open(second)).toContain("error");
  });

  test("however many wait, it is tried once at a time, and not at all once it signs", async () => {
    const { op, breaks, mends, calls } = await startFailing("unavailable");
    const codes = await Promise.all(Array.from({ length: 7 }, async () => authorize(op, "openid")));
    const [first = "", last = "", ...others] = codes;
    breaks();
    await exchange(op, first);
    mends();
    const before = calls();
    const answers = await Promise.all(others.map(async (code) => (await exchange(op, code)).status));
    expect(answers).toEqual([200, 200, 200, 200, 200]);
    const trials = calls() - before - 5;
    expect(trials).toBeGreaterThanOrEqual(1);
    expect(trials).toBeLessThan(5);
    const mended = calls();
    await exchange(op, last);
    expect(calls() - mended).toBe(1);
  });

  test("a signature that started before the first failure does not end the outage", async () => {
    const { op, breaks, mends, holds, calls } = await startFailing("unavailable");
    const [slow = "", lost = "", kept = ""] = await Promise.all([1, 2, 3].map(async () => authorize(op, "openid")));
    const release = holds();
    const before = calls();
    const signed = exchange(op, slow);
    await vi.waitUntil(() => calls() > before);
    breaks();
    expect(await answerOf(await exchange(op, lost))).toMatchObject({ status: 503 });
    release();
    expect(await answerOf(await signed)).toMatchObject({ status: 200 });
    expect(await answerOf(await exchange(op, kept))).toMatchObject({ status: 503 });
    mends();
    expect(await answerOf(await exchange(op, kept))).toMatchObject({ status: 200, id_token: expect.any(String) });
  });

  test("a trial that is never answered ends, and another one follows", async () => {
    const { op, breaks, mends, hangs, calls } = await startFailing("unavailable");
    const [first = "", second = ""] = await Promise.all([1, 2].map(async () => authorize(op, "openid")));
    breaks();
    await exchange(op, first);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      hangs();
      const before = calls();
      const waiting = exchange(op, second);
      await vi.waitUntil(() => calls() > before);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await answerOf(await waiting)).toMatchObject({ status: 503, error: "temporarily_unavailable" });
    } finally {
      vi.useRealTimers();
    }
    mends();
    expect(await answerOf(await exchange(op, second))).toMatchObject({ status: 200, id_token: expect.any(String) });
  });
});
