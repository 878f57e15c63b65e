import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import { environmentCredentials, environmentSettings } from "../../src/https/environment.ts";
import { provideCredentials } from "../environment.ts";

const GIVEN = { region: undefined, endpoint: undefined, allowInsecureEndpoint: false };
const endpoint = readEndpoint("endpoint", "https://kms.internal:8443");
const AWS_HOMES = ["HOME", "USERPROFILE"] as const;

beforeEach(() => provideCredentials(undefined));

describe("the settings of the environment", () => {
  const isReadHere = async (region: string | undefined): Promise<boolean> =>
    (await environmentSettings({ ...GIVEN, region })) !== undefined;

  test("are those of a plain Region, of the option before the variable", async () => {
    process.env["AWS_REGION"] = "eu-west-1";
    const plain = { useFipsEndpoint: false, useDualstackEndpoint: false, endpoint: undefined, notes: [] };
    expect(await environmentSettings(GIVEN)).toEqual({ region: "eu-west-1", allowInsecureEndpoint: false, ...plain });
    expect(await environmentSettings({ ...GIVEN, region: "eu-west-2", allowInsecureEndpoint: true })).toEqual({
      region: "eu-west-2",
      allowInsecureEndpoint: true,
      ...plain,
    });
  });

  test.each([
    ["e", true],
    ["e".repeat(63), true],
    ["e".repeat(64), false],
    ["eu--west", true],
    ["-eu", false],
    ["eu-", false],
    ["EU", false],
    ["eu.west", false],
    ["", false],
    ["us-east-1-fips", false],
    ["fips-us-east-1", false],
    [undefined, false],
  ])("are read here for the Region %j: %s", async (region, isRead) => {
    expect(await isReadHere(region)).toBe(isRead);
    if (region === undefined) return;
    process.env["AWS_REGION"] = region;
    expect(await isReadHere(undefined)).toBe(isRead);
  });

  test.each(["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"])("have the flag %s", async (name) => {
    const flagOf = async (value: string): Promise<unknown> => {
      process.env[name] = value;
      const settings = await environmentSettings({ ...GIVEN, region: "eu-west-1" });
      return settings && [settings.useFipsEndpoint, settings.useDualstackEndpoint, settings.notes.length];
    };
    const isFips = name === "AWS_USE_FIPS_ENDPOINT";
    expect(await flagOf("false")).toEqual([false, false, 0]);
    expect(await flagOf("true")).toEqual([isFips, !isFips, 1]);
    // The settings are refused for these, unless they are empty.
    for (const value of ["", "TRUE", "1", "yes"]) expect(await flagOf(value)).toBeUndefined();
  });

  test("tell the public endpoint that the flags select", async () => {
    Object.assign(process.env, { AWS_USE_FIPS_ENDPOINT: "true", AWS_USE_DUALSTACK_ENDPOINT: "true" });
    expect(await environmentSettings({ ...GIVEN, region: "eu-west-1" })).toMatchObject({
      endpoint: undefined,
      notes: ["endpoint https://kms-fips.eu-west-1.api.aws (AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT)"],
    });
    expect(await environmentSettings({ ...GIVEN, region: "eu-west-1", endpoint })).toMatchObject({
      endpoint: { url: "https://kms.internal:8443", inUri: true },
      notes: [
        expect.stringContaining("AWS_USE_FIPS_ENDPOINT is set"),
        expect.stringContaining("AWS_USE_DUALSTACK_ENDPOINT is set"),
      ],
    });
  });

  test.each(["AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL"])(
    "leave %s to the SDK, unless the option replaces it",
    async (name) => {
      for (const value of ["http://127.0.0.1:1", ""]) {
        process.env[name] = value;
        expect(await isReadHere("eu-west-1")).toBe(false);
        expect(await environmentSettings({ ...GIVEN, region: "eu-west-1", endpoint })).toMatchObject({ notes: [] });
      }
    },
  );

  test("leave a profile to the SDK", async () => {
    process.env["AWS_PROFILE"] = "op";
    expect(await isReadHere("eu-west-1")).toBe(false);
    process.env["AWS_PROFILE"] = "";
    expect(await isReadHere("eu-west-1")).toBe(true);
  });
});

describe("a file of the AWS tools is left to the SDK", () => {
  async function temporaryFolder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "signpost-environment-"));
    const before = AWS_HOMES.map((name) => [name, process.env[name]] as const);
    onTestFinished(async () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      await rm(folder, { recursive: true });
    });
    return folder;
  }
  const isLeft = async (): Promise<boolean> =>
    (await environmentSettings({ ...GIVEN, region: "eu-west-1" })) === undefined;

  test.each(["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"])(
    "where %s names one that is there",
    async (variable) => {
      const folder = await temporaryFolder();
      process.env[variable] = join(folder, "file");
      expect(await isLeft()).toBe(false);
      await writeFile(join(folder, "file"), "");
      expect(await isLeft()).toBe(true);
      // One that cannot be read for another reason.
      process.env[variable] = join(folder, "file", "below");
      expect(await isLeft()).toBe(true);
    },
  );

  test("below ~ of HOME, and of USERPROFILE without it", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "file"), "");
    process.env["AWS_CONFIG_FILE"] = "~/file";
    Object.assign(process.env, { HOME: folder, USERPROFILE: "/nonexistent" });
    expect(await isLeft()).toBe(true);
    Object.assign(process.env, { HOME: "/nonexistent", USERPROFILE: folder });
    expect(await isLeft()).toBe(false);
    process.env["HOME"] = "";
    expect(await isLeft()).toBe(true);
    process.env["AWS_CONFIG_FILE"] = "~file";
    expect(await isLeft()).toBe(false);
  });
});

describe("the credentials of the environment", () => {
  const both = { AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "secret" };
  test.each<[variables: Record<string, string>, found: object | undefined]>([
    [{}, undefined],
    [{ ...both, AWS_SECRET_ACCESS_KEY: "" }, undefined],
    [{ ...both, AWS_ACCESS_KEY_ID: "" }, undefined],
    [{ ...both, AWS_PROFILE: "op" }, undefined],
    [both, { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken: undefined }],
    [
      { ...both, AWS_PROFILE: "" },
      { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken: undefined },
    ],
    [
      { ...both, AWS_SESSION_TOKEN: "t" },
      { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken: "t" },
    ],
    [
      { ...both, AWS_SESSION_TOKEN: "" },
      { accessKeyId: "AKIA1", secretAccessKey: "secret", sessionToken: undefined },
    ],
  ])("of %j are %j", (variables, found) => {
    Object.assign(process.env, variables);
    expect(environmentCredentials()).toStrictEqual(found);
  });
});
