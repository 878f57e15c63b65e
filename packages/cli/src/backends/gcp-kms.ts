import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { withinDeadline } from "@signpost/core/adapter";
import { importPackage, resolvePackage } from "../keys/import-package.ts";
import type { AdapterOptions } from "../keys/adapters.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { boundedCalls } from "./gcp-calls.ts";

/** A call of Google's client: the request, and the time that it may take, in milliseconds. */
export type GcpCall<Answer> = (
  request: object,
  options: {
    readonly timeout: number;
    /** Null: the client makes one attempt. */
    readonly retry?: null;
  },
) => Promise<readonly [Answer, ...unknown[]]>;

/** The part of `KeyManagementServiceClient` that is used. */
export interface GcpKmsLike {
  readonly getCryptoKeyVersion: GcpCall<GcpVersion>;
  readonly getCryptoKey: GcpCall<GcpKey>;
  readonly testIamPermissions: GcpCall<{ readonly permissions?: readonly string[] | null }>;
  readonly getIamPolicy: GcpCall<GcpPolicy>;
  readonly createCryptoKey: GcpCall<{ readonly name?: string | null }>;
  readonly createCryptoKeyVersion: GcpCall<{ readonly name?: string | null }>;
  close(): Promise<void>;
}
/** With the call that is measured. */
export interface GcpSigningClient extends GcpKmsLike {
  readonly asymmetricSign: GcpCall<object>;
}
/** As the SDK makes it. */
export interface GcpSdkClient extends GcpSigningClient {
  readonly auth?: unknown;
  initialize(): Promise<unknown>;
}
export interface GcpPolicy {
  readonly bindings?: readonly { readonly members?: readonly string[] | null }[] | null;
}
export interface GcpVersion {
  readonly protectionLevel?: unknown;
  readonly importTime?: unknown;
}
export interface GcpKey {
  readonly purpose?: unknown;
  readonly versionTemplate?: { readonly algorithm?: unknown } | null;
  readonly destroyScheduledDuration?: { readonly seconds?: unknown } | null;
}

interface Gax {
  readonly grpc: { readonly credentials: { createInsecure(): unknown } };
  readonly googleAuthLibrary: { readonly PassThroughClient: new () => unknown };
}

const NAME = "@google-cloud/kms";
const OPEN_MS = 15_000;

/** A client with Google's application default credentials. Undefined if the package is not installed. */
export async function openGcpClient(
  options: AdapterOptions,
  { cwd, signal }: Pick<CliContext, "cwd" | "signal">,
): Promise<GcpSigningClient | undefined> {
  const sdk = await importPackage(NAME, cwd);
  const Client: unknown = Reflect.get(sdk ?? {}, "KeyManagementServiceClient");
  if (typeof Client !== "function") return undefined;
  const transport = options["transport"] === "rest" ? { fallback: true } : {};
  const client = Reflect.construct(Client, [{ ...transport, ...endpointOptions(options, cwd) }]) as GcpSdkClient;
  const deadline = { deadlineMs: OPEN_MS, signal, message: `no Google credentials within ${OPEN_MS} ms` };
  // First, because a call that finds no credentials leaves a promise that rejects later and ends the program.
  await withinDeadline(() => client.initialize(), deadline).catch((cause: unknown) => {
    const code: unknown = Reflect.get(Object(cause), "code");
    // Without the client's message, which may quote the file.
    const reason = typeof code === "string" ? ` (${code})` : "";
    const hint = "Check GOOGLE_APPLICATION_CREDENTIALS, or run gcloud auth application-default login";
    throw new CliError(EXIT.backend, "credentials", `No usable Google credentials were found${reason}`, {
      cause,
      hint,
    });
  });
  return boundedCalls(client, signal);
}

/** As the adapter connects to an endpoint: without credentials over http, for an emulator. */
function endpointOptions({ endpoint, transport }: AdapterOptions, cwd: string): object {
  if (typeof endpoint !== "string" || !URL.canParse(endpoint)) return {};
  const { protocol, hostname, port } = new URL(endpoint);
  const place = { apiEndpoint: hostname, ...(port === "" ? {} : { port: Number(port) }) };
  if (protocol === "https:") return place;
  const path = resolvePackage(NAME, [dirname(fileURLToPath(import.meta.url)), cwd]);
  // The client refuses credentials from another copy.
  const { grpc, googleAuthLibrary } = createRequire(path ?? import.meta.url)("google-gax") as Gax;
  const plain = transport === "rest" ? { protocol: "http" } : { sslCreds: grpc.credentials.createInsecure() };
  return {
    ...place,
    ...plain,
    authClient: new googleAuthLibrary.PassThroughClient(),
    universeDomain: "googleapis.com",
  };
}
