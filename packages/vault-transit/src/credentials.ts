import { untilAborted } from "@signpost/core/adapter";
import type { VaultTransitAuth } from "./auth.ts";
import { createGivenToken } from "./given-token.ts";
import { createLeasedToken } from "./leased-token.ts";
import { loginWithAppRole, loginWithFunction, loginWithKubernetes } from "./logins.ts";
import type { TokenCalls } from "./token-calls.ts";
import { createTokenFile } from "./token-file.ts";

/** The tokens of a connection. Each promise rejects with `SignerError`, and ends with the signal. */
export interface Credentials {
  /** The token for a call. Undefined if an agent adds it. */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** Another token after this one was refused. Undefined if there is none now. */
  another(refused: string | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** Why the token will end although calls still work with it. Undefined if it is renewed. */
  trouble(): string | undefined;
  /** Revokes the token if the adapter has logged in. Never rejects. */
  close(): Promise<void>;
}

/** How a call waits for a token that others may wait for too. It ends with the signal, or earlier. */
export type WaitForToken = <Value>(token: Promise<Value>, signal: AbortSignal) => Promise<Value>;

/** The tokens for the option `auth`. Makes no call yet. */
export function createCredentials(
  auth: VaultTransitAuth,
  calls: TokenCalls,
  wait: WaitForToken = untilAborted,
): Credentials {
  switch (auth.method) {
    case "token":
      return typeof auth.token === "string"
        ? createGivenToken(auth.token, calls)
        : createLeasedToken(loginWithFunction(auth.token), wait);
    case "token-file":
      return createTokenFile(auth.path, wait);
    case "approle":
      return createLeasedToken(loginWithAppRole(auth, calls), wait);
    case "kubernetes":
      return createLeasedToken(loginWithKubernetes(auth, calls), wait);
    case "none":
      return NO_CREDENTIALS;
  }
}

const NO_CREDENTIALS: Credentials = {
  token: async () => undefined,
  another: async () => undefined,
  trouble: () => undefined,
  close: async () => {},
};
