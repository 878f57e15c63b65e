import { once } from "node:events";
import { Agent, type ClientRequest, get, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Schedule } from "../src/schedule.ts";
import {
  assertionOf,
  type Backend,
  type Client,
  createBackend,
  createClient,
  ISSUER,
  requestToken,
  start,
  type TestOp,
} from "./support.ts";

const HOUR = 3_600_000;
/** The schedule begins now: tokens expire by the real clock. */
const FIRST = Math.floor(Date.now() / HOUR) * HOUR;
const at = (hours: number): string => new Date(FIRST + hours * HOUR).toISOString();
const ONE_KEY: Schedule = {
  maxTokenLifetimeSeconds: 600,
  keys: [{ uri: "local:", announcedFrom: at(0), activeFrom: at(0) }],
};

let backend: Backend;
let client: Client;
let op: TestOp;

beforeAll(async () => {
  client = await createClient();
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});
afterAll(() => {
  vi.restoreAllMocks();
});
beforeEach(async () => {
  backend = createBackend();
  op = await start(ONE_KEY, backend, client);
});
afterEach(async () => {
  backend.fail(undefined);
  await op.close();
});

async function newToken(from: TestOp = op): Promise<string> {
  const { access_token: token } = (await (await requestToken(from.url, await assertionOf(client))).json()) as {
    access_token: string;
  };
  return token;
}

describe("tokens", () => {
  test("an access token verifies with the published keys, and at the OP's own userinfo endpoint", async () => {
    const token = await newToken();
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(`${op.url}/jwks`)), {
      issuer: ISSUER,
      audience: `${ISSUER}/userinfo`,
      typ: "at+jwt",
    });
    expect(payload).toMatchObject({ sub: "rp", client_id: "rp" });
    for (const method of ["GET", "POST"]) {
      const userinfo = await fetch(`${op.url}/userinfo`, { method, headers: { authorization: `Bearer ${token}` } });
      expect([userinfo.status, await userinfo.json()]).toEqual([200, { sub: "rp" }]);
    }
  });

  test("userinfo refuses a token that another key signed", async () => {
    const stranger = await start(ONE_KEY, createBackend(), client);
    const userinfo = await fetch(`${op.url}/userinfo`, {
      headers: { authorization: `Bearer ${await newToken(stranger)}` },
    });
    await stranger.close();
    expect(userinfo.status).toBe(401);
    expect(userinfo.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
  });

  test("a client assertion is accepted once, and only for this issuer", async () => {
    const assertion = await assertionOf(client);
    const statuses = [
      (await requestToken(op.url, assertion)).status,
      (await requestToken(op.url, assertion)).status,
      (await requestToken(op.url, await assertionOf(client, "https://other.example"))).status,
    ];
    expect(statuses).toEqual([200, 401, 401]);
  });

  test("an outage is a 503 with Retry-After, any other failure a 500, and neither says more", async () => {
    backend.fail("unavailable", true);
    const outage = await requestToken(op.url, await assertionOf(client));
    expect([outage.status, outage.headers.get("retry-after"), await outage.json()]).toEqual([
      503,
      "2",
      { error: "temporarily_unavailable" },
    ]);
    backend.fail("access_denied");
    const denied = await requestToken(op.url, await assertionOf(client));
    expect([denied.status, await denied.json()]).toEqual([500, { error: "server_error" }]);
  });

  test("a target in absolute form is accepted (RFC 9112 section 3.2.2)", async () => {
    const statuses = ["/jwks?a=b", "/userinfo", "/nothing"].map(async (path) => {
      const asked = get(op.url, { path: ISSUER + path });
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    });
    expect(await Promise.all(statuses)).toEqual([200, 401, 404]);
  });

  test("HEAD is answered as GET, without a body", async () => {
    const head = await fetch(`${op.url}/.well-known/openid-configuration`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-type"), await head.text()]).toEqual([200, "application/json", ""]);
  });

  test.each(["/tenant", "/tenant/"])(
    "with the issuer's path %s, all endpoints are where discovery says",
    async (path) => {
      const issuer = `${ISSUER}${path}`;
      const tenant = await start(ONE_KEY, backend, client, { issuer });
      const discovery = await fetch(`${tenant.url}/tenant/.well-known/openid-configuration`);
      const { jwks_uri, token_endpoint, userinfo_endpoint } = (await discovery.json()) as Record<string, string>;
      expect([jwks_uri, token_endpoint, userinfo_endpoint]).toEqual(
        ["/jwks", "/token", "/userinfo"].map((name) => `${ISSUER}/tenant${name}`),
      );
      const answer = await requestToken(`${tenant.url}/tenant`, await assertionOf(client, issuer));
      const { access_token: token } = (await answer.json()) as { access_token: string };
      await jwtVerify(token, createRemoteJWKSet(new URL(`${tenant.url}/tenant/jwks`)), { issuer });
      const userinfo = await fetch(`${tenant.url}/tenant/userinfo`, { headers: { authorization: `Bearer ${token}` } });
      expect(await userinfo.json()).toEqual({ sub: "rp" });
      // The probes of the platform do not go through the public URL.
      expect((await fetch(`${tenant.url}/ready`)).status).toBe(200);
      expect((await fetch(`${tenant.url}/jwks`)).status).toBe(404);
      await tenant.close();
    },
  );

  test("the discovery document names the endpoints", async () => {
    expect(await (await fetch(`${op.url}/.well-known/openid-configuration`)).json()).toMatchObject({
      issuer: ISSUER,
      jwks_uri: `${ISSUER}/jwks`,
      id_token_signing_alg_values_supported: ["ES256"],
      token_endpoint: `${ISSUER}/token`,
    });
  });
});

describe("rotation by the schedule", () => {
  test("the next key is published, then signs, and the first is withdrawn: no restart", async () => {
    let hours = 1;
    const next = { uri: "local:", announcedFrom: at(10), activeFrom: at(15) };
    const rotating = await start({ ...ONE_KEY, keys: [...ONE_KEY.keys, next] }, backend, client, {
      now: () => FIRST + hours * HOUR,
    });
    const states: [string | undefined, number, string | null][] = [];
    for (const moment of [1, 11, 15, 40]) {
      hours = moment;
      const jwks = await fetch(`${rotating.url}/jwks`);
      const { keys } = (await jwks.json()) as { keys: { kid: string }[] };
      states.push([
        decodeProtectedHeader(await newToken(rotating)).kid === keys[0]?.kid ? keys[0]?.kid : "not the first",
        keys.length,
        jwks.headers.get("cache-control"),
      ]);
    }
    await rotating.close();
    const long = "public, max-age=3600, stale-while-revalidate=3600";
    const short = "public, max-age=300, must-revalidate";
    expect(states.map(([, length, cacheControl]) => [length, cacheControl])).toEqual([
      [1, long],
      [2, short],
      [2, short],
      [1, long],
    ]);
    const [a, b, c, d] = states.map(([kid]) => kid);
    expect([a === b, b === c, c === d]).toEqual([true, false, true]);
  });
});

describe("readiness", () => {
  const ready = async (of: TestOp = op): Promise<[number, unknown]> => {
    const response = await fetch(`${of.url}/ready`);
    return [response.status, await response.json()];
  };

  test("the first probe signs once, the later ones do not", async () => {
    expect(backend.signatures()).toBe(0);
    expect(await ready()).toEqual([200, { status: "ready" }]);
    expect(await ready()).toEqual([200, { status: "ready" }]);
    expect(backend.signatures()).toBe(1);
  });

  test("a replica is not ready before its key has signed, whatever the reason", async () => {
    backend.fail("unavailable", true);
    expect(await ready()).toEqual([503, { status: "down", code: "unavailable" }]);
    backend.fail(undefined);
    expect(await ready()).toEqual([200, { status: "ready" }]);
  });

  test("a later outage does not take it out, because it affects all replicas", async () => {
    await ready();
    backend.fail("throttled", true);
    await requestToken(op.url, await assertionOf(client));
    expect(await ready()).toEqual([200, { status: "degraded", code: "throttled" }]);
  });

  test("a key that is not allowed to sign takes it out until it has signed again, even if an outage follows", async () => {
    await ready();
    backend.fail("key_disabled");
    await requestToken(op.url, await assertionOf(client));
    expect(await ready()).toEqual([503, { status: "down", code: "key_disabled" }]);
    backend.fail("unavailable", true);
    for (const _probe of [1, 2]) expect(await ready()).toEqual([503, { status: "down", code: "unavailable" }]);
    backend.fail(undefined);
    expect(await ready()).toEqual([200, { status: "ready" }]);
  });

  test("a rotation in the middle of an outage takes no replica out", async () => {
    let hours = 1;
    const next = { uri: "local:", announcedFrom: at(10), activeFrom: at(15) };
    const rotating = await start({ ...ONE_KEY, keys: [...ONE_KEY.keys, next] }, backend, client, {
      now: () => FIRST + hours * HOUR,
    });
    expect(await ready(rotating)).toEqual([200, { status: "ready" }]);
    backend.fail("unavailable", true);
    hours = 15;
    expect(await ready(rotating)).toEqual([200, { status: "degraded", code: "unavailable" }]);
    backend.fail(undefined);
    expect(await ready(rotating)).toEqual([200, { status: "ready" }]);
    await rotating.close();
  });

  test("it is always alive, and does not call the KMS to find out", async () => {
    backend.fail("key_disabled");
    expect((await fetch(`${op.url}/alive`)).status).toBe(200);
    expect(backend.signatures()).toBe(0);
  });
});

describe("shutdown", () => {
  test("not ready first, then no new connections, started tokens finish, and then the key closes", async () => {
    const draining = await start(ONE_KEY, backend, client, { drainMs: 300 });
    const release = backend.hold();
    const started = requestToken(draining.url, await assertionOf(client));
    await vi.waitFor(() => expect(backend.waiting()).toBe(1));
    const closed = draining.close();
    const probe = await fetch(`${draining.url}/ready`);
    expect([probe.status, await probe.json()]).toEqual([503, { status: "draining" }]);
    expect((await fetch(`${draining.url}/jwks`)).status).toBe(200);
    // Refused once the listener is closed, while the token is still on its way.
    await vi.waitFor(() => expect(fetch(`${draining.url}/alive`)).rejects.toThrow("fetch failed"), { timeout: 10_000 });
    expect(backend.closed()).toBe(false);
    release();
    expect((await started).status).toBe(200);
    await closed;
    expect(backend.closed()).toBe(true);
  });

  test("a connection that was busy, and whose client goes on, is told to close", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const answered = async (asked: ClientRequest): Promise<IncomingMessage> => {
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      await once(response.resume(), "end");
      return response;
    };
    const headers = { "content-type": "application/x-www-form-urlencoded", "content-length": 1 };
    const busy = request(`${op.url}/token`, { agent, method: "POST", headers });
    busy.flushHeaders();
    await once(busy, "socket");
    await vi.waitFor(() => expect(busy.socket?.connecting).toBe(false));
    const closed = op.close();
    await vi.waitFor(() => expect(fetch(`${op.url}/alive`)).rejects.toThrow("fetch failed"), { timeout: 10_000 });
    await answered(busy.end("x"));
    expect((await answered(get(`${op.url}/alive`, { agent }))).headers.connection).toBe("close");
    await closed;
  });

  test("a connection that says nothing is ended, once a signature would have been there", async () => {
    const timers = vi.spyOn(globalThis, "setTimeout");
    onTestFinished(() => timers.mockRestore());
    const silent = connect(op.port, "127.0.0.1");
    onTestFinished(() => void silent.destroy());
    await once(silent, "connect");
    expect((await fetch(`${op.url}/alive`)).status).toBe(200);
    const ended = once(silent, "close");
    const closed = op.close();
    const timer = await vi.waitUntil(() => timers.mock.calls.find(([, ms]) => ms === 5000));
    expect(backend.closed()).toBe(false);
    timer[0]();
    await Promise.all([ended, closed]);
    expect(backend.closed()).toBe(true);
  });
});
