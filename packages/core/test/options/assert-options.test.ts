import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createJwksEndpoint,
  createKeySet,
  createLimiter,
  createRotationSchedule,
  emergencyRotation,
  guardSigner,
  openSigner,
  rotationWindow,
  signJws,
  signJwt,
  signWith,
} from "@signpost/core";
import { assertOptions, type OptionNames } from "@signpost/core/adapter";
import { goldenSet, thrownBy } from "../support/key-fixtures.ts";
import { EPOCH } from "../support/schedules.ts";
import { scriptedSigner } from "../support/scripted-signer.ts";

interface Options {
  readonly deadlineMs?: number;
  readonly region?: string;
}
const NAMES: OptionNames<Options> = { deadlineMs: true, region: true };
const check = (value: unknown, argument = "options") => thrownBy(() => assertOptions(argument, value, NAMES));

describe("assertOptions", () => {
  test.each([
    ["no options", {}],
    ["every option", { deadlineMs: 1, region: "a" }],
    ["an unknown option that is undefined", { deadlineMS: undefined }],
    ["an unknown symbol", { [Symbol("a")]: 1 }],
    ["an object without a prototype", Object.assign(Object.create(null) as object, { region: "a" })],
    ["an inherited unknown option", Object.create({ other: 1 })],
    ["an unknown option that is not enumerable", Object.defineProperty({}, "other", { value: 1 })],
    [
      "an instance of a class, whatever it holds",
      new (class {
        readonly other = 1;
      })(),
    ],
  ])("takes %s", (_name, value) => {
    expect(() => assertOptions("options", value, NAMES)).not.toThrow();
  });

  test.each([
    ["deadlineMS", "did you mean deadlineMs?"],
    ["DEADLINEMS", "did you mean deadlineMs?"],
    ["deadlinMs", "did you mean deadlineMs?"],
    ["regions", "did you mean region?"],
    ["colour", "the options are deadlineMs, region"],
  ])("names the unknown option %s: %s", (name, hint) => {
    expect(check({ [name]: 1 })).toMatchObject({
      name: "ConfigurationError",
      argument: name,
      message: `${name}: unknown option; ${hint}`,
    });
  });

  test.each([null, 0, false, ""])("counts an unknown option that is %j", (value) => {
    expect(check({ other: value })).toMatchObject({ argument: "other" });
  });

  test.each([
    ["an object without a prototype", Object.assign(Object.create(null) as object, { other: 1 })],
    ["an object of another realm", runInNewContext("({ other: 1 })")],
    ["an own __proto__", JSON.parse('{"__proto__": 1}')],
    ["a name that every object inherits", { toString: 1 }],
  ])("looks into %s", (_name, value) => {
    expect(check(value)).toMatchObject({ name: "ConfigurationError" });
  });

  test("puts the argument before the option, unless it is the options themselves", () => {
    expect(check({ deadlineMS: 1 }, "policy")).toMatchObject({ argument: "policy.deadlineMS" });
  });

  test("does not repeat a malformed name", () => {
    expect(check({ "s3cret value\n": 1 })).toMatchObject({ message: expect.not.stringContaining("s3cret") });
  });

  test.each([undefined, null, 7, "text", [], [{}], () => {}])("refuses %j, which is no object", (value) => {
    expect(check(value)).toMatchObject({ argument: "options", message: expect.stringContaining("expected an object") });
  });

  test("ends soon with any name", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 5000 }), (name) => {
        fc.pre(name !== "deadlineMs" && name !== "region");
        expect(check(Object.fromEntries([[name, 1]]))).toMatchObject({ name: "ConfigurationError" });
      }),
    );
  });
});

describe("a misspelled option is refused by", () => {
  const { signer } = scriptedSigner();
  const keys = goldenSet();
  const entry = { signer, announcedFrom: new Date(EPOCH), activeFrom: new Date(EPOCH) };
  const claims = { iss: "https://op.example" };

  test.each<[name: string, option: string, call: (option: object) => unknown]>([
    ["createKeySet", "encryptionKeys", (more) => createKeySet([{ signer }], more)],
    ["createLimiter", "concurency", (more) => createLimiter({ concurrency: 1, maxQueue: 0, ...more })],
    ["guardSigner", "policy.deadlineMS", (more) => guardSigner(signer, { deadlineMs: 5, ...more })],
    ["guardSigner", "details.note", (more) => guardSigner(signer, {}, more)],
    [
      "createJwksEndpoint",
      "jwksRotationactive",
      (more) => createJwksEndpoint({ issuer: "https://op.example", keys, ...more }),
    ],
    [
      "createJwksEndpoint",
      "endpoints.jwk",
      (more) => createJwksEndpoint({ issuer: "https://op.example", keys, endpoints: more }),
    ],
    [
      "createRotationSchedule",
      "clockSkew",
      (more) => createRotationSchedule([entry], { maxTokenLifetimeSeconds: 60, ...more }),
    ],
    ["emergencyRotation", "kid", (more) => emergencyRotation([entry], { revokedKeyId: "a", at: new Date(), ...more })],
    ["rotationWindow", "hour", (more) => rotationWindow({ startedAt: new Date(), ...more })],
  ])("%s: %s", (_name, path, call) => {
    const option = path.slice(path.indexOf(".") + 1);
    expect(thrownBy(() => call({ [option]: 1 }))).toMatchObject({ name: "ConfigurationError", argument: path });
    expect(() => call({ [option]: undefined })).not.toThrow(/unknown option/);
  });

  test.each<[name: string, option: string, call: (option: object) => Promise<unknown>]>([
    ["openSigner", "polcy", (more) => openSigner("local:", [], more)],
    ["signJwt", "type", (more) => signJwt(keys, claims, more)],
    ["signJws", "type", (more) => signJws(keys, "text", more)],
    ["signWith", "verfy", (more) => signWith(keys.active, new Uint8Array(), more)],
  ])("%s: %s", async (_name, option, call) => {
    await expect(call({ [option]: 1 })).rejects.toMatchObject({ name: "ConfigurationError", argument: option });
  });

  test("sign, as an argument that can never work", async () => {
    const call = guardSigner(scriptedSigner().signer).sign(new Uint8Array(32), { timeoutMs: 5 } as object);
    await expect(call).rejects.toMatchObject({
      name: "SignerError",
      code: "invalid_argument",
      message: "timeoutMs: unknown option; the options are signal, signingInput",
    });
  });
});

test("openSigner without a list of adapters says what is missing", async () => {
  await expect((openSigner as (uri: string) => Promise<unknown>)("local:")).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "adapters",
    message: "adapters: expected a list of adapters, such as [local()], got undefined",
  });
});
