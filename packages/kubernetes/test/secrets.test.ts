import { afterAll, afterEach, describe, expect, test } from "vitest";
import { SignerError, type Signer } from "@signpost/core";
import { createKubernetesSigner, runKubernetesSigner, serveKubernetesSigner } from "@signpost/kubernetes";
import { openLocalSigner } from "@signpost/local";
import { watchLeaks } from "@signpost/test-backends/leak-watch";
import { markedJwt, markedText } from "@signpost/test-backends/marked-secrets";
import { callReporter } from "../src/program/calls.ts";
import { createCounters, exposition } from "../src/program/metrics.ts";
import { claimsOf, encoded, ISSUER } from "./support/claims.ts";
import { connectTo } from "./support/grpc-client.ts";
import { privateFolder } from "./support/private-folder.ts";

// No failure shows a claim, a token, or a secret of the configuration: not to kube-apiserver, and not to the operator.

const claim = markedText("a claim");
const pin = markedText("a PIN");
const given = markedJwt("a token");
const cause = markedText("the message of a backend");
const watch = watchLeaks([claim, pin, cause, ...given.secrets]);
const key = await openLocalSigner();
const folder = await privateFolder();
afterEach(() => expect(watch.leaks()).toEqual([]));
afterAll(async () => {
  watch[Symbol.dispose]();
  await folder[Symbol.asyncDispose]();
});

/** What a client could send in place of claims. */
const CLAIMS: readonly (readonly [string, string])[] = [
  ["a JSON object", claimsOf({ secret: claim.text })],
  ["another issuer", claimsOf({ iss: claim.text })],
  ["a text as exp", claimsOf({ exp: claim.text })],
  ["a lifetime that is too long", claimsOf({ iat: 0, exp: 9_000_000, secret: claim.text })],
  ["broken JSON", Buffer.from(`{"secret": ${claim.text}`).toString("base64url")],
  ["a list", encoded([claim.text])],
  ["a text", encoded(claim.text)],
  ["text that is no base64url", claim.text],
  ["a whole token", given.jwt],
];

const failing = (reason: Error): Signer => ({
  uri: key.uri,
  publicKey: key.publicKey,
  close: () => Promise.resolve(),
  sign: () => Promise.reject(reason),
});
const SIGNERS: readonly (readonly [string, Signer])[] = [
  ["a key that signs", key],
  [
    "a key that fails",
    failing(new SignerError("unavailable", "the backend is away", { cause: new Error(cause.text) })),
  ],
  ["a key that throws something else", failing(new TypeError(cause.text))],
];

describe.each(SIGNERS)("%s", (_name, signer) => {
  test.each(CLAIMS)("asked to sign %s", async (what, claims) => {
    const kube = createKubernetesSigner({ issuer: ISSUER, keys: [{ signer }], maxTokenLifetimeSeconds: 3600 });
    const counters = createCounters();
    const log: unknown[] = [];
    const lines: string[] = [];
    const audit = {
      write: async (line: string) => void lines.push(line),
      reopen: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
    const path = folder.at("signer.sock");
    const server = await serveKubernetesSigner({
      signer: kube,
      socket: { path },
      onCall: callReporter(counters, audit, (...line) => void log.push(line)),
    });
    const client = connectTo(path);
    const answer: unknown = await client.sign(claims).catch((error: unknown) => error);
    watch.saw(answer, what);
    watch.saw(log, "the log");
    watch.saw(lines, "the audit");
    watch.saw(exposition(counters.samples()), "the metrics");
    expect(lines).toHaveLength(1);
    client.close();
    await server.close(0);
  });
});

const BASE = {
  issuer: ISSUER,
  socket: { path: folder.at("other.sock") },
  maxTokenLifetimeSeconds: 3600,
  keys: [{ uri: "local:" }],
};
/** Where an operator could write a secret by mistake. */
const CONFIGS: readonly (readonly [string, unknown])[] = [
  [
    "a PIN in place of its reference",
    { ...BASE, keys: [{ uri: "pkcs11:token=a;object=b" }], adapters: { pkcs11: { pin: pin.text } } },
  ],
  ["a PIN in a URI", { ...BASE, keys: [{ uri: `pkcs11:token=a;object=b?pin-value=${pin.text}` }] }],
  ["a PIN as the URI", { ...BASE, keys: [{ uri: pin.text }] }],
  ["a PIN as the mode", { ...BASE, socket: { path: "/run/s/s.sock", mode: pin.text } }],
  ["a PIN as the group", { ...BASE, socket: { path: "/run/s/s.sock", mode: "0660", group: pin.text } }],
  ["a PIN as a port", { ...BASE, admin: { port: pin.text } }],
  ["a PIN as a variable", { ...BASE, keys: [{ uri: `pkcs11:token=a;object=b?pin-source=env:${pin.text}` }] }],
  ["broken JSON", `{"issuer": "${pin.text}`],
  ["a token as the schedule", { ...BASE, keys: undefined, schedule: given.jwt }],
];

test.each(CONFIGS)("a configuration with %s", async (what, config) => {
  const lines: string[] = [];
  const path = await folder.write("config.json", config);
  const code = await runKubernetesSigner({ config: path, check: true, log: (line) => void lines.push(line) });
  expect(code).not.toBe(0);
  watch.saw(lines, what);
});
