import type * as sdk from "@aws-sdk/client-kms";
import { ConfigurationError } from "@signpost/core";

/** The peer dependency, loaded when a client is needed: a transport of one's own does without it. */
export async function loadSdk(): Promise<typeof sdk> {
  try {
    return await import("@aws-sdk/client-kms");
  } catch (cause) {
    throw new ConfigurationError("client", "expected the peer dependency @aws-sdk/client-kms to be installed", {
      cause,
    });
  }
}
