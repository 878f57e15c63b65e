import type { JwksEndpoint } from "@signpost/core";
import { idTokenFault, publishedKeys, readSigningInput } from "@signpost/core/adapter";
import { type CallHook, signingProviderOptions } from "./host.ts";

const OAUTH_LOGOUT = "/oauth2/end-session";
const HINT = "id_token_hint";

/**
 * Makes the logout endpoint refuse an `id_token_hint` whose key is not published now, or that is another kind of token. The
 * host verifies the signature, with a key set that it fetches over HTTP and keeps for 5 minutes, and so would trust a revoked
 * key for as long. It needs no kid, and looks at no typ.
 */
export function hintHook(endpoint: Pick<JwksEndpoint, "respond">): CallHook {
  const refused = (given: unknown): object | undefined => {
    const { [HINT]: hint }: Readonly<Record<string, unknown>> = Object(given);
    return typeof hint === "string" && !isOwnIdToken(hint, endpoint) ? { [HINT]: unreadable(hint) } : undefined;
  };
  return {
    matcher: ({ path, context }) => path === OAUTH_LOGOUT && signingProviderOptions(context) !== undefined,
    handler: async (call) => {
      const [query, body] = [refused(call.query), refused(call.body)];
      if (query === undefined && body === undefined) return undefined;
      return { response: { context: { ...(query && { query }), ...(body && { body }) } } };
    },
  };
}

/** Whether it may be an ID token of this OP. Its signature is not verified. */
function isOwnIdToken(hint: string, endpoint: Pick<JwksEndpoint, "respond">): boolean {
  const token = readSigningInput(hint);
  const { kid } = token.header;
  if (typeof kid !== "string" || idTokenFault(token) !== undefined) return false;
  return publishedKeys(endpoint).some((key) => key["kid"] === kid && key["use"] !== "enc");
}

/**
 * A hint that the host refuses without a look into any key set. It still finds the client in the payload, and so answers as to
 * any hint that does not verify.
 */
function unreadable(hint: string): string {
  return `.${hint.split(".", 2)[1] ?? ""}.`;
}
