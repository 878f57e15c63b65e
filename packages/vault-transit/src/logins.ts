import { SignerError } from "@signpost/core";
import { readInstant, safeCause, withinDeadline } from "@signpost/core/adapter";
import { isSecret, type VaultTransitAppRoleAuth, type VaultTransitKubernetesAuth } from "./auth.ts";
import { readSecretFile } from "./secret-file.ts";
import { unusableSecret, type Lease, type TokenCalls } from "./token-calls.ts";
import { countedLogins } from "./wrong-logins.ts";

/** How to get a token that lives for a while. */
export interface TokenMaker {
  /** Gets a new token. Rejects with `SignerError`. */
  make(): Promise<Lease>;
  /** Makes the lease of a token longer. Undefined: that is not possible. */
  readonly renew: ((token: string) => Promise<Lease>) | undefined;
  /** Ends a token. Never rejects. */
  revoke(token: string): Promise<void>;
}

type Secret = string | (() => string | Promise<string>);

/** How long a function of the caller may take. Afterward it is called again. Milliseconds. */
const FUNCTION_MS = 10_000;

/** Where Kubernetes puts the token of a pod's service account. */
const SERVICE_ACCOUNT_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** Logs in with a role id, and a secret id unless the role needs none. */
export function loginWithAppRole(
  { roleId, secretId, secretIdFile, mount = "approle", namespace }: VaultTransitAppRoleAuth,
  calls: TokenCalls,
): TokenMaker {
  const secret = async (): Promise<string | undefined> => {
    if (secretIdFile !== undefined) return readSecretFile("auth.secretIdFile", secretIdFile);
    return secretId === undefined ? undefined : call("auth.secretId", secretId);
  };
  const path = `auth/${mount}/login`;
  const counted = countedLogins(calls.describeLogin(path, namespace), roleId);
  return madeBy(calls, namespace, async () => {
    const id = await secret();
    if (id === undefined) return calls.logIn({ path, body: { role_id: roleId }, secrets: [], namespace });
    const body = { role_id: roleId, secret_id: id };
    return counted(id, () => calls.logIn({ path, body, secrets: [id], namespace }));
  });
}

/** Logs in with the token of a service account, which Kubernetes replaces in its file. */
export function loginWithKubernetes(
  { role, jwtFile = SERVICE_ACCOUNT_TOKEN, mount = "kubernetes", namespace }: VaultTransitKubernetesAuth,
  calls: TokenCalls,
): TokenMaker {
  return madeBy(calls, namespace, async () => {
    const jwt = await readSecretFile("auth.jwtFile", jwtFile);
    return calls.logIn({ path: `auth/${mount}/login`, body: { role, jwt }, secrets: [jwt], namespace });
  });
}

/** Asks the caller's function. The caller decides how long a token lives, and ends it. */
export function loginWithFunction(source: () => string | Promise<string>): TokenMaker {
  const make = async (): Promise<Lease> => {
    const since = readInstant();
    return { token: await call("auth.token", source), leaseMs: Number.POSITIVE_INFINITY, since, renewable: false };
  };
  return { make, renew: undefined, revoke: async () => {} };
}

function madeBy(calls: TokenCalls, namespace: string | undefined, make: () => Promise<Lease>): TokenMaker {
  return {
    make,
    renew: (token) => calls.renew(token, namespace),
    revoke: (token) => calls.revoke(token, namespace),
  };
}

/** The secret, or what the caller's function returns. The function's error may contain a secret, so it is not shown. */
async function call(argument: string, secret: Secret): Promise<string> {
  const found: unknown = typeof secret === "string" ? secret : await asked(argument, secret);
  if (typeof found === "string" && isSecret(found)) return found;
  throw unusableSecret(`what ${argument} returned`);
}

async function asked(argument: string, source: () => string | Promise<string>): Promise<string> {
  try {
    return await withinDeadline(async () => source(), {
      deadlineMs: FUNCTION_MS,
      message: `${argument}: no answer within ${FUNCTION_MS} ms`,
    });
  } catch (error) {
    if (error instanceof SignerError) throw error;
    const cause = safeCause(error, { members: ["code"], hides: () => true });
    throw new SignerError("unavailable", `${argument} failed`, { cause });
  }
}
