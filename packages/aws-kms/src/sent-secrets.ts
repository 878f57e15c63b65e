import { memberOf, withinDeadline } from "@signpost/core/adapter";
import type { AwsKmsClientLike } from "./api.ts";

// The session token is the only secret that is sent. A proxy may repeat it in its answer, in any form.

/** Secrets by the error of the request that they were sent with. */
const sent = new WeakMap<object, readonly string[]>();

/** Remembers what must not be shown of an error. Returns it. */
export function withSentSecrets(error: unknown, sessionTokens: readonly unknown[]): unknown {
  const known = sessionTokens.filter((token) => typeof token === "string");
  if (typeof error === "object" && error !== null && known.length > 0) sent.set(error, known);
  return error;
}

/** What must not be shown of an error. */
export function sentSecretsOf(error: unknown): readonly string[] | undefined {
  return typeof error === "object" && error !== null ? sent.get(error) : undefined;
}

/** The client, which remembers with each error what was sent. */
export function rememberingClient(
  client: AwsKmsClientLike,
  sessionTokens: () => readonly unknown[] | Promise<readonly unknown[]> = () => sessionTokensOf(client),
): AwsKmsClientLike {
  const send: AwsKmsClientLike["send"] = async (command, options) => {
    try {
      return await client.send(command, options);
    } catch (error) {
      throw withSentSecrets(error, wasAnswered(error) ? await sessionTokens() : []);
    }
  };
  return new Proxy(client, {
    get: (target, name) => (name === "send" ? send : (Reflect.get(target, name) as unknown)),
  });
}

/** Without an answer, there may be no credentials yet, and nothing was repeated. */
function wasAnswered(error: unknown): boolean {
  return typeof memberOf(memberOf(error, "$metadata"), "httpStatusCode") === "number";
}

/** The SDK keeps the credentials of a client, and returns those it has. Milliseconds. */
const KEPT_MS = 100;

/** Of a client of the caller, if it is one of the SDK. */
async function sessionTokensOf(client: AwsKmsClientLike): Promise<readonly unknown[]> {
  const credentials = memberOf(memberOf(client, "config"), "credentials");
  if (typeof credentials !== "function") return [];
  const find = async (): Promise<unknown> => Reflect.apply(credentials, undefined, []) as unknown;
  return [memberOf(await withinDeadline(find, { deadlineMs: KEPT_MS }).catch(() => undefined), "sessionToken")];
}
