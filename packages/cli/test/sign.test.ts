import { createLocalJWKSet, jwtVerify, type JSONWebKeySet } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { runCli, type CliResult } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

const issuer = "https://op.example";
let folder: KeyFolder;
let published: JSONWebKeySet;

beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  await folder.write("signpost.config.json", { issuer, keys: [{ keyId: "sig-1", signer: "local:op.pem" }] });
  const { d: _private, ...jwk } = RFC_KEY;
  published = { keys: [{ ...jwk, kid: "sig-1", alg: "ES256" }] };
});
afterAll(() => folder[Symbol.asyncDispose]());

function sign(args: readonly string[], stdin: string): Promise<CliResult> {
  return runCli(["sign", ...args], { cwd: folder.path, stdin });
}

test("a token of the configuration has its issuer and its active key, and jose verifies it", async () => {
  const { code, stdout, stderr } = await sign([], '{"sub":"test","aud":"client-1"}');
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { protectedHeader, payload } = await jwtVerify(stdout.trim(), createLocalJWKSet(published), { issuer });
  expect(protectedHeader).toEqual({ alg: "ES256", kid: "sig-1" });
  expect(payload).toMatchObject({ sub: "test", aud: "client-1" });
  expect(Number(payload.exp) - Number(payload.iat)).toBe(300);
});

test("claims and options that are given are kept", async () => {
  const claims = { iss: "https://other.example", iat: 1_700_000_000, exp: 4_000_000_000, sub: "test" };
  const args = ["sign", "local:op.pem", "--key-id", "k", "--typ", "at+jwt", "--json"];
  const { code, stdout } = await expectTranscript("sign", args, {
    cwd: folder.path,
    stdin: JSON.stringify(claims),
    patterns: [[/"token": "([\w-]{24})[\w-]+\.[\w-]+\.[\w-]+"/g, '"token": "$1…"']],
    shown: "signpost sign local:op.pem --key-id k --typ at+jwt --json < claims.json",
  });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ header: { alg: "ES256", kid: "k", typ: "at+jwt" }, claims });
});

test("--expires-in says when a token without exp ends", async () => {
  const { stdout } = await sign(["--expires-in", "60", "--json"], "{}");
  const { claims } = JSON.parse(stdout);
  expect(claims.exp - claims.iat).toBe(60);
});

test.each([
  ["text that is not JSON", [], "secret-1234"],
  ["a list", [], "[]"],
  ["a claim that is there twice", [], '{"sub":"secret-1234","aud":"a","sub":"b"}'],
  ["a name that is there twice inside of a claim", [], '{"cnf":{"secret-1234":1,"secret-1234":2}}'],
  ["a lifetime that is no number", ["--expires-in", "1h"], "{}"],
  ["a kid for the configuration", ["--key-id", "k"], "{}"],
  ["a claim of the wrong type", [], '{"exp":"tomorrow"}'],
])("%s is a mistake of usage, and not printed", async (_name, args, stdin) => {
  const { code, stdout, stderr } = await sign(args, stdin);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).not.toContain("secret-1234");
});
