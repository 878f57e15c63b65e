import { Controller, Get, type Type } from "@nestjs/common";
import type { JwksMetadata } from "@signpost/core";

/** The discovery document, below the issuer's own path (OpenID Connect Discovery 1.0 section 4). */
export function discoveryController(issuer: string, metadata: Readonly<JwksMetadata>): Type {
  @Controller(new URL(issuer).pathname)
  class DiscoveryController {
    @Get(".well-known/openid-configuration")
    read(): object {
      return { issuer, ...metadata };
    }
  }
  return DiscoveryController;
}
