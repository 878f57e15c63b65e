import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Section, sectionsOf } from "./support/demo-sections.ts";
import { startExample } from "./support/example-program.ts";

const LONG = "< cache-control: public, max-age=3600, stale-while-revalidate=3600";
const SHORT = "< cache-control: public, max-age=300, must-revalidate";

describe("the demo with a key in a SoftHSM token", () => {
  let output: string;
  let sections: readonly Section[];
  let code: number | string;
  let leftovers: readonly string[];

  beforeAll(async () => {
    const demo = await startExample("demo");
    code = await demo.ended();
    output = demo.output();
    leftovers = await demo.leftovers();
    sections = sectionsOf(output);
    await demo.remove();
  });

  /** The step whose title has these words. */
  function step(words: string): string {
    const found = sections.find(({ title }) => title.includes(words));
    if (found === undefined) throw new Error(`no step about "${words}":\n${output}`);
    return found.text;
  }

  test("ends with 0, and leaves nothing of its token behind", () => {
    expect(code, output).toBe(0);
    expect(leftovers).toEqual([]);
  });

  test("makes both keys in the token, which are opened by their PKCS#11 URIs", () => {
    expect(output.match(/signer pkcs11:token=op;serial=[0-9a-f]+;object=sig-[12];/g)).toHaveLength(2);
  });

  test("shows no PIN", () => {
    const commands = output.split("\n").filter((line) => line.trim().startsWith("$ "));
    expect(commands).toHaveLength(3);
    for (const line of commands) expect(line).toContain("pin …");
    expect(output).not.toMatch(/pin[ =]\d/);
  });

  test("names the key set in the discovery document, and publishes public halves with their headers", () => {
    expect(step("discovery document")).toMatch(/"jwks_uri": "http:\/\/127\.0\.0\.1:\d+\/jwks"/);
    const published = step("The key set that it publishes");
    for (const line of ["< 200 OK", "< content-type: application/jwk-set+json", LONG, '"kid": "sig-1"']) {
      expect(published).toContain(line);
    }
    expect(published).toMatch(/< etag: "[0-9a-f]{64}"/);
    expect(output).not.toContain('"d":');
  });

  test("signs an ID token and an access token of RFC 9068, which jose verifies over HTTP", () => {
    const signed = step("The OP signs");
    expect(signed).toContain('{"alg":"ES256","kid":"sig-1"}');
    expect(signed).toContain('"typ":"at+jwt"');
    expect(signed.match(/signature 64 bytes/g)).toHaveLength(2);
    expect(step("An RP verifies").match(/verified with sig-1/g)).toHaveLength(2);
  });

  test("gets 304 for the ETag", () => {
    expect(step("sends the ETag")).toContain("< 304 Not Modified");
  });

  test("announces the next key in the short cache mode, signs with it four hours later, and verifies old and new", () => {
    const announced = step("Rotation");
    expect(announced).toContain(SHORT);
    expect(announced).toMatch(/"kid": "sig-1"[^]*"kid": "sig-2"/);
    const signing = step("the second key signs");
    expect(signing.match(/verified with sig-2/g)).toHaveLength(2);
    expect(signing.match(/verified with sig-1/g)).toHaveLength(2);
  });

  test("withdraws the first key, and is in the long cache mode again a day later", () => {
    expect(step("leaves the set")).not.toContain("sig-1");
    expect(step("24 hours after")).toContain(LONG);
  });
});

test.each(["softhsm2-util", "pkcs11-tool"])("where %s fails, says so without a PIN, and ends with 1", async (tool) => {
  const tools = await mkdtemp(join(tmpdir(), "signpost-e2e-tools-"));
  onTestFinished(() => rm(tools, { recursive: true }));
  await writeFile(join(tools, tool), "#!/bin/sh\necho out of order >&2\nexit 3\n", { mode: 0o755 });
  const demo = await startExample("demo", { env: { PATH: `${tools}${delimiter}${process.env["PATH"]}` } });
  onTestFinished(() => demo.remove());
  expect(await demo.ended()).toBe(1);
  expect(demo.output()).toContain(`${tool} failed with 3: out of order`);
  expect(demo.output()).not.toMatch(/pin\W+\d/i);
  expect(await demo.leftovers()).toEqual([]);
});

test("with --serve the OP keeps running for the user's RP, until SIGTERM ends it with 0 and removes its keys", async () => {
  const demo = await startExample("demo", { args: ["--serve"] });
  onTestFinished(() => demo.remove());
  const output = await demo.printed("/demo/tokens");
  const [, issuer = ""] = /curl (http:\/\/127\.0\.0\.1:\d+)\/demo\/tokens/.exec(output) ?? [];
  const { idToken, accessToken } = (await (await fetch(`${issuer}/demo/tokens`)).json()) as Record<string, string>;
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  await expect(jwtVerify(idToken ?? "", keys, { issuer, audience: "demo-rp" })).resolves.toMatchObject({
    protectedHeader: { kid: "sig-2" },
  });
  await expect(jwtVerify(accessToken ?? "", keys, { issuer, typ: "at+jwt" })).resolves.toBeTruthy();
  expect(await demo.leftovers()).not.toEqual([]);
  expect(await demo.ended("SIGTERM")).toBe(0);
  expect(await demo.leftovers()).toEqual([]);
});
