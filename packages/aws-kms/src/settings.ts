import type { KMSClient } from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";
import { readEndpoint, type ServiceEndpoint, textMember } from "@signpost/core/adapter";
import { readConfiguredEndpoint, type EndpointInForce } from "./endpoint.ts";
import { configurationCause } from "./errors.ts";
import type { Sdk } from "./sdk.ts";

/** The options for a client that is made for a signer. */
export interface GivenSettings {
  readonly region: string | undefined;
  readonly endpoint: ServiceEndpoint | undefined;
  readonly allowInsecureEndpoint: boolean;
}

/** The resulting settings, after the environment and the SDK's configuration. */
export interface Settings {
  readonly region: string;
  /** As the SDK resolved it, from a variable, a profile, or a Region such as `fips-us-east-1`. */
  readonly useFipsEndpoint: boolean;
  readonly useDualstackEndpoint: boolean;
  readonly allowInsecureEndpoint: boolean;
  /** Undefined for the public service. */
  readonly endpoint: EndpointInForce | undefined;
  /** Notes for the operator. */
  readonly notes: readonly string[];
}

/**
 * Keeps the SDK from reading this setting, since the options here replace it. A variable with an unknown mode would end
 * the process as an unhandled rejection, and `auto` would ask the metadata service.
 */
export const DECIDED = { defaultsMode: "legacy" } as const;

/** A logger that writes nothing. */
const SILENT = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** What the SDK logs about a flag in the profile that it ignores, unless its value is empty. */
const IGNORED_FLAG = /"(use_(?:fips|dualstack)_endpoint)"\. Expected "true" or "false", got ..+$/;

/** The variables that select a FIPS or a dual-stack endpoint. The SDK ignores other values than these. */
const FLAGS = ["AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT"] as const;
const FLAG_VALUES: readonly string[] = ["", "true", "false"];

/** Keeps the SDK from searching for credentials. Nothing is signed with these. */
const NO_CREDENTIALS = { accessKeyId: "none", secretAccessKey: "none" };
const FROM_SDK = "from AWS_ENDPOINT_URL_KMS, AWS_ENDPOINT_URL or the SDK's configuration files";

/**
 * Asks a client of the SDK for its settings, and sends nothing. So the SDK alone decides which variables and files
 * count, and in which order.
 *
 * @throws ConfigurationError for a missing Region, for an endpoint with plain http, and for a FIPS or dual-stack flag that the SDK
 * ignores.
 */
export async function readSettings(sdk: Sdk, given: GivenSettings): Promise<Settings> {
  const flagsInVain = new Set<string>(FLAGS.filter((name) => !FLAG_VALUES.includes(process.env[name] ?? "")));
  const debug = (message: unknown): void => {
    const name = IGNORED_FLAG.exec(String(message))?.[1];
    if (name !== undefined) flagsInVain.add(name);
  };
  const client = new sdk.KMSClient({
    ...DECIDED,
    credentials: NO_CREDENTIALS,
    logger: { ...SILENT, debug },
    ...(given.region !== undefined && { region: given.region }),
  });
  const region = await readRegion(client);
  const useFipsEndpoint = await client.config.useFipsEndpoint();
  const useDualstackEndpoint = await client.config.useDualstackEndpoint();
  const sdkFound = { region, useFipsEndpoint, useDualstackEndpoint };
  const found = { ...sdkFound, allowInsecureEndpoint: given.allowInsecureEndpoint };
  if (given.endpoint !== undefined) return withGivenEndpoint(found, given.endpoint);
  const flags = flagsOf(found);
  const { Endpoint: configured, ...parameters } = await endpointParameters(sdk, sdkFound);
  if (configured !== undefined && !isToldToIgnore()) {
    const endpoint = readConfiguredEndpoint(configured, FROM_SDK, given.allowInsecureEndpoint);
    return { ...found, endpoint, notes: [`endpoint ${endpoint.url}, ${FROM_SDK}`, ...overridden(flags, endpoint.url)] };
  }
  requireNone(flagsInVain);
  if (flags.length === 0 && configured === undefined) return { ...found, endpoint: undefined, notes: [] };
  const url = client.config.endpointProvider(parameters).url.origin;
  // The key's ARN has the plain name of the Region, so the URI must name the endpoint.
  const inUri = useFipsEndpoint && !(await isFipsAnyway(sdk, region));
  const why = inUri ? "a Region that selects the FIPS endpoint" : flags.join(", ");
  const notes = flags.length === 0 ? [] : [`endpoint ${url} (${why})`];
  // If the SDK found an endpoint that must be ignored, it needs the public one.
  const endpoint = inUri || configured !== undefined ? { ...readEndpoint("endpoint", url), inUri } : undefined;
  return { ...found, endpoint, notes };
}

/** The calls would go to another endpoint than the operator wants, without a word. */
function requireNone(flagsInVain: ReadonlySet<string>): void {
  const [name] = flagsInVain;
  if (name === undefined) return;
  const where = name.startsWith("AWS_") ? name : `${name} of the profile`;
  throw new ConfigurationError("endpoint", `expected true or false in ${where}: the SDK ignores any other value`);
}

/** For earlier releases of the SDK, which do not know the variable. */
function isToldToIgnore(): boolean {
  return process.env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] === "true";
}

/** Whether a setting selects the FIPS endpoint, with any name of the Region. */
async function isFipsAnyway({ KMSClient }: Sdk, region: string): Promise<boolean> {
  return new KMSClient({ ...DECIDED, credentials: NO_CREDENTIALS, region }).config.useFipsEndpoint();
}

/** What the environment or the SDK decides, apart from the endpoint. */
type Found = Omit<Settings, "endpoint" | "notes">;

/** The settings with the endpoint of the options, which replaces what selects a public one. */
export function withGivenEndpoint(found: Found, endpoint: ServiceEndpoint): Settings {
  return { ...found, endpoint: { ...endpoint, inUri: true }, notes: overridden(flagsOf(found), endpoint.url) };
}

/** The variables that select a FIPS or a dual-stack endpoint. A profile may have set them instead. */
export function flagsOf({ useFipsEndpoint, useDualstackEndpoint }: Found): readonly string[] {
  return [
    ...(useFipsEndpoint ? ["AWS_USE_FIPS_ENDPOINT"] : []),
    ...(useDualstackEndpoint ? ["AWS_USE_DUALSTACK_ENDPOINT"] : []),
  ];
}

/** Notes about settings that an endpoint replaces. */
function overridden(flags: readonly string[], url: string): readonly string[] {
  return flags.map((flag) => `${flag} is set (or its setting in a profile) and was overridden by the endpoint ${url}`);
}

/** Of a signer's own client. */
export const NO_REGION = "expected a Region in the key ARN, in the option, in ?region= of the URI, or in AWS_REGION";

/** The SDK's message for a Region that cannot be part of a host name. */
const NOT_ACCEPTED = /^Region not accepted/;

async function readRegion(client: KMSClient): Promise<string> {
  try {
    return await client.config.region();
  } catch (cause) {
    const expected = NOT_ACCEPTED.test(textMember(cause, "message"))
      ? "expected the name of a Region in AWS_REGION or in the profile, such as eu-west-1, without spaces or line breaks"
      : NO_REGION;
    throw new ConfigurationError("region", expected, { cause: configurationCause(cause) });
  }
}

type EndpointParameters = Parameters<KMSClient["config"]["endpointProvider"]>[0];

/**
 * The parameters from which the SDK makes the endpoint. Its client reads the environment and the files in its first
 * command. A middleware stops that command after they are read.
 */
async function endpointParameters(
  { KMSClient, GetPublicKeyCommand }: Sdk,
  found: Pick<Settings, "region" | "useFipsEndpoint" | "useDualstackEndpoint">,
): Promise<EndpointParameters> {
  let parameters: EndpointParameters = {};
  const client = new KMSClient({
    ...DECIDED,
    ...found,
    credentials: NO_CREDENTIALS,
    endpointProvider: (read: EndpointParameters) => {
      parameters = read;
      return { url: new URL("https://kms.invalid") };
    },
  });
  client.middlewareStack.add(() => async () => ({ response: undefined, output: { $metadata: {} } }), {
    step: "build",
    name: "signpostStop",
  });
  try {
    await client.send(new GetPublicKeyCommand({ KeyId: "alias/none" }));
    return parameters;
  } catch (cause) {
    throw new ConfigurationError("endpoint", `expected an endpoint that the SDK can read, ${FROM_SDK}`, {
      cause: configurationCause(cause),
    });
  }
}
