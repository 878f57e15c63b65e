import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKeySet, guardSigner, SignerError, type SignerErrorCode } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { approveDevice, browser, type DeviceAuthorization, type Op, REDIRECT_URI, startOp } from "./support/op.ts";

const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const SECRET = "arn:aws:kms:eu-central-1:111122223333:key/secret";
let op: Op;
let failing: SignerErrorCode | undefined;

beforeAll(async () => {
  const bare = await openLocalSigner({ policy: false });
  const signer = guardSigner(
    {
      ...bare,
      sign: async (digest, options) => {
        if (failing !== undefined) throw new SignerError(failing, SECRET);
        return bare.sign(digest, options);
      },
    },
    { maxAttempts: 1 },
  );
  op = await startOp({
    keys: createKeySet([{ signer }]),
    configuration: {
      clients: [
        {
          client_id: "service",
          client_secret: "only-for-this-test",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
        {
          client_id: "rp",
          token_endpoint_auth_method: "none",
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "implicit"],
          response_types: ["code", "id_token"],
        },
        {
          client_id: "signed",
          client_secret: "only-for-this-test",
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "refresh_token", DEVICE_GRANT],
          response_types: ["code"],
          userinfo_signed_response_alg: "ES256",
          introspection_signed_response_alg: "ES256",
          backchannel_logout_uri: "http://127.0.0.1:9/",
        },
      ],
    },
  });
});
afterAll(() => {
  op.close();
});
beforeEach(() => {
  failing = undefined;
});

function post(path: string, client: string, form: Record<string, string>): Promise<Response> {
  return fetch(`${op.issuer}${path}`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client}:only-for-this-test`)}` },
    body: new URLSearchParams(form),
  });
}

function askToken(): Promise<Response> {
  return post("/token", "service", { grant_type: "client_credentials", resource: "urn:example:api" });
}

function authorize(parameters: Record<string, string>, browse = browser(op.issuer)): Promise<URL | Response> {
  const url = new URL(`${op.issuer}/auth`);
  const all = { client_id: "rp", redirect_uri: REDIRECT_URI, scope: "openid", nonce: "n", state: "s", ...parameters };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return browse(url);
}

const PKCE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
const CODE_VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

async function exchange(callback: URL | Response): Promise<Response> {
  if (!(callback instanceof URL)) throw new Error(`expected a redirect, got ${callback.status}`);
  return post("/token", "signed", {
    grant_type: "authorization_code",
    code: callback.searchParams.get("code") ?? "",
    redirect_uri: REDIRECT_URI,
    code_verifier: CODE_VERIFIER,
  });
}

async function login(browse = browser(op.issuer)): Promise<{ access_token: string; refresh_token: string }> {
  const response = await exchange(await authorize({ client_id: "signed", response_type: "code", ...PKCE }, browse));
  return (await response.json()) as { access_token: string; refresh_token: string };
}

async function loginAgain(): ReturnType<typeof login> {
  const before = failing;
  failing = undefined;
  const tokens = await login();
  failing = before;
  return tokens;
}

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** What the operator's event of the last failure says. */
function lastCode(): unknown {
  const cause = op.failures.at(-1)?.error.cause;
  return cause instanceof SignerError ? cause.code : undefined;
}

const PASSING = ["overloaded", "throttled", "unavailable", "timeout"] as const;
const LASTING = ["key_disabled", "access_denied", "wrong_key", "bad_signature", "pin_locked"] as const;

describe("endpoints that the client calls directly", () => {
  test.each(PASSING)(
    "%s is 503 temporarily_unavailable with Retry-After, and the operator sees the code",
    async (code) => {
      failing = code;
      const response = await askToken();
      const body = await response.text();
      expect(response.status).toBe(503);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(JSON.parse(body)).toMatchObject({ error: "temporarily_unavailable" });
      expect(body).not.toContain(SECRET);
      expect(lastCode()).toBe(code);
    },
  );

  test.each(LASTING)("%s is server_error, and the operator sees the code", async (code) => {
    failing = code;
    const response = await askToken();
    const body = await response.text();
    expect(response.status).toBe(500);
    expect(response.headers.get("retry-after")).toBeNull();
    expect(JSON.parse(body)).toMatchObject({ error: "server_error" });
    expect(body).not.toContain(SECRET);
    expect(lastCode()).toBe(code);
  });

  const endpoints: [string, (tokens: { access_token: string; refresh_token: string }) => Promise<Response>][] = [
    ["userinfo as a JWT", ({ access_token }) => fetch(`${op.issuer}/me`, { headers: bearer(access_token) })],
    [
      "introspection as a JWT",
      ({ access_token: token }) =>
        fetch(`${op.issuer}/token/introspection`, {
          method: "POST",
          headers: {
            authorization: `Basic ${btoa("signed:only-for-this-test")}`,
            accept: "application/token-introspection+jwt",
          },
          body: new URLSearchParams({ token }),
        }),
    ],
    [
      "the refresh of tokens",
      ({ refresh_token }) => post("/token", "signed", { grant_type: "refresh_token", refresh_token }),
    ],
    [
      "the exchange of a code",
      async () => {
        const before = failing;
        failing = undefined;
        const callback = await authorize({ client_id: "signed", response_type: "code", ...PKCE });
        failing = before;
        return exchange(callback);
      },
    ],
  ];
  test.each(endpoints)("%s answers the same way", async (_name, ask) => {
    const tokens = await login();
    for (const [code, status, error, retryAfter] of [
      ["throttled", 503, "temporarily_unavailable", "2"],
      ["key_disabled", 500, "server_error", null],
    ] as const) {
      failing = code;
      // The refresh token of the turn before was spent.
      const { refresh_token } = await (failing === "throttled" ? tokens : loginAgain());
      const response = await ask({ ...tokens, refresh_token });
      const body = await response.text();
      expect([response.status, response.headers.get("retry-after")]).toEqual([status, retryAfter]);
      expect(JSON.parse(body)).toMatchObject({ error });
      expect(body + JSON.stringify([...response.headers])).not.toContain("secret");
      // A challenge would tell the client that its token is at fault.
      expect(response.headers.get("www-authenticate")).toBeNull();
      expect(lastCode()).toBe(code);
    }
  });

  test("a code whose exchange failed is used up: the host marks it before it signs", async () => {
    await login();
    const callback = await authorize({ client_id: "signed", response_type: "code", ...PKCE });
    failing = "unavailable";
    expect((await exchange(callback)).status).toBe(503);
    failing = undefined;
    const again = await exchange(callback);
    expect([again.status, await again.json()]).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
  });

  test("a device code whose exchange failed is used up too", async () => {
    await login();
    const answer = await post("/device/auth", "signed", { scope: "openid" });
    const device = (await answer.json()) as DeviceAuthorization & { device_code: string };
    await approveDevice(op, device);
    const poll = () => post("/token", "signed", { grant_type: DEVICE_GRANT, device_code: device.device_code });
    failing = "unavailable";
    const failed = await poll();
    expect([failed.status, failed.headers.get("retry-after"), await failed.json()]).toEqual([
      503,
      "2",
      expect.objectContaining({ error: "temporarily_unavailable" }),
    ]);
    expect(lastCode()).toBe("unavailable");
    failing = undefined;
    const again = await poll();
    expect([again.status, await again.json()]).toEqual([400, expect.objectContaining({ error: "invalid_grant" })]);
  });

  test("the next request succeeds once the backend is back", async () => {
    failing = "unavailable";
    await askToken();
    failing = undefined;
    expect((await askToken()).status).toBe(200);
  });
});

describe("from the authorization endpoint", () => {
  test.each([
    ...PASSING.map((code) => [code, "temporarily_unavailable"] as const),
    ...LASTING.map((code) => [code, "server_error"] as const),
  ])("%s is %s in the redirect (RFC 6749 section 4.1.2.1)", async (code, error) => {
    failing = code;
    const callback = await authorize({ response_type: "id_token" });
    if (!(callback instanceof URL)) throw new Error(`expected a redirect, got ${callback.status}`);
    const response = new URLSearchParams(callback.hash.slice(1));
    expect(Object.fromEntries(response)).toMatchObject({ error, state: "s" });
    expect(callback.href).not.toContain("secret");
    expect(lastCode()).toBe(code);
  });

  test("a form_post response carries it in the form", async () => {
    failing = "throttled";
    const page = await authorize({ response_type: "id_token", response_mode: "form_post" });
    if (!(page instanceof Response)) throw new Error("expected a page");
    const html = await page.text();
    expect(html).toContain('name="error" value="temporarily_unavailable"');
    expect(html).not.toContain("secret");
  });

  const JARM_MODES = ["jwt", "query.jwt", "fragment.jwt", "form_post.jwt"];
  test.each(JARM_MODES)("a JARM response (%s) that cannot be signed is a plain 503 page", async (response_mode) => {
    failing = "unavailable";
    const page = await authorize({ response_type: "code", response_mode, ...PKCE });
    if (!(page instanceof Response)) throw new Error("expected a page");
    expect(page.status).toBe(503);
    expect(page.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(page.headers.get("content-type")).toContain("text/plain");
    expect(await page.text()).toBe("temporarily unavailable\n");
    expect(lastCode()).toBe("unavailable");
  });

  test.each(JARM_MODES)("a JARM response (%s) that never can be signed is a plain 500 page", async (response_mode) => {
    failing = "access_denied";
    const page = await authorize({ response_type: "code", response_mode, ...PKCE });
    if (!(page instanceof Response)) throw new Error("expected a page");
    expect([page.status, page.headers.get("retry-after")]).toEqual([500, null]);
    expect(page.headers.get("content-type")).toContain("text/plain");
    expect(await page.text()).toBe("server error\n");
    expect(lastCode()).toBe("access_denied");
  });
});

test("a back-channel logout token that cannot be signed is an event: the end-user is logged out anyway", async () => {
  const browse = browser(op.issuer);
  await login(browse);
  const page = await browse(new URL(`${op.issuer}/session/end`));
  if (!(page instanceof Response)) throw new Error("expected the OP's logout page");
  const [, xsrf = ""] = /name="xsrf" value="([^"]+)"/.exec(await page.text()) ?? [];
  failing = "overloaded";
  const done = await browse.post(new URL(`${op.issuer}/session/end/confirm`), { xsrf, logout: "yes" });
  if (!(done instanceof Response)) throw new Error("expected the OP's page");
  expect(done.status).toBe(200);
  expect(op.failures.at(-1)?.event).toBe("backchannel.error");
  expect(lastCode()).toBe("overloaded");
});

test("a 503 of the OP's own keeps its Retry-After", async () => {
  const maintained = await startOp({
    keys: createKeySet([{ signer: await openLocalSigner() }]),
    middleware: async (context) => {
      context.status = 503;
      context.set("Retry-After", "3600");
    },
  });
  try {
    expect((await fetch(`${maintained.issuer}/token`, { method: "POST" })).headers.get("retry-after")).toBe("3600");
  } finally {
    maintained.close();
  }
});
