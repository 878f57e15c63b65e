import { assertOptions, type OptionNames, readCallback, readFlag } from "@signpost/core/adapter";
import type { MountJwksOptions } from "./mount-jwks.ts";
import type { ResourceServerInfoFunction } from "./resource-servers.ts";

/** Options of `attach`. */
export interface AttachOptions extends Pick<MountJwksOptions, "cors"> {
  /**
   * Set it to `false` in a process that serves no requests, such as a worker that only sends logout tokens. It then signs
   * immediately, and other processes publish its key. If it does answer a request, it signs for it only if the plug has
   * seen the request. Default true: the plug signs nothing until it has seen a request, since an endpoint that is not
   * mounted does not publish the key.
   */
  readonly servesRequests?: boolean | undefined;
  /**
   * The host's `features.resourceIndicators.getResourceServerInfo`. With it, a code or refresh token for a resource server
   * whose tokens cannot be signed is refused before it is used up. Without it, only new authorizations are refused. A code
   * or refresh token from before the resource server changed is then lost. Default none.
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
