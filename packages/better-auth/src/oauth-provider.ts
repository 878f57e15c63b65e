import { ConfigurationError } from "@signpost/core";
import { type Call, type CallHook, signingProviderOptions } from "./host.ts";

/**
 * Refuses resources that ask for another algorithm, or for one key. Their tokens could not be signed after the code was used
 * up.
 */
export function requireSignableResources({ resources }: Readonly<Record<string, unknown>>): void {
  if (!Array.isArray(resources)) return;
  for (const resource of resources) {
    const { identifier, signingAlgorithm, signingKeyId }: Record<string, unknown> = Object(resource);
    const name = `the resource ${JSON.stringify(identifier)} of oauthProvider`;
    if (signingAlgorithm !== undefined && signingAlgorithm !== null && signingAlgorithm !== "ES256") {
      const problem = `${name}: expected "ES256", the only algorithm of Signpost, got ${JSON.stringify(signingAlgorithm)}`;
      throw new ConfigurationError("signingAlgorithm", problem);
    }
    if (signingKeyId !== undefined && signingKeyId !== null) {
      throw new ConfigurationError("signingKeyId", `${name}: not allowed, because keys rotate`);
    }
  }
}

const CHANGES = ["/admin/oauth2/resources", "/admin/oauth2/resources/:identifier"];

/** Refuses such a resource when it is added or changed at run time. */
export function changedResourceHook(): CallHook {
  return {
    matcher: ({ path = "", context }) => CHANGES.includes(path) && signingProviderOptions(context) !== undefined,
    handler: async ({ params, body }) => {
      requireSignableResources({ resources: [{ ...Object(params), ...Object(body) }] });
      return undefined;
    },
  };
}

const REQUESTS = ["/oauth2/authorize", "/oauth2/token"];

/**
 * Refuses requests for tokens of such a resource, before the host uses up a code or a refresh token. The resource may be in the
 * database from before the plug. `failed` gets the ConfigurationError.
 */
export function requestedResourceHook(failed: (error: unknown) => never): CallHook {
  return {
    matcher: ({ path = "", context }) => REQUESTS.includes(path) && signingProviderOptions(context) !== undefined,
    handler: async (call) => {
      const resources = await requestedResources(call);
      try {
        requireSignableResources({ resources });
      } catch (error) {
        failed(error);
      }
      return undefined;
    },
  };
}

/** No token needs more. A stranger may name thousands, and each is a query of the database. */
const MOST_RESOURCES = 20;

/** The rows of the resources that a request names (RFC 8707 section 2). */
function requestedResources({ query, body, context }: Call): Promise<readonly unknown[]> {
  const { resource = [] }: { readonly resource?: unknown } = { ...Object(query), ...Object(body) };
  const identifiers = [resource].flat().filter((each) => typeof each === "string");
  const model = modelOfResources(signingProviderOptions(context) ?? {});
  return Promise.all(
    [...new Set(identifiers)]
      .slice(0, MOST_RESOURCES)
      .map((value) => context.adapter.findOne({ model, where: [{ field: "identifier", value }] })),
  );
}

/** An app may give each table of the provider another name. */
function modelOfResources({ schema }: Readonly<Record<string, unknown>>): string {
  const { oauthResource }: { readonly oauthResource?: unknown } = Object(schema);
  const { modelName = "oauthResource" }: { readonly modelName?: string } = Object(oauthResource);
  return modelName;
}
