import * as sdk from "@aws-sdk/client-kms";
import { expect, test } from "vitest";
import { readSettings } from "../src/settings.ts";
import { provideCredentials } from "./environment.ts";

/** As in releases of the SDK that do not know AWS_IGNORE_CONFIGURED_ENDPOINT_URLS. */
class EarlierClient extends sdk.KMSClient {
  constructor(config: sdk.KMSClientConfig) {
    super(config);
    Object.assign(this.config, { serviceConfiguredEndpoint: async () => process.env["AWS_ENDPOINT_URL_KMS"] });
  }
}
const earlier = { ...sdk, KMSClient: EarlierClient };
const given = { endpoint: undefined, allowInsecureEndpoint: false };

test.each([
  ["eu-west-1", undefined, "https://kms.eu-west-1.amazonaws.com", false, []],
  [
    "us-east-1",
    "AWS_USE_FIPS_ENDPOINT",
    "https://kms-fips.us-east-1.amazonaws.com",
    false,
    ["endpoint https://kms-fips.us-east-1.amazonaws.com (AWS_USE_FIPS_ENDPOINT)"],
  ],
  [
    "fips-us-east-1",
    undefined,
    "https://kms-fips.us-east-1.amazonaws.com",
    true,
    ["endpoint https://kms-fips.us-east-1.amazonaws.com (a Region that selects the FIPS endpoint)"],
  ],
])("an endpoint to ignore is ignored by an earlier SDK too: %s, %s", async (region, flag, url, inUri, notes) => {
  provideCredentials(undefined);
  process.env["AWS_ENDPOINT_URL_KMS"] = "http://localstack:4566";
  process.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true";
  if (flag !== undefined) process.env[flag] = "true";
  const settings = await readSettings(earlier, { ...given, region });
  expect(settings).toMatchObject({ endpoint: { url, inUri }, notes });
});

test("an endpoint of an earlier SDK that is not to be ignored is checked", async () => {
  provideCredentials(undefined);
  process.env["AWS_ENDPOINT_URL_KMS"] = "http://localstack:4566";
  await expect(readSettings(earlier, { ...given, region: "eu-west-1" })).rejects.toMatchObject({
    argument: "endpoint",
  });
});

test.each([
  ["eu-west-1 ", /^region: expected the name of a Region in AWS_REGION or in the profile, .* without spaces/],
  ["eu-west-1\n", /^region: expected the name of a Region in AWS_REGION or in the profile, .* without spaces/],
  [undefined, /^region: expected a Region in the key ARN, in the option, in \?region= of the URI, or in AWS_REGION$/],
])("a Region that the SDK does not accept is not called missing: %j", async (region, message) => {
  provideCredentials(undefined);
  if (region !== undefined) process.env["AWS_REGION"] = region;
  await expect(readSettings(sdk, { ...given, region: undefined })).rejects.toMatchObject({
    argument: "region",
    message: expect.stringMatching(message) as string,
  });
});

/** Reads the metadata of each answer, as the SDK does for a logger. */
const metadata: unknown[] = [];
class LoggingClient extends sdk.KMSClient {
  constructor(config: sdk.KMSClientConfig) {
    super(config);
    this.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        metadata.push(result.output.$metadata);
        return result;
      },
      { step: "initialize" },
    );
  }
}

test("the command that finds the endpoint has an answer that middleware can read", async () => {
  provideCredentials(undefined);
  process.env["AWS_ENDPOINT_URL_KMS"] = "https://kms.internal:8443";
  const settings = await readSettings({ ...sdk, KMSClient: LoggingClient }, { ...given, region: "eu-west-1" });
  expect(settings).toMatchObject({ region: "eu-west-1", endpoint: { url: "https://kms.internal:8443" } });
  expect(metadata).toEqual([{}]);
});
