import type { KMSClientConfig } from "@aws-sdk/client-kms";
import { beforeEach, describe, expect, test } from "vitest";
import { readEndpoint } from "@signpost/core/adapter";
import type { Sdk } from "../src/sdk.ts";
import { readSettings, type GivenSettings } from "../src/settings.ts";
import { provideCredentials } from "./environment.ts";

const FROM_SDK = "from AWS_ENDPOINT_URL_KMS, AWS_ENDPOINT_URL or the SDK's configuration files";
const GIVEN: GivenSettings = { region: undefined, endpoint: undefined, allowInsecureEndpoint: false };
const NONE = { defaultsMode: "legacy", credentials: { accessKeyId: "none", secretAccessKey: "none" } };

interface Found {
  readonly fips?: boolean;
  /** Of a client that is made for the Region alone. Default: as `fips`. */
  readonly fipsAnyway?: boolean;
  readonly dualstack?: boolean;
  readonly configured?: string;
  readonly failure?: Error;
}

/** An SDK that finds this, and the clients that were made with it. */
function sdkThatFinds({ fips = false, fipsAnyway = fips, dualstack = false, configured, failure }: Found): {
  readonly sdk: Sdk;
  readonly made: KMSClientConfig[];
  readonly middleware: unknown[];
  readonly asked: unknown[];
} {
  const made: KMSClientConfig[] = [];
  const middleware: unknown[] = [];
  const asked: unknown[] = [];
  class KMSClient {
    readonly given: KMSClientConfig;
    readonly config: object;
    readonly middlewareStack = { add: (_middleware: unknown, options: unknown) => void middleware.push(options) };
    constructor(given: KMSClientConfig) {
      made.push(given);
      this.given = given;
      const isFirst = made.length === 1;
      this.config = {
        region: async () => "eu-west-1",
        useFipsEndpoint: async () => (isFirst ? fips : fipsAnyway),
        useDualstackEndpoint: async () => dualstack,
        endpointProvider: (parameters: unknown) => {
          asked.push(parameters);
          return { url: new URL("https://public.example/path") };
        },
      };
    }
    async send(): Promise<object> {
      if (failure !== undefined) throw failure;
      this.given.endpointProvider?.({ Region: "eu-west-1", ...(configured !== undefined && { Endpoint: configured }) });
      return {};
    }
  }
  class GetPublicKeyCommand {
    readonly input: unknown;
    constructor(input: unknown) {
      this.input = input;
    }
  }
  return { sdk: { KMSClient, GetPublicKeyCommand } as unknown as Sdk, made, middleware, asked };
}

beforeEach(() => provideCredentials(undefined));

const FOUND = {
  region: "eu-west-1",
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
  allowInsecureEndpoint: false,
};

describe("the settings that the SDK finds", () => {
  test("are asked of clients that search for no credentials", async () => {
    const { sdk, made, middleware, asked } = sdkThatFinds({});
    expect(await readSettings(sdk, GIVEN)).toEqual({ ...FOUND, endpoint: undefined, notes: [] });
    expect(made[0]).toEqual({ ...NONE, logger: expect.any(Object) as unknown });
    expect(Object.keys(made[0] ?? {})).not.toContain("region");
    expect(made[1]).toEqual({
      ...NONE,
      region: "eu-west-1",
      useFipsEndpoint: false,
      useDualstackEndpoint: false,
      endpointProvider: expect.any(Function) as unknown,
    });
    expect(made).toHaveLength(2);
    expect(middleware).toEqual([{ step: "build", name: "signpostStop" }]);
    expect(asked).toEqual([]);
  });

  test("are those of the Region in the options", async () => {
    const { sdk, made } = sdkThatFinds({});
    await readSettings(sdk, { ...GIVEN, region: "eu-west-2" });
    expect(made[0]).toMatchObject({ ...NONE, region: "eu-west-2" });
  });

  test("give way to an endpoint in the options, which replaces the flags", async () => {
    const endpoint = readEndpoint("endpoint", "https://kms.internal");
    const { sdk, made } = sdkThatFinds({ fips: true, dualstack: true, configured: "https://other.internal" });
    const overridden = "is set (or its setting in a profile) and was overridden by the endpoint https://kms.internal";
    expect(await readSettings(sdk, { ...GIVEN, endpoint, allowInsecureEndpoint: true })).toEqual({
      ...FOUND,
      useFipsEndpoint: true,
      useDualstackEndpoint: true,
      allowInsecureEndpoint: true,
      endpoint: { ...endpoint, inUri: true },
      notes: [`AWS_USE_FIPS_ENDPOINT ${overridden}`, `AWS_USE_DUALSTACK_ENDPOINT ${overridden}`],
    });
    expect(made).toHaveLength(1);
  });

  test("contain an endpoint, which replaces the flags too", async () => {
    const { sdk } = sdkThatFinds({ dualstack: true, configured: "https://kms.internal/kms" });
    expect(await readSettings(sdk, GIVEN)).toMatchObject({
      endpoint: { url: "https://kms.internal/kms", inUri: false },
      notes: [
        `endpoint https://kms.internal/kms, ${FROM_SDK}`,
        expect.stringContaining("AWS_USE_DUALSTACK_ENDPOINT is set") as string,
      ],
    });
  });

  test.each([
    ["true", "https://public.example"],
    ["TRUE", "https://kms.internal"],
    ["", "https://kms.internal"],
  ])("contain an endpoint that AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=%s may hide: %s", async (value, url) => {
    process.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = value;
    const { sdk, asked } = sdkThatFinds({ configured: "https://kms.internal" });
    expect(await readSettings(sdk, GIVEN)).toMatchObject({ endpoint: { url } });
    // The public one is asked for without the one that is hidden.
    expect(asked).toEqual(value === "true" ? [{ Region: "eu-west-1" }] : []);
  });

  test("name the public endpoint that the flags select, and no other in URIs", async () => {
    const { sdk } = sdkThatFinds({ fips: true, dualstack: true });
    expect(await readSettings(sdk, GIVEN)).toMatchObject({
      endpoint: undefined,
      notes: ["endpoint https://public.example (AWS_USE_FIPS_ENDPOINT, AWS_USE_DUALSTACK_ENDPOINT)"],
    });
  });

  test("name the FIPS endpoint in URIs, if only the name of the Region selects it", async () => {
    const { sdk, made } = sdkThatFinds({ fips: true, fipsAnyway: false });
    expect(await readSettings(sdk, GIVEN)).toMatchObject({
      endpoint: { url: "https://public.example", inUri: true },
      notes: ["endpoint https://public.example (a Region that selects the FIPS endpoint)"],
    });
    expect(made.at(-1)).toEqual({ ...NONE, region: "eu-west-1" });
  });

  test("cannot be read, and say so of the endpoint", async () => {
    const { sdk } = sdkThatFinds({ failure: new Error("Invalid URL") });
    await expect(readSettings(sdk, GIVEN)).rejects.toMatchObject({
      argument: "endpoint",
      message: `endpoint: expected an endpoint that the SDK can read, ${FROM_SDK}`,
      cause: { message: "Invalid URL" },
    });
  });
});
