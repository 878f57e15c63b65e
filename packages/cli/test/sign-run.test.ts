import { join } from "node:path";
import { jwkThumbprint } from "@signpost/core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { SignFlags } from "../src/sign/command.ts";
import { runSign } from "../src/sign/run.ts";
import { createKeyFolder, RFC_KEY, type KeyFolder } from "./support/key-folder.ts";
import { recordingContext } from "./support/recording-context.ts";

// What is signed, by which key, and what is refused before a key is opened.

const NOW = 1_800_000_000;
const { d: _private, ...PUBLIC } = RFC_KEY;
const THUMBPRINT = jwkThumbprint(PUBLIC);
let folder: KeyFolder;
beforeAll(async () => {
  folder = await createKeyFolder();
  await folder.addRfcKey("op.pem");
  await folder.write("signpost.config.json", {
    issuer: "https://op.example",
    keys: [{ keyId: "sig-1", signer: `local:${join(folder.path, "op.pem")}` }],
  });
});
afterAll(() => folder[Symbol.asyncDispose]());
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 + 999 }));
afterEach(() => void vi.useRealTimers());

const uri = (): string => `local:${join(folder.path, "op.pem")}`;

async function signed(stdin: string, flags: SignFlags = {}, key?: string): Promise<{ header: object; claims: object }> {
  const context = recordingContext(folder.path, stdin);
  expect(await runSign(context, { ...flags, json: true }, key)).toBe(0);
  return JSON.parse(context.printed());
}

const refused = (stdin: string, flags: SignFlags = {}, key?: string): Promise<unknown> =>
  runSign(recordingContext(folder.path, stdin), flags, key).catch((error: unknown) => error);

describe("the claims", () => {
  test("of a configuration have its issuer, and end in five minutes", async () => {
    expect(await signed('{"sub":"a"}')).toMatchObject({
      header: { alg: "ES256", kid: "sig-1" },
      claims: { iss: "https://op.example", sub: "a", iat: NOW, exp: NOW + 300 },
    });
  });

  test("that are given go before", async () => {
    const claims = { iss: "https://other.example", exp: NOW + 1, iat: NOW - 1 };
    expect((await signed(JSON.stringify(claims), { expiresIn: 60 })).claims).toEqual(claims);
  });

  test("end when the flag says", async () => {
    expect((await signed("{}", { expiresIn: 60 })).claims).toMatchObject({ exp: NOW + 60 });
  });

  test("of a key alone have no issuer", async () => {
    expect((await signed("{}", {}, uri())).claims).toEqual({ iat: NOW, exp: NOW + 300 });
  });

  test("may have up to 65,536 bytes", async () => {
    const claims = (length: number): string => `{"sub":"${"a".repeat(length - 10)}"}`;
    expect(await refused(claims(65_537))).toMatchObject({ exitCode: 2, message: expect.stringContaining("65536") });
    const most = await refused(claims(65_536));
    expect(String(Reflect.get(Object(most), "message"))).not.toContain("at most 65536");
  });
});

describe("the header", () => {
  test("names the key of a URI by its thumbprint, or as the flag says", async () => {
    expect((await signed("{}", {}, uri())).header).toEqual({ alg: "ES256", kid: THUMBPRINT });
    expect((await signed("{}", { keyId: "k" }, uri())).header).toEqual({ alg: "ES256", kid: "k" });
  });

  test("has the type that is given", async () => {
    expect((await signed("{}", { typ: "at+jwt" })).header).toEqual({ alg: "ES256", kid: "sig-1", typ: "at+jwt" });
    expect((await signed("{}", { typ: "at+jwt" }, uri())).header).toMatchObject({ typ: "at+jwt" });
  });
});

test("without --json the token alone is printed", async () => {
  const context = recordingContext(folder.path, "{}");
  await runSign(context, {}, uri());
  expect(context.printed()).toMatch(/^[\w-]+\.[\w-]+\.[\w-]{86}\n$/);
});

describe("nothing is signed", () => {
  test.each(["[]", "null", '"a"', "1"])("for %s", async (stdin) => {
    expect(await refused(stdin)).toMatchObject({
      exitCode: 2,
      code: "claims",
      message: 'stdin: expected a JSON object with claims, such as {"sub":"test"}',
      hint: undefined,
    });
  });

  test.each([
    ["{\n x}", "stdin: line 2, column 2: not JSON (invalid symbol)"],
    ['{"a":1,"a":2}', "stdin: line 1, column 8: a name is there twice in one object"],
  ])("for %j, whose fault has a place", async (stdin, message) => {
    expect(await refused(stdin)).toMatchObject({
      exitCode: 2,
      code: "claims",
      message,
      hint: 'Claims are a JSON object, such as {"sub":"test"}',
    });
  });

  test("with a kid for a configuration, whose entries have their own", async () => {
    expect(await refused("{}", { keyId: "k" })).toMatchObject({
      exitCode: 2,
      code: "flags",
      message: "--key-id names the key of a URI; in a configuration each entry has its keyId",
    });
  });

  test("with a configuration that is not there, also for a key alone", async () => {
    expect(await refused("{}", { config: "none.json" })).toMatchObject({ code: "config_unreadable" });
    expect(await refused("{}", { config: "none.json" }, uri())).toMatchObject({ code: "config_unreadable" });
  });
});
