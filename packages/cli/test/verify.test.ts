import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { JWTPayload } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { KeySetError } from "@signpost/verify";
import type { VerifyFlags } from "../src/verify/command.ts";
import { lookupWith, privateAddressesOf } from "../src/network/private-host.ts";
import { connectionsOf } from "../src/verify/key-source.ts";
import { runVerify } from "../src/verify/run.ts";
import { startIssuer, type Issuer } from "./support/issuer.ts";
import { createKeyFolder, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";
import { runApp } from "./support/run-app.ts";
import { ended, startCli, type CliResult } from "./support/run-cli.ts";
import { expectTranscript } from "./support/transcript.ts";

let op: Issuer;
let folder: KeyFolder;
const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;

beforeAll(async () => {
  [op, folder] = await Promise.all([startIssuer(), createKeyFolder()]);
  await folder.write("jwks.json", await (await fetch(op.jwksUri)).text());
});
afterAll(async () => {
  await op[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

function verify(args: readonly string[], stdin: string): Promise<CliResult> {
  return runApp(["verify", ...args], { stdin, cwd: folder.path });
}

/** As a person sees it. The port is in a column whose width does not matter. */
const shown = (): Readonly<Record<string, string>> => ({ [op.issuer]: "https://op.example" });

test("a valid token passes each rule, with the keys that discovery names", async () => {
  const stdin = await op.token();
  const { code } = await expectTranscript("verify", ["verify", op.issuer, "--audience", "client-1"], {
    stdin,
    replaced: shown(),
    shown: "signpost verify https://op.example --audience client-1 < token.txt",
  });
  expect(code).toBe(0);
});

test("a refused token is explained in words", async () => {
  const stdin = await op.token({ aud: "client-2" });
  const { code } = await expectTranscript("verify-refused", ["verify", op.issuer, "--audience", "client-1"], {
    stdin,
    replaced: shown(),
    shown: "signpost verify https://op.example --audience client-1 < token.txt",
  });
  expect(code).toBe(1);
});

describe("the source may be", () => {
  test("the URL of a key set, with the issuer", async () => {
    const { code, stdout } = await verify([op.jwksUri, "--issuer", op.issuer, "--json"], await op.token());
    expect({ code, valid: JSON.parse(stdout).valid }).toEqual({ code: 0, valid: true });
  });

  test("a file, and then the issuer is compared only if it is given", async () => {
    const token = await op.token();
    const { code, stdout } = await verify(["jwks.json", "--json"], token);
    expect(code).toBe(0);
    const { rules, header, claims } = JSON.parse(stdout);
    const open = rules.filter(({ state }: { state: string }) => state === "open");
    expect(open.map(({ rule }: { rule: string }) => rule)).toEqual(["issuer", "audience"]);
    expect(header).toEqual({ alg: "ES256", kid: op.kid });
    expect(claims).toMatchObject({ iss: op.issuer, sub: "user-1" });
    expect(await verify(["jwks.json", "--issuer", "https://other.example"], token)).toMatchObject({ code: 1 });
  });

  test("a JWK in a file", async () => {
    const { keys } = (await (await fetch(op.jwksUri)).json()) as { keys: unknown[] };
    await folder.write("jwk.json", keys[0]);
    expect(await verify(["jwk.json"], await op.token())).toMatchObject({ code: 0 });
  });

  test("no other file", async () => {
    await folder.write("text.json", "secret-1234");
    const { code, stderr } = await verify(["text.json"], await op.token());
    expect({ code, stderr }).toEqual({ code: 2, stderr: "error text.json: expected a JWK Set or a JWK as JSON\n" });
    await folder.write("twice.json", '{"kty":"EC","kid":"secret-1234","kid":"a"}');
    expect(await verify(["twice.json"], await op.token())).toEqual({
      code: 2,
      stdout: "",
      stderr: "error twice.json: line 1, column 33: a name is there twice in one object\n",
    });
    expect(await verify(["away.json"], await op.token())).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("away.json: cannot be read (ENOENT)"),
    });
  });
});

interface Broken {
  readonly rule: string;
  readonly words: string;
  readonly claims?: JWTPayload;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: typeof other;
  readonly flags?: VerifyFlags;
}

const now = Math.floor(Date.now() / 1000);
const without = (name: string): JWTPayload => ({ [name]: undefined });
const BROKEN: readonly Broken[] = [
  { rule: "algorithm", words: "The header says ES256. Accepted: RS256", flags: { alg: ["RS256"] } },
  { rule: "type", words: "typ logout+jwt, which is not that of an ID token", header: { typ: "logout+jwt" } },
  {
    rule: "key",
    words: "has no key with the kid sig-0\\u001b[31m, even when fetched again",
    header: { kid: "sig-0\u001B[31m" },
  },
  { rule: "key", words: "The header names no key (kid)", header: { kid: undefined } },
  { rule: "signature", words: "was not made by the key sig-2026-07", key: other },
  {
    rule: "issuer",
    words: "The token is from https://evil.example, and not from",
    claims: { iss: "https://evil.example" },
  },
  { rule: "times", words: "The token expired 1 h ago", claims: { exp: now - 3630 } },
  { rule: "times", words: "The token is not valid yet: issued in 1 h", claims: { iat: now + 3630 } },
  {
    rule: "times",
    words: ", user authenticated in 1 h",
    claims: { auth_time: now + 3630 },
  },
  { rule: "audience", words: 'for ["a","b"], and not for client-1', claims: { aud: ["a", "b"] } },
  { rule: "times", words: "exp: ", claims: without("exp") },
  { rule: "times", words: "iat: ", claims: without("iat") },
  { rule: "claims", words: "sub: ", claims: without("sub") },
  { rule: "claims", words: "nonce: expected", flags: { nonce: "n-1" }, claims: { nonce: "n-2" } },
];

test.each(BROKEN)("a token that breaks the rule $rule: $words", async ({ rule, words, claims, header, key, flags }) => {
  const token = await op.token(claims, header, key);
  const context = recordingContext(folder.path, token);
  expect(await runVerify(context, { audience: "client-1", ...flags }, op.issuer)).toBe(1);
  const stdout = context.printed();
  expect(stdout).toMatch(new RegExp(`✗ +${rule}`));
  // Without the line breaks of the table.
  expect(stdout.replaceAll(/\s+/g, " ")).toContain(words);
  expect(stdout).not.toContain("\u001B");
});

test("text that is no token breaks the rule of the form, and JSON says so too", async () => {
  const { code, stdout } = await verify([op.issuer, "--json"], "Bearer abc.def");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ valid: false, rule: "form", code: "malformed_jwt" });
});

test("an access token must have its typ, a client and the scopes", async () => {
  const claims = { client_id: "c", jti: "1", scope: "read" };
  const token = await op.token(claims, { typ: "at+jwt" });
  expect(await verify([op.issuer, "--scope", "read"], token)).toMatchObject({ code: 0 });
  expect(await verify([op.issuer, "--scope", "read", "--scope", "write"], token)).toMatchObject({ code: 1 });
  expect(await verify([op.issuer, "--type", "access_token"], await op.token(claims))).toMatchObject({ code: 1 });
});

describe("a kid that the set does not have", () => {
  const refusalOf = async (source: string, kid: string): Promise<string> => {
    const context = recordingContext(folder.path, await op.token({}, { kid }));
    expect(await runVerify(context, {}, source)).toBe(1);
    return context.printed().replaceAll(/\s+/g, " ");
  };

  test("is told without a fetch if the set is a file", async () => {
    const printed = await refusalOf("jwks.json", "other");
    expect(printed).toContain("jwks.json has no key with the kid other ·");
    expect(printed).toContain("hint A new key must be published before it signs.");
  });

  test("may be that of an entry that was left out, and why is told", async () => {
    const { keys } = (await (await fetch(op.jwksUri)).json()) as { keys: Readonly<Record<string, unknown>>[] };
    await folder.write("number.json", { keys: [...keys, { ...keys[0], kid: 5 }] });
    const printed = await refusalOf("number.json", "5");
    expect(printed).toContain(
      'has no key with the kid 5 (left out of the set: malformed (the member "kid" is not a string, or is empty))',
    );
    expect(printed).toContain("hint The key may be in an entry that was left out.");
  });
});

describe("without keys or a token there is no verdict:", () => {
  test("a host that is away", async () => {
    const { code, stdout, stderr } = await verify(["http://127.0.0.1:9/"], await op.token());
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("could not be fetched");
  });

  test("a server without a discovery document: the hint says how to name the key set", async () => {
    const { code, stdout, stderr } = await verify([op.jwksUri], await op.token());
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("/.well-known/openid-configuration answered with status 404");
    expect(stderr).toContain(
      "hint  For a key set without this document: signpost verify https://op.example/jwks --issuer https://op.example",
    );
  });

  test("a page instead of a key set", async () => {
    const html = createServer((_req, res) => res.writeHead(200, { "Content-Type": "text/html" }).end("<html>")).listen(
      0,
    );
    await once(html, "listening");
    const url = `http://127.0.0.1:${(html.address() as AddressInfo).port}/jwks`;
    const { code, stderr } = await verify([url, "--issuer", op.issuer], await op.token());
    html.close();
    expect(code).toBe(3);
    expect(stderr).toContain("application/jwk-set+json");
  });

  test("an empty stdin", async () => {
    expect(await verify([op.issuer], "")).toMatchObject({
      code: 2,
      stderr: "error stdin is empty, and a token was expected there\n",
    });
  });

  test("Ctrl-C while it waits for the host", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const child = startCli(["verify", `http://127.0.0.1:${(silent.address() as AddressInfo).port}`]);
    child.stdin.end(await op.token());
    await once(silent, "connection");
    child.kill("SIGINT");
    await ended(child);
    silent.closeAllConnections();
    silent.close();
    expect(child.exitCode).toBe(130);
  });
});

test("a token in the place of the source is refused, and not printed", async () => {
  const token = await op.token();
  for (const args of [[token], [`Bearer ${token}`]]) {
    const { code, stdout, stderr } = await verify(args, "");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("The source looks like a token, which is read from stdin only");
    expect(stderr).not.toContain(token.slice(0, 20));
  }
});

test("a header that is nested deeper than the stack is refused in words", async () => {
  const deep = `{"alg":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  const token = [deep, '{"iss":"a"}', "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
  const context = recordingContext(folder.path, token);
  expect(await runVerify(context, {}, "jwks.json")).toBe(1);
  expect(context.printed()).toContain("The header says a value that is nested too deep");
});

test("a key set that an editor saved with a byte order mark is read", async () => {
  await folder.write("bom.json", `\uFEFF${await (await fetch(op.jwksUri)).text()}`);
  const context = recordingContext(folder.path, await op.token());
  expect(await runVerify(context, {}, "bom.json")).toBe(0);
});

test.each([
  ["no entry", '{"keys":[]}', "none of the 0 keys can verify a signature"],
  ["an entry of a type to come", '{"keys":[{"kty":"AKP","kid":"a"}]}', "unsupported_kty"],
])("a file whose set has %s is a mistake that names the file", async (_name, json, why) => {
  await folder.write("unusable.json", json);
  const { code, stderr } = await verify(["unusable.json"], await op.token());
  expect(code).toBe(2);
  expect(stderr).toContain("error unusable.json: ");
  expect(stderr).toContain(why);
});

describe("a document cannot lead from the Internet into a private network", () => {
  const INSIDE = { allowInsecureLoopback: true, dispatcher: expect.anything() as unknown };
  const at =
    (...addresses: readonly string[]) =>
    () =>
      Promise.resolve(addresses.map((address) => ({ address })));

  test.each([
    ["a public host", "https://op.example", at("93.184.216.34"), { publicAddressesOnly: true }],
    [
      "a host that is not found",
      "https://op.example",
      () => Promise.reject(new Error("no")),
      { publicAddressesOnly: true },
    ],
    ["a private host", "https://op.example", at("10.0.0.7"), INSIDE],
    ["a host with a private address too", "https://op.example", at("93.184.216.34", "fd00::7"), INSIDE],
    ["a private host behind NAT64", "https://op.example", at("64:ff9b::10.0.0.7"), INSIDE],
    ["a public host behind NAT64", "https://op.example", at("64:ff9b::1.1.1.1"), { publicAddressesOnly: true }],
    ["this machine", "http://localhost:8080", at(), { allowInsecureLoopback: true }],
  ])("%s", async (_name, source, resolveHost, options) => {
    expect(await connectionsOf(source, resolveHost)).toEqual(options);
  });

  test("a host with a private address is asked only there, and other hosts where the system finds them", async () => {
    const known = await privateAddressesOf(new URL("https://op.example"), at("93.184.216.34", "10.0.0.7", "fd00::7"));
    const lookup = promisify(lookupWith("op.example", known));
    expect(await lookup("op.example", { all: true })).toEqual([
      { address: "10.0.0.7", family: 4 },
      { address: "fd00::7", family: 6 },
    ]);
    expect(await lookup("127.0.0.1", { all: true })).toEqual([{ address: "127.0.0.1", family: 4 }]);
  });

  test.each(["64:ff9b:1::1.1.1.1", "64:ff9b:1:fffe::1.1.1.1"])(
    "%s is reached, though only this network knows its translator",
    async (address) => {
      const { dispatcher } = await connectionsOf("https://op.example", at(address));
      const asked = dispatcher?.request({ origin: "https://op.example", path: "/jwks", method: "GET" });
      const error: unknown = await Promise.race([asked?.catch((thrown: unknown) => thrown), pause(100)]);
      void dispatcher?.destroy();
      expect(error).not.toBeInstanceOf(KeySetError);
    },
  );

  test("an address that no translator takes is no mistake in an option", async () => {
    const addresses = at("64:ff9b:1:0:200:5efe:1.1.1.1", "fe80::1%eth0", "10.0.0.7");
    await expect(connectionsOf("https://op.example", addresses)).resolves.toEqual(INSIDE);
  });

  test("a private host is reached", async () => {
    const { dispatcher } = await connectionsOf("https://op.example", at("127.0.0.1"));
    const origin = `http://op.example:${new URL(op.issuer).port}`;
    const answer = await dispatcher?.request({ origin, path: "/jwks", method: "GET" });
    expect(answer?.statusCode).toBe(200);
    await answer?.body.dump();
  });
});
