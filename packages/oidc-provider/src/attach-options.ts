import { assertOptions, type OptionNames, readCallback, readFlag } from "@signpost/core/adapter";
import type { MountJwksOptions } from "./mount-jwks.ts";
import type { ResourceServerInfoFunction } from "./resource-servers.ts";

/** Options of `attach`. */
export interface AttachOptions extends Pick<MountJwksOptions, "cors"> {
  /**
   * `false` in a process that serves no requests: a worker, or one that only sends logout tokens. It signs at once, and
   * what it signs is published by others; for a request that it answers all the same, nothing is signed unless the plug has
   * seen it. Default true: nothing is signed before the plug has seen a request, since an endpoint that is not mounted
   * publishes no key.
   */
  readonly servesRequests?: boolean | undefined;
  /**
   * The host's `features.resourceIndicators.getResourceServerInfo`. With it, a code or refresh token for a resource server
   * whose tokens cannot be signed is refused before it is spent. Without it that holds for new authorizations alone, and
   * one that was granted before the resource server changed is lost. Default none.
   */
  readonly getResourceServerInfo?: ResourceServerInfoFunction | undefined;
}

interface ReadAttachOptions {
  readonly cors: boolean;
  readonly servesRequests: boolean;
  readonly getResourceServerInfo: ResourceServerInfoFunction | undefined;
}

export function readAttachOptions(options: AttachOptions = {}): ReadAttachOptions {
  assertOptions("options", options, ATTACH_OPTIONS);
  return {
    cors: readFlag("cors", options.cors, true),
    servesRequests: readFlag("servesRequests", options.servesRequests, true),
    getResourceServerInfo: readCallback("getResourceServerInfo", options.getResourceServerInfo),
  };
}

const ATTACH_OPTIONS: OptionNames<AttachOptions> = { cors: true, servesRequests: true, getResourceServerInfo: true };
