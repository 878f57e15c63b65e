import type { Agent } from "node:https";
import { ConfigurationError } from "@signpost/core";
import {
  assertOptions,
  closedError,
  given,
  memberOf,
  readCallback,
  readFlag,
  readMilliseconds,
  readWholeNumber,
  type OptionNames,
} from "@signpost/core/adapter";
import type { AwsKmsApi } from "./api.ts";
import { parseEndpoint } from "./endpoint.ts";
import type { AwsKmsCredentials } from "./https/credential-store.ts";
import { openHttps, type HttpsConnection, type HttpsPlan } from "./https/open.ts";
import { rememberSettings } from "./own-apis.ts";
import { NO_REGION } from "./settings.ts";
import { parseRegion } from "./uri.ts";

export type { AwsKmsCredentials } from "./https/credential-store.ts";

/** Asks for credentials, in the form that providers of the SDK take. */
export interface AwsKmsCredentialRequest {
  /** Newer credentials than before, because AWS refused those. Default false. */
  readonly forceRefresh?: boolean;
  /** The Region of KMS. Providers of the SDK ask STS there, unless they were given another one. */
  readonly callerClientConfig?: { region(): Promise<string> };
}

/** Returns credentials, such as a provider of the SDK. */
export type AwsKmsCredentialProvider = (
  request?: AwsKmsCredentialRequest,
) => AwsKmsCredentials | Promise<AwsKmsCredentials>;

/** Options of `kmsOverHttps`. */
export interface KmsOverHttpsOptions {
  /** Region, such as `eu-west-1`. Default: the one that the SDK would find, which is `AWS_REGION` or the profile's. */
  readonly region?: string | undefined;
  /**
   * Endpoint: `https://HOST[:PORT]`, or `http://HOST:PORT` on the loopback interface. Default: the one that the SDK would
   * find (`AWS_ENDPOINT_URL_KMS`, `AWS_ENDPOINT_URL`, `endpoint_url`), otherwise the public service.
   */
  readonly endpoint?: string | undefined;
  /** Accepts plain http to any host. Default false. */
  readonly allowInsecureEndpoint?: boolean | undefined;
  /**
   * Credentials, or a function that returns them, such as one of `@aws-sdk/credential-providers`. It is called again five
   * minutes before they expire, and after a refusal. Default: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, otherwise the SDK's default
   * provider chain.
   */
  readonly credentials?: AwsKmsCredentials | AwsKmsCredentialProvider | undefined;
  /**
   * Agent of Node's `https`, for example one that connects through a proxy. Requests of the SDK's provider chain use it
   * too. `close()` does not destroy it. Default: an agent that keeps connections alive for 20 seconds and trusts the
   * authorities in the file `AWS_CA_BUNDLE`, if set.
   */
  readonly agent?: Agent | undefined;
  /** The largest number of connections. Not with `agent`. Whole number, 1 to 65,535. Default 256. */
  readonly maxSockets?: number | undefined;
  /** Time limit of one request, and of each wait for credentials. Milliseconds, 1 to 2,147,483,647. Default 2,000. */
  readonly timeoutMs?: number | undefined;
}

/** The calls of KMS over HTTPS. */
export interface KmsOverHttps extends AwsKmsApi {
  /** Closes the connections. Calls that wait or come later are rejected with `closed`. */
  close(): Promise<void>;
}

const OPTIONS: OptionNames<KmsOverHttpsOptions> = {
  region: true,
  endpoint: true,
  allowInsecureEndpoint: true,
  credentials: true,
  agent: true,
  maxSockets: true,
  timeoutMs: true,
};

/**
 * A transport without the SDK's request path: Node's HTTP client, and Signature Version 4 by `node:crypto`. It needs the
 * SDK only to read configuration files and to find credentials that are not in the environment. One transport can serve
 * any number of signers in its Region. Close it after them.
 *
 * For a single signer, `transport: "https"` of `openAwsKmsSigner` and `awsKms` is shorter.
 *
 * @throws ConfigurationError for an option that is unknown, out of bounds or conflicts with another. Settings from the
 * environment are read by the first call.
 * @example
 * ```ts
 * import { openAwsKmsSigner } from "@signpost/aws-kms";
 * import { kmsOverHttps } from "@signpost/aws-kms/https";
 *
 * const api = kmsOverHttps({ region: "eu-west-1" });
 * const signer = await openAwsKmsSigner({ key: "alias/op-2026", api });
 * ```
 */
export function kmsOverHttps(options: KmsOverHttpsOptions = {}): KmsOverHttps {
  const plan = readPlan(options);
  let opening: Promise<HttpsConnection> | undefined;
  let closed = false;
  const open = (): Promise<HttpsConnection> => {
    opening ??= openHttps(plan).catch((error: unknown) => {
      opening = undefined;
      throw isWithoutRegion(error) ? withoutRegion(error) : error;
    });
    return opening;
  };
  const call = async <Answer>(send: (api: AwsKmsApi) => Promise<Answer>): Promise<Answer> => {
    if (closed) throw closedError();
    return send((await open()).api);
  };
  const api: KmsOverHttps = {
    getPublicKey: (input, callOptions) => call((api) => api.getPublicKey(input, callOptions)),
    sign: (input, callOptions) => call((api) => api.sign(input, callOptions)),
    close: async () => {
      closed = true;
      const opened = await opening?.catch(() => undefined);
      await opened?.close();
    },
  };
  rememberSettings(api, async () => (await open()).settings);
  return api;
}

function isWithoutRegion(error: unknown): error is ConfigurationError {
  return error instanceof ConfigurationError && error.message.endsWith(NO_REGION);
}

/** It serves many keys, so a key's ARN does not decide its Region. */
function withoutRegion({ cause }: ConfigurationError): ConfigurationError {
  const expected =
    "expected a Region in the option of kmsOverHttps, or in AWS_REGION; the Region in a key ARN does not count";
  return new ConfigurationError("region", expected, { cause });
}

function readPlan(options: KmsOverHttpsOptions): HttpsPlan {
  assertOptions("options", options, OPTIONS);
  const { region, endpoint, agent, maxSockets, timeoutMs } = options;
  if (region !== undefined) parseRegion("region", region);
  const allowInsecureEndpoint = readFlag("allowInsecureEndpoint", options.allowInsecureEndpoint ?? false);
  if (agent !== undefined && maxSockets !== undefined) {
    throw new ConfigurationError("maxSockets", "not allowed together with agent, which has its own");
  }
  if (agent !== undefined && typeof memberOf(agent, "addRequest") !== "function") {
    throw new ConfigurationError("agent", `expected an Agent of node:https, got ${given(agent)}`);
  }
  return {
    settings: {
      region,
      endpoint: endpoint === undefined ? undefined : parseEndpoint("endpoint", endpoint, allowInsecureEndpoint),
      allowInsecureEndpoint,
    },
    credentials: readCredentials(options.credentials),
    agent,
    maxSockets: readWholeNumber("maxSockets", maxSockets ?? 256, 1, 65_535),
    timeoutMs: readMilliseconds("timeoutMs", timeoutMs ?? 2000),
  };
}

function readCredentials(credentials: KmsOverHttpsOptions["credentials"]): HttpsPlan["credentials"] {
  if (credentials === undefined) return undefined;
  if (typeof credentials === "function") {
    const provide = readCallback("credentials", credentials);
    return async (options) => provide(options);
  }
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = Object(credentials) as AwsKmsCredentials;
  if (typeof accessKeyId !== "string" || typeof secretAccessKey !== "string") {
    throw new ConfigurationError("credentials", "expected accessKeyId and secretAccessKey, or a function");
  }
  return async () => ({ accessKeyId, secretAccessKey, sessionToken, expiration });
}
