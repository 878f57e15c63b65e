import { readFile } from "node:fs/promises";
import type { AdapterOptions } from "../keys/adapters.ts";
import type { BackendChecks, Subject } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** What this check knows of the server and of the token. */
interface Vault {
  readonly address: string;
  /** Resolves to the `data` of an answer, or undefined if it was refused. */
  read(path: string, body?: object): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** A key in the Transit engine: its attributes, what else the token may do, and the engine's own rotation. */
export const VAULT: BackendChecks = {
  clockUrl: ({ options, context }) => addressOf(options, context.env),
  examine: async (subject, key) => {
    const vault = await connect(subject);
    if (vault === undefined) {
      return [note("key", "not examined: this needs a token in VAULT_TOKEN, in the options, or in a file")];
    }
    const [, mount = "", name = ""] = /^vault:\/\/\/(.+)\/keys\/([^/?#]*)/.exec(key.uri) ?? [];
    const data = await vault.read(`${mount}/keys/${name}`);
    return [
      ...(data === undefined
        ? [note("key", "not examined: the token may not read the key")]
        : keyFindings(data, key.uri)),
      await permissionsFinding(vault, mount, name),
    ];
  },
};

/** Findings from what the engine says of a key. */
export function keyFindings(data: Readonly<Record<string, unknown>>, uri: string): readonly Finding[] {
  const findings: Finding[] = [];
  const rotate = Number(data["auto_rotate_period"] ?? 0);
  if (data["exportable"] === true) {
    findings.push(
      problem(
        "key",
        "the key is exportable: its private half can leave the server",
        "Create a new key without exportable",
      ),
    );
  } else findings.push(ok("key", "not exportable"));
  if (data["allow_plaintext_backup"] === true) {
    findings.push(
      problem(
        "key",
        "plaintext backups are allowed, and contain the private key",
        "Create a new key: this cannot be turned off",
      ),
    );
  }
  if (data["deletion_allowed"] === true) {
    findings.push(
      warning("key", "the key may be deleted", "Set deletion_allowed=false in the configuration of the key"),
    );
  }
  findings.push(
    rotate > 0
      ? warning(
          "rotation",
          `the engine makes a new version every ${(rotate / 3600).toFixed(0)} h`,
          "Set auto_rotate_period=0, or follow versions with vaultTransitKeys: a new version must be published before it signs",
        )
      : ok("rotation", "the engine makes no new versions by itself"),
  );
  if (!uri.includes("?version=")) findings.push(note("rotation", "the URI names no version"));
  return findings;
}

/** What signing does not need. */
function excess(mount: string, name: string): Readonly<Record<string, string>> {
  return {
    [`${mount}/keys/${name}`]: "change or delete the key",
    [`${mount}/keys/${name}/config`]: "change its configuration",
    [`${mount}/keys/${name}/rotate`]: "make new versions",
    [`${mount}/export/signing-key/${name}`]: "export it",
    [`${mount}/backup/${name}`]: "make a backup of it",
    "sys/policies/acl/signpost-doctor": "change policies",
  };
}

const CALL_MS = 5000;
const CHANGES = ["root", "sudo", "create", "update", "delete", "patch"];

async function permissionsFinding(vault: Vault, mount: string, name: string): Promise<Finding> {
  const paths = excess(mount, name);
  const data = await vault.read("sys/capabilities-self", { paths: Object.keys(paths) });
  if (data === undefined) return note("permissions", "not examined: the token may not ask for its capabilities");
  const granted = Object.entries(paths).filter(([path]) => {
    const capabilities: unknown = data[path];
    if (!Array.isArray(capabilities)) return false;
    // To read an export is to export. To read the key is what opening needs.
    const bad =
      path.startsWith(`${mount}/export/`) || path.startsWith(`${mount}/backup/`) ? [...CHANGES, "read"] : CHANGES;
    return capabilities.some((capability) => bad.includes(String(capability)));
  });
  if (granted.length === 0) return ok("permissions", "the token may do nothing more than signing needs");
  const list = granted.map(([, words]) => words).join(", ");
  return warning(
    "permissions",
    `the token may also ${list}`,
    `Give it a policy with read on ${mount}/keys/${name} and update on ${mount}/sign/${name}/sha2-256 only`,
  );
}

function addressOf({ address }: AdapterOptions, env: NodeJS.ProcessEnv): string | undefined {
  const given = typeof address === "string" ? address : (env["BAO_ADDR"] ?? env["VAULT_ADDR"]);
  return given !== undefined && URL.canParse(given) ? given : undefined;
}

async function connect({ options, context }: Subject): Promise<Vault | undefined> {
  const { env, signal } = context;
  const address = addressOf(options, env);
  const token = await tokenOf(options, env);
  if (address === undefined || token === undefined) return undefined;
  const namespace =
    typeof options["namespace"] === "string" ? options["namespace"] : (env["BAO_NAMESPACE"] ?? env["VAULT_NAMESPACE"]);
  const headers = { "X-Vault-Token": token, ...(namespace === undefined ? {} : { "X-Vault-Namespace": namespace }) };
  return {
    address,
    read: async (path, body) => {
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      const url = new URL(`/v1/${path}`, address);
      const response = await fetch(url, { headers, redirect: "error", signal: bounded, ...init });
      const answer: unknown = response.ok ? await response.json() : await response.body?.cancel();
      const data: unknown = Reflect.get(Object(answer), "data");
      return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : undefined;
    },
  };
}

/** The token of the options or of the environment. Undefined for a login, which this check does not repeat. */
async function tokenOf({ auth }: AdapterOptions, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  if (auth === undefined) return env["BAO_TOKEN"] ?? env["VAULT_TOKEN"];
  const { token, path } = Object(auth) as { readonly token?: unknown; readonly path?: unknown };
  if (typeof token === "function") return String(await token());
  return typeof path === "string" ? (await readFile(path, "utf8")).trim() : undefined;
}
