import { ConfigurationError } from "@signpost/core";
import { memberOf } from "@signpost/core/adapter";
import type { GcpKmsClientLike } from "./api.ts";
import { messageOf } from "./client-error.ts";

/** The constructor of `@google-cloud/kms`. */
export type ClientClass = new (options: object) => GcpKmsClientLike;

/**
 * The part of the client's google-gax that is used. The client would refuse credentials from another copy of grpc-js.
 */
export interface Gax {
  readonly grpc: { readonly credentials: { createInsecure(): unknown } };
  readonly googleAuthLibrary: {
    readonly PassThroughClient: new () => unknown;
    readonly gcpMetadata: { resetIsAvailableCache(): void };
  };
}

/** Loads the peer dependency when a client is needed. */
export async function loadClientClass(): Promise<ClientClass> {
  try {
    const { KeyManagementServiceClient } = (await import("@google-cloud/kms")) as unknown as {
      KeyManagementServiceClient: ClientClass | undefined;
    };
    // In some bundles, code that failed to load is there the next time, but empty.
    if (typeof KeyManagementServiceClient !== "function") throw new Error("KeyManagementServiceClient is missing");
    return KeyManagementServiceClient;
  } catch (cause) {
    throw new ConfigurationError("client", loadingFailure(cause), { cause });
  }
}

/** Says why the SDK did not load: it is missing, or it is in a bundle in which it cannot run. */
export function loadingFailure(error: unknown): string {
  const [message = ""] = messageOf(error).split("\n");
  if (NOT_FOUND.test(message)) return "expected a client, or @google-cloud/kms to be installed";
  const what = `expected @google-cloud/kms to load, but it failed with "${message}"`;
  if (!WITHOUT_COMMONJS.test(message)) return what;
  return `${what}: it is CommonJS and cannot run inside this bundle of ES modules; make it external, or bundle as CommonJS`;
}

// Node's message, for CommonJS and for ES modules.
const NOT_FOUND = /^Cannot find (?:module|package) '@google-cloud\/kms'/;

// The messages of esbuild, of Node for code that a bundler left unchanged, and the one above.
const WITHOUT_COMMONJS =
  /^Dynamic require of|^(?:require|module|exports|__dirname|__filename) is not defined|^\w+ is missing$/;

/**
 * The client's own google-gax. The client keeps it under a name that is not public. No other way to this copy works in
 * a bundle too. The client that is made for this sends no request, because it gets a universe and needs no credentials.
 */
export function gaxOf(Client: ClientClass): Gax {
  const gax = gaxModuleOf(Client, {});
  if (isGax(gax)) return gax;
  throw new ConfigurationError("client", "expected @google-cloud/kms 5.7 or 6, with its own google-gax");
}

function gaxModuleOf(Client: ClientClass, options: object): unknown {
  const universeDomain = "googleapis.com";
  return Reflect.get(new Client({ ...options, universeDomain, authClient: { universeDomain } }), "_gaxModule");
}

/** Over REST, the SDK recognizes the numbers of a request by the name of their class, which minifiers change. */
export function requireClassNames(Client: ClientClass): void {
  const gax = gaxModuleOf(Client, { fallback: true });
  const numbers = memberOf(memberOf(memberOf(gax, "protobuf"), "util"), "Long");
  if (typeof numbers !== "function" || numbers.name === "Long") return;
  const expected =
    'expected "grpc" in this bundle: it was minified without class names, which @google-cloud/kms needs to sign over REST';
  throw new ConfigurationError(
    "transport",
    `${expected}; keep the names of functions and classes, or make it external`,
  );
}

function isGax(value: unknown): value is Gax {
  const auth = memberOf(value, "googleAuthLibrary");
  return (
    typeof memberOf(memberOf(memberOf(value, "grpc"), "credentials"), "createInsecure") === "function" &&
    typeof memberOf(auth, "PassThroughClient") === "function" &&
    typeof memberOf(memberOf(auth, "gcpMetadata"), "resetIsAvailableCache") === "function"
  );
}
