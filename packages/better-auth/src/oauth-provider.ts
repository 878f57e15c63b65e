import { ConfigurationError } from "@signpost/core";

/**
 * Refuses resources that ask for another algorithm, or for one key. Their tokens could not be signed after the code was used
 * up. Resources that are added at run time are seen only when they ask.
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
