import { isLoopbackHost, safeCause, untilAborted, withinDeadline } from "@signpost/core/adapter";
import { importPackage } from "../keys/import-package.ts";
import type { AdapterOptions } from "../keys/adapters.ts";
import type { CliContext } from "../program/context.ts";

type CommandName = "DescribeKey" | "GetKeyPolicy" | "CreateGrant" | "CreateKey" | "CreateAlias";
type CommandClass = new (input: object) => object;

/** The part of `@aws-sdk/client-kms` that is used. */
type KmsSdk = { readonly KMSClient: new (options: object) => KmsClient } & Readonly<
  Record<`${CommandName | "Sign"}Command`, CommandClass>
>;
interface KmsClient {
  readonly config: { credentials(): Promise<{ readonly sessionToken?: string | undefined }> };
  send(command: object, options?: { readonly abortSignal: AbortSignal }): Promise<object>;
  destroy(): void;
}

/** Calls of AWS KMS that signing does not need, with the credentials of the environment. */
export interface KmsCalls {
  /** Rejects with the error of the SDK, whose `name` is the code of the service. Without a message that repeats a secret. */
  call(command: CommandName, input: object): Promise<object>;
  close(): void;
}

/** Where a key URI says that a key is. */
export interface KmsPlace {
  /** Undefined: the public service. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** Key id, ARN, or `alias/NAME`. */
  readonly id: string;
}

/** `env`: may name an endpoint, as the SDK reads it. */
export function kmsPlace(uri: string, options: AdapterOptions, env: NodeJS.ProcessEnv): KmsPlace {
  const [, host = "", id = "", query = ""] = /^awskms:\/\/([^/]*)\/([^?]*)\??(.*)$/i.exec(uri) ?? [];
  const parameters = new URLSearchParams(query);
  const region = parameters.get("region") ?? id.split(":")[3] ?? textOf(options["region"]);
  if (host === "") return { endpoint: textOf(options["endpoint"]) ?? configuredEndpoint(env), region, id };
  const scheme = parameters.get("scheme") ?? (isOnLoopback(host) ? "http" : "https");
  return { endpoint: `${scheme}://${host}`, region, id };
}

/** As the adapter decides it: `localhost.example` is another host, to which nothing is sent without TLS. */
function isOnLoopback(host: string): boolean {
  const url = `https://${host}`;
  return URL.canParse(url) && isLoopbackHost(new URL(url).hostname);
}

function configuredEndpoint(env: NodeJS.ProcessEnv): string | undefined {
  if (env["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] === "true") return undefined;
  return [env["AWS_ENDPOINT_URL_KMS"], env["AWS_ENDPOINT_URL"]].find((url) => url !== undefined && url !== "");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** With the SDK's own attempts. */
const CALL_MS = 15_000;

/** The SDK and a client of it, with the credentials of the environment. Undefined if the SDK is not installed. */
export async function openKmsSdk(
  place: KmsPlace,
  cwd: string,
): Promise<{ readonly sdk: KmsSdk; readonly client: KmsClient } | undefined> {
  const sdk = (await importPackage("@aws-sdk/client-kms", cwd)) as KmsSdk | undefined;
  return sdk === undefined ? undefined : { sdk, client: clientOf(sdk, place) };
}

function clientOf(
  sdk: KmsSdk,
  { endpoint, region }: KmsPlace,
  more: { readonly maxAttempts?: number } = {},
): KmsClient {
  return new sdk.KMSClient({
    ...(region === undefined ? {} : { region }),
    ...more,
    // The SDK fails if the environment asks for a FIPS or dual-stack endpoint too. The adapter takes the given one.
    ...(endpoint === undefined ? {} : { endpoint, useFipsEndpoint: false, useDualstackEndpoint: false }),
  });
}

/** Undefined if the SDK is not installed. */
export async function openKmsCalls(place: KmsPlace, { cwd, signal }: CliContext): Promise<KmsCalls | undefined> {
  const opened = await openKmsSdk(place, cwd);
  if (opened === undefined) return undefined;
  const { sdk, client: repeating } = opened;
  // A call whose answer was lost may have made a key. Another attempt would make one more.
  const single = clientOf(sdk, place, { maxAttempts: 1 });
  return {
    call: (command, input) => {
      const client = command === "CreateKey" ? single : repeating;
      // The SDK waits without a limit.
      const abortSignal = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      const sent = client.send(new sdk[`${command}Command`](input), { abortSignal });
      // Until it has credentials, the SDK does not look at the signal.
      return untilAborted(sent, abortSignal).catch(async (error: unknown) => {
        throw withoutSecrets(error, await sessionTokenOf(client));
      });
    },
    close: () => {
      repeating.destroy();
      single.destroy();
    },
  };
}

/** What a service that refuses a signature, or a proxy, may repeat. */
const REPEATS = /AWS4-HMAC-SHA256|x-amz-security-token|^Command failed/i;

function withoutSecrets(error: unknown, sessionToken: string | undefined): unknown {
  const rules = { members: ["$metadata"], hides: (_error: unknown, text: string) => REPEATS.test(text) };
  return safeCause(error, { ...rules, secrets: [sessionToken] });
}

/** What the client keeps is there at once. Otherwise nothing was sent. */
const KEPT_MS = 100;

/** The only secret that is sent. */
async function sessionTokenOf({ config }: KmsClient): Promise<string | undefined> {
  const found = await withinDeadline(() => config.credentials(), { deadlineMs: KEPT_MS }).catch(() => undefined);
  return found?.sessionToken;
}
