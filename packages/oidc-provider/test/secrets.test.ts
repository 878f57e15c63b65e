import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createKeySet, guardSigner, SignerError, type SignerErrorCode } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostKeys } from "@signpost/oidc-provider";
import { errors, ExternalSigningKey } from "oidc-provider";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { browser, type Op, REDIRECT_URI, startOp } from "./support/op.ts";

// Every failure path with marked secrets: nothing that a client sees, and nothing that the operator can log, contains a part of one.
// What the backend's error says is for the operator alone.

const clientSecret = markedWord("the client secret");
const claim = markedWord("a claim");
const state = markedWord("the state of a request");
const backend = markedText("what the backend said");
const cookie = markedWord("the key of the cookies");
const wrong = misplacedSecrets("a misplaced secret");
const seen = watchLeaks([clientSecret, claim, cookie, ...wrong.secrets]);
/** For what clients get. */
const sent = watchLeaks([backend, clientSecret, cookie, claim]);

const CODES: readonly SignerErrorCode[] = [
  "overloaded",
  "throttled",
  "unavailable",
  "timeout",
  "aborted",
  "closed",
  "key_not_found",
  "key_disabled",
  "access_denied",
  "wrong_key",
  "pin_incorrect",
  "pin_locked",
  "bad_signature",
  "integrity",
];
let op: Op;
let failing: SignerErrorCode | undefined;
const problems: unknown[] = [];

beforeAll(async () => {
  const bare = await openLocalSigner({ policy: false });
  const signer = guardSigner(
    {
      ...bare,
      sign: async (digest, options) => {
        if (failing !== undefined) throw new SignerError(failing, backend.text, { cause: new Error(backend.text) });
        return bare.sign(digest, options);
      },
    },
    { maxAttempts: 1 },
  );
  op = await startOp({
    keys: createKeySet([{ signer }]),
    onError: (error) => void problems.push(error),
    configuration: {
      cookies: { keys: [cookie.text] },
      clients: [
        {
          client_id: "service",
          client_secret: clientSecret.text,
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
          client_secret: clientSecret.text,
          redirect_uris: [REDIRECT_URI],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          userinfo_signed_response_alg: "ES256",
          introspection_signed_response_alg: "ES256",
        },
      ],
    },
  });
});
afterEach(() => {
  failing = undefined;
  for (const { event, error } of op.failures) seen.saw(error, `the event ${event}`);
  for (const problem of problems.splice(0)) seen.saw(problem, "a problem for the operator");
  expect([...seen.leaks(), ...sent.leaks()]).toEqual([]);
});
afterAll(() => {
  op.close();
  seen[Symbol.dispose]();
  sent[Symbol.dispose]();
});

async function answered(response: Response, what: string): Promise<void> {
  const headers = JSON.stringify([...response.headers].filter(([name]) => name !== "set-cookie"));
  sent.sawText(`${response.status} ${headers}\n${await response.text()}`, what);
}

const basic = (): Record<string, string> => ({ authorization: `Basic ${btoa(`signed:${clientSecret.text}`)}` });

describe.each(CODES)("a signer that fails with %s", (code) => {
  test("shows clients nothing of its error, and the operator nothing of the request", async () => {
    failing = code;
    for (const client of ["service", "signed"]) {
      const headers = { authorization: `Basic ${btoa(`${client}:${clientSecret.text}`)}` };
      const form = new URLSearchParams({
        grant_type: "client_credentials",
        resource: "urn:example:api",
        [claim.text]: claim.text,
      });
      await answered(
        await fetch(`${op.issuer}/token`, { method: "POST", headers, body: form }),
        `a token for ${client}`,
      );
    }
    for (const response_mode of ["fragment", "form_post", "jwt", "query.jwt"]) {
      const url = new URL(`${op.issuer}/auth`);
      const parameters = {
        client_id: "rp",
        redirect_uri: REDIRECT_URI,
        scope: "openid",
        nonce: claim.text,
        state: state.text,
        response_type: "id_token",
        response_mode,
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      const ended = await browser(op.issuer)(url);
      if (ended instanceof Response) await answered(ended, response_mode);
      else sent.sawText(ended.href, response_mode);
    }
  });
});

test.each([
  [
    "a wrong secret",
    { authorization: `Basic ${btoa(`signed:x${clientSecret.text}`)}` },
    { grant_type: "client_credentials" },
  ],
  [
    "a wrong code",
    undefined,
    {
      grant_type: "authorization_code",
      code: claim.text,
      redirect_uri: REDIRECT_URI,
      code_verifier: claim.text.repeat(3),
    },
  ],
  ["a wrong refresh token", undefined, { grant_type: "refresh_token", refresh_token: claim.text }],
  ["a wrong token to introspect", undefined, { token: claim.text }],
])("a request with %s", async (what, headers, form) => {
  for (const path of ["/token", "/token/introspection", "/session/end", "/me"]) {
    const body = new URLSearchParams(form);
    await answered(
      await fetch(`${op.issuer}${path}`, { method: "POST", headers: headers ?? basic(), body, redirect: "manual" }),
      `${path}, ${what}`,
    );
  }
});

test("hints that are no ID tokens, and tokens of others", async () => {
  const jwt = [
    { alg: "ES256", kid: claim.text },
    { sub: claim.text, iss: op.issuer },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  for (const hint of [claim.text, `${jwt.join(".")}.AAAA`, `${jwt.join(".")}.`, `${jwt[0]}.${claim.text}.AA`]) {
    const url = new URL(`${op.issuer}/session/end`);
    url.searchParams.set("id_token_hint", hint);
    await answered(await fetch(url, { redirect: "manual" }), "a hint");
    await answered(await fetch(`${op.issuer}/me`, { headers: { authorization: `Bearer ${hint}` } }), "a token");
  }
});

test("a secret in the place of any option", async () => {
  const keys = createKeySet([{ signer: await openLocalSigner() }]);
  const base = { ExternalSigningKey, errors, keys };
  for (const [what, options] of misplacedIn(base, ["verifyingKeys", "onError", "verify"], wrong)) {
    await seen.sawFailure(() => void signpostKeys(options as typeof base), what);
  }
  const signpost = signpostKeys(base);
  for (const [what, value] of wrong.values) {
    await seen.sawFailure(() => signpost.attach(value as never, value as never), `the provider is ${what}`);
    await seen.sawFailure(
      () => signpost.attach(op.provider, value as never, value as never),
      `the endpoint is ${what}`,
    );
  }
});

test("the tests looked at enough", () => {
  expect(sent.count).toBeGreaterThan(80);
  expect(seen.count).toBeGreaterThan(1000);
});
