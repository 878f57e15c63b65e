import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createKeySet, SignerError, type Signer, type SignerErrorCode } from "@signpost/core";
import { openLocalSigner } from "@signpost/local";
import { signpostJwt } from "@signpost/better-auth";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedText, markedWord } from "@signpost/test-backends/marked-secrets";
import { misplacedIn, misplacedSecrets } from "@signpost/test-backends/misplaced-secrets";
import { type App, HOST, startApp } from "./support/host.ts";

// Every failure path with marked secrets: nothing that a client sees, and nothing that the operator can log, contains a part of one.
// What the backend's error says is for the operator alone.

const claim = markedWord("a claim");
const backend = markedText("what the backend said");
const wrong = misplacedSecrets("a misplaced secret");
const CODES: readonly SignerErrorCode[] = [
  "throttled",
  "unavailable",
  "timeout",
  "overloaded",
  "key_not_found",
  "access_denied",
  "wrong_key",
  "pin_locked",
  "integrity",
  "bad_signature",
];

let app: App;
let signer: Signer;
let cookie: string;
let failure: SignerError | undefined;
/** What operators see, and what clients get. The cookies of a session are marked as soon as they are known. */
let seen = watchLeaks([claim, ...wrong.secrets]);
let sent = watchLeaks([claim, backend]);

beforeAll(async () => {
  signer = await openLocalSigner();
  const failing: Signer = {
    uri: signer.uri,
    publicKey: signer.publicKey,
    sign: (digest, options) => (failure === undefined ? signer.sign(digest, options) : Promise.reject(failure)),
    close: () => signer.close(),
  };
  app = await startApp(HOST, { keys: createKeySet([{ signer: failing }]) });
  cookie = await app.signUp();
  const session = {
    name: "the cookie of the session",
    bytes: Buffer.from(decodeURIComponent(cookie.split("=")[1] ?? "")),
  };
  seen[Symbol.dispose]();
  sent[Symbol.dispose]();
  seen = watchLeaks([claim, session, ...wrong.secrets]);
  sent = watchLeaks([claim, session, backend]);
});
afterEach(() => {
  failure = undefined;
  for (const problem of app.problems.splice(0)) seen.saw(problem, "a problem for the operator");
  expect([...seen.leaks(), ...sent.leaks()]).toEqual([]);
});
afterAll(async () => {
  await app.close();
  await signer.close();
  seen[Symbol.dispose]();
  sent[Symbol.dispose]();
});

test.each(CODES)("a signer that fails with %s", async (code) => {
  failure = new SignerError(code, backend.text, { cause: new Error(backend.text) });
  for (const path of ["/api/auth/token", "/api/auth/get-session"]) {
    const response = await app.request(path, { headers: { cookie } });
    // A session is for its owner.
    if (path.endsWith("session")) continue;
    sent.sawText(`${response.status} ${JSON.stringify([...response.headers])}\n${await response.text()}`, path);
  }
  const error = await app.auth.api
    .signJWT({ body: { payload: { sub: claim.text } } })
    .catch((reason: unknown) => reason);
  seen.saw(error, "the error of a call");
  // What an app writes to its client.
  sent.sawText(JSON.stringify(error), "the error of a call as JSON");
});

test("claims that are refused", async () => {
  const payloads: readonly object[] = [
    { sub: claim.text, toJSON: () => ({ a: claim.text }) },
    { sub: claim.text, a: 1n },
    { sub: claim.text, a: { b: [Number.NaN, claim.text] } },
    { sub: claim.text, exp: claim.text },
    { sub: claim.text, nbf: { a: claim.text } },
  ];
  for (const payload of payloads) {
    await seen.sawFailure(() => app.auth.api.signJWT({ body: { payload } }), "claims that are refused");
    const overrideOptions = { jwt: { expirationTime: "1h" } };
    await seen.sawFailure(
      () => app.auth.api.signJWT({ body: { payload, overrideOptions } }),
      "options that are refused",
    );
  }
});

test("tokens that are refused", async () => {
  for (const token of [
    claim.text,
    `${claim.text}.${claim.text}.${claim.text}`,
    `eyJhbGciOiJFUzI1NiJ9.${btoa(`{"sub":"${claim.text}"}`)}.AA`,
  ]) {
    await seen.sawFailure(() => app.auth.api.verifyJWT({ body: { token } }), "a token that is refused");
    const response = await app.request("/api/auth/token", { headers: { authorization: `Bearer ${token}` } });
    sent.sawText(`${JSON.stringify([...response.headers])}\n${await response.text()}`, "a request with another token");
  }
});

test("a secret in the place of any option", async () => {
  const keys = createKeySet([{ signer }]);
  const base = { jwt: HOST.jwt, APIError: HOST.APIError, keys, endpoint: app.endpoint, options: {} };
  for (const [what, options] of misplacedIn(
    base,
    ["onError", "verify", "options.jwt", "options.jwks", "options.jwks.keyPairConfig"],
    wrong,
  )) {
    await seen.sawFailure(() => void signpostJwt(options as typeof base), what);
  }
});

test("the tests looked at enough", () => {
  expect(sent.count).toBeGreaterThan(20);
  expect(seen.count).toBeGreaterThan(200);
});
