import { ConfigurationError } from "@signpost/core";
import { assertOptions, given, readText, type OptionNames } from "@signpost/core/adapter";
import { readEnvironment } from "./environment.ts";
import { parseMount, parseNamespace } from "./key-name.ts";

/** A token that you provide. */
export interface VaultTransitTokenAuth {
  /** How the adapter gets a token. */
  readonly method: "token";
  /**
   * A token, which is renewed while it is renewable. Or a function that returns one within 10 seconds. It is called for the
   * first call, and again after a token was rejected, at most once in 5 seconds.
   */
  readonly token: string | (() => string | Promise<string>);
}

/** A file with a token, which an agent or a projected volume keeps up to date. */
export interface VaultTransitTokenFileAuth {
  /** How the adapter gets a token. */
  readonly method: "token-file";
  /** Path of the file. It is read again after a second, and when a token was rejected. */
  readonly path: string;
}

/** The AppRole method. */
export interface VaultTransitAppRoleAuth {
  /** How the adapter gets a token. */
  readonly method: "approle";
  /** Role id. */
  readonly roleId: string;
  /** Secret ID, or a function that returns one for each login, within 10 seconds. Default: `secretIdFile`. */
  readonly secretId?: string | (() => string | Promise<string>) | undefined;
  /** Path of a file with the secret id, read for each login. Default: none, for a role that needs no secret id. */
  readonly secretIdFile?: string | undefined;
  /** Where the method is mounted, without `auth/`. Default `approle`. */
  readonly mount?: string | undefined;
  /** Namespace of the method. Default: the namespace of the key. */
  readonly namespace?: string | undefined;
}

/** The Kubernetes method. The method `jwt` takes the same login. */
export interface VaultTransitKubernetesAuth {
  /** How the adapter gets a token. */
  readonly method: "kubernetes";
  /** Name of the role. */
  readonly role: string;
  /**
   * Path of the service account's projected token, read for each login.
   * Default `/var/run/secrets/kubernetes.io/serviceaccount/token`.
   */
  readonly jwtFile?: string | undefined;
  /** Where the method is mounted, without `auth/`. Default `kubernetes`. */
  readonly mount?: string | undefined;
  /** Namespace of the method. Default: the namespace of the key. */
  readonly namespace?: string | undefined;
}

/** No token: an agent or a proxy adds it. */
export interface VaultTransitNoAuth {
  /** How the adapter gets a token. */
  readonly method: "none";
}

/** How to get a token. */
export type VaultTransitAuth =
  | VaultTransitTokenAuth
  | VaultTransitTokenFileAuth
  | VaultTransitAppRoleAuth
  | VaultTransitKubernetesAuth
  | VaultTransitNoAuth;

const MEMBERS: {
  readonly [Method in VaultTransitAuth["method"]]: OptionNames<Extract<VaultTransitAuth, { method: Method }>>;
} = {
  token: { method: true, token: true },
  "token-file": { method: true, path: true },
  approle: { method: true, roleId: true, secretId: true, secretIdFile: true, mount: true, namespace: true },
  kubernetes: { method: true, role: true, jwtFile: true, mount: true, namespace: true },
  none: { method: true },
};

const METHODS = Object.keys(MEMBERS);

/**
 * Checks the option `auth`, and returns a copy. No message contains a value, because each may be a secret.
 *
 * @throws ConfigurationError that names the member.
 */
export function readAuth(auth: VaultTransitAuth): VaultTransitAuth {
  if (typeof auth !== "object" || auth === null || !METHODS.includes(auth.method)) {
    throw new ConfigurationError(
      "auth",
      `expected an object with the method ${METHODS.join(", ")}, got ${given(auth)}`,
    );
  }
  assertOptions<object>("auth", auth, MEMBERS[auth.method]);
  switch (auth.method) {
    case "token":
      return { method: "token", token: readSecret("auth.token", auth.token) };
    case "token-file":
      return { method: "token-file", path: readText("auth.path", auth.path) };
    case "approle":
      return { ...readAppRole(auth), ...readPlace(auth) };
    case "kubernetes":
      return {
        method: "kubernetes",
        role: readText("auth.role", auth.role),
        jwtFile: readOptional("auth.jwtFile", auth.jwtFile),
        ...readPlace(auth),
      };
    case "none":
      return { method: "none" };
  }
}

/** The token of the environment, for connections without the option `auth`. */
export function authFromEnvironment(): VaultTransitAuth | undefined {
  const variable = readEnvironment("TOKEN");
  return variable === undefined ? undefined : { method: "token", token: readSecret(variable.name, variable.value) };
}

function readAppRole({ roleId, secretId, secretIdFile }: VaultTransitAppRoleAuth): VaultTransitAppRoleAuth {
  if (secretId !== undefined && secretIdFile !== undefined) {
    throw new ConfigurationError("auth.secretIdFile", "expected secretId or secretIdFile, not both");
  }
  return {
    method: "approle",
    roleId: readText("auth.roleId", roleId),
    secretId: secretId === undefined ? undefined : readSecret("auth.secretId", secretId),
    secretIdFile: readOptional("auth.secretIdFile", secretIdFile),
  };
}

type Place = Pick<VaultTransitAppRoleAuth, "mount" | "namespace">;

function readPlace({ mount, namespace }: Place): Place {
  return {
    mount: mount === undefined ? undefined : parseMount("auth.mount", mount),
    namespace: namespace === undefined ? undefined : parseNamespace("auth.namespace", namespace),
  };
}

function readOptional(argument: string, text: unknown): string | undefined {
  return text === undefined ? undefined : readText(argument, text);
}

function readSecret<Secret>(argument: string, secret: Secret): Secret {
  if (typeof secret === "function" || (typeof secret === "string" && isSecret(secret))) return secret;
  const got = typeof secret === "number" ? "a number" : given(secret);
  throw new ConfigurationError(argument, `expected visible ASCII characters without spaces, or a function, got ${got}`);
}

const SECRET = /^[\x21-\x7e]{1,16384}$/;

/** Whether a text can be a token, a secret id or a JWT. It must fit into a header. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}
