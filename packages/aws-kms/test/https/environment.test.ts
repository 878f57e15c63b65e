import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { environmentCredentials, environmentSettings } from "../../src/https/environment.ts";
import { loadSdk } from "../../src/sdk.ts";
import { readSettings } from "../../src/settings.ts";
import { provideCredentials } from "../environment.ts";

const GIVEN = { region: undefined, endpoint: undefined, allowInsecureEndpoint: false };
const sdk = await loadSdk();
const homes = ["HOME", "USERPROFILE"] as const;
const ours = homes.map((name) => [name, process.env[name]] as const);

beforeEach(() => {
  provideCredentials(undefined);
  process.env["AWS_REGION"] = "eu-west-1";
});

/** Makes a home folder with this file, which the SDK reads once. */
async function homeWith(file: string): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "signpost-home-"));
  await mkdir(dirname(join(home, file)), { recursive: true });
  await writeFile(join(home, file), "[default]\nuse_dualstack_endpoint = true\n");
  onTestFinished(async () => {
    for (const [name, value] of ours) setVariable(name, value);
    await rm(home, { recursive: true });
  });
  return home;
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

describe("a configuration file is left to the SDK", () => {
  test.each<[string, string, Record<string, string | undefined>]>([
    ["by default", ".aws/config", { AWS_CONFIG_FILE: undefined }],
    ["if its variable is empty", ".aws/config", { AWS_CONFIG_FILE: "" }],
    ["if its variable names the home folder", "of-ours/aws.ini", { AWS_CONFIG_FILE: "~/of-ours/aws.ini" }],
    ["in a profile folder", ".aws/config", { AWS_CONFIG_FILE: undefined, HOME: "" }],
  ])("%s", async (_when, file, variables) => {
    const home = await homeWith(file);
    for (const name of homes) setVariable(name, home);
    for (const [name, value] of Object.entries(variables)) setVariable(name, value);
    await expect(readSettings(sdk, GIVEN)).resolves.toMatchObject({ useDualstackEndpoint: true });
    await expect(environmentSettings(GIVEN)).resolves.toBeUndefined();
  });

  test.each(["", "~/credentials"])("if it has credentials, also where their variable is %j", async (value) => {
    const home = await homeWith(value === "" ? ".aws/credentials" : "credentials");
    process.env["HOME"] = home;
    process.env["AWS_SHARED_CREDENTIALS_FILE"] = value;
    await expect(environmentSettings(GIVEN)).resolves.toBeUndefined();
  });
});

test.each(["eu-", "-eu", "e".repeat(64)])(
  "a Region that no host name can contain is left to the SDK: %s",
  async (region) => {
    process.env["AWS_REGION"] = region;
    await expect(readSettings(sdk, GIVEN)).rejects.toMatchObject({ argument: "region" });
    await expect(environmentSettings(GIVEN)).resolves.toBeUndefined();
  },
);

test("without files, the environment gives the same settings as the SDK", async () => {
  process.env["AWS_USE_FIPS_ENDPOINT"] = "true";
  const settings = await environmentSettings(GIVEN);
  expect(settings).toEqual(await readSettings(sdk, GIVEN));
  expect(settings).toMatchObject({ useFipsEndpoint: true });
});

test.each<[string, Date | undefined]>([
  ["2026-06-01T00:00:00Z", new Date("2026-06-01")],
  ["soon", undefined],
  ["", undefined],
])("credentials that expire %j do so only if that is a time", (expires, expiration) => {
  provideCredentials({ accessKeyId: "AKIA1", secretAccessKey: "secret" });
  process.env["AWS_CREDENTIAL_EXPIRATION"] = expires;
  expect(environmentCredentials()).toEqual({
    accessKeyId: "AKIA1",
    secretAccessKey: "secret",
    ...(expiration !== undefined && { expiration }),
  });
});
