import type { Openbao } from "@signpost/test-backends/openbao";

/** The policy of the guide: it lets an OP sign and read one key, and nothing else. */
export function opPolicy(mount = "transit", key = "op"): string {
  return [
    `path "${mount}/sign/${key}/sha2-256" { capabilities = ["update"] }`,
    `path "${mount}/keys/${key}" { capabilities = ["read"] }`,
  ].join("\n");
}

export async function createKey(server: Openbao, path: string, options: object = {}): Promise<void> {
  await server.must("POST", path, { type: "ecdsa-p256", ...options });
}

export async function writePolicy(server: Openbao, name: string, policy: string): Promise<void> {
  await server.must("PUT", `sys/policies/acl/${name}`, { policy });
}

/** An AppRole, with the ids for a login. */
export interface AppRole {
  readonly method: "approle";
  readonly roleId: string;
  readonly secretId: string;
}

/** Makes a role with the policy of the same name. The method must be mounted. */
export async function createAppRole(server: Openbao, name: string, settings: object): Promise<AppRole> {
  await server.must("POST", `auth/approle/role/${name}`, { token_policies: name, ...settings });
  const { role_id: roleId } = await server.must("GET", `auth/approle/role/${name}/role-id`);
  const { secret_id: secretId } = await server.must("POST", `auth/approle/role/${name}/secret-id`);
  return { method: "approle", roleId: String(roleId), secretId: String(secretId) };
}

/** A token of this policy, with the settings of `auth/token/create`. */
export async function createToken(server: Openbao, policy: string, settings: object = {}): Promise<string> {
  const { client_token: token } = await server.must("POST", "auth/token/create", { policies: [policy], ...settings });
  return String(token);
}

/** How many tokens of AppRole logins are alive. */
export async function countLogins(server: Openbao): Promise<number> {
  const { status, body } = await server.call("LIST", "sys/leases/lookup/auth/approle/login");
  if (status === 404) return 0;
  return (body as { data: { keys: readonly string[] } }).data.keys.length;
}
