import { ConfigurationError } from "@signpost/core";
import { readSigningInput } from "@signpost/core/adapter";
import { unknownKid } from "./failure.ts";

/** The parts of a token that the plug checks before it signs. */
export interface TokenToSign {
  /** The kid in the header that the host wrote. */
  readonly kid: string;
  /** Empty if the payload is not JSON. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Reads a JWS signing input. A function of the OP may have changed the header, so its algorithm may differ from the key's. */
export function readTokenToSign(signingInput: Uint8Array): TokenToSign {
  const { header, claims } = readSigningInput(signingInput);
  const { alg, kid } = header;
  if (typeof kid !== "string") throw unknownKid();
  if (alg !== "ES256") {
    throw new ConfigurationError("alg", 'expected "ES256" in the header; formats.customizers.jwt must not change it');
  }
  return { kid, claims };
}
