import { dataOf, openVaultCalls, vaultAddress, vaultKeyName, type VaultCalls } from "../backends/vault-transit.ts";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** A key in the Transit engine: its attributes, what else the token may do, and the engine's own rotation. */
export const VAULT: BackendChecks = {
  clockUrl: ({ options, context }) => vaultAddress(options, context.env),
  examine: async ({ uri, options, context }, opened) => {
    const name = vaultKeyName(opened.uri);
    const calls = name === undefined ? undefined : await openVaultCalls(options, context);
    if (name === undefined || calls === undefined) {
      return [note("key", "not examined: this needs a token in VAULT_TOKEN, in the options, or in a file")];
    }
    try {
      const data = dataOf(await calls.send("GET", `${name.mount}/keys/${name.key}`));
      return [
        ...(data === undefined
          ? [note("key", "not examined: the token may not read the key")]
          : keyFindings(data, name.version)),
        ...(vaultKeyName(uri)?.version === undefined ? [unpinned()] : []),
        await permissionsFinding(calls, name.mount, name.key),
      ];
    } finally {
      calls.close();
    }
  },
};

function unpinned(): Finding {
  return warning(
    "rotation",
    "the URI names no version, so a restart after a rotation signs with another key",
    "Add ?version= to the URI, so that only a change of the configuration changes the key",
  );
}

/** Findings from what the engine says of a key. */
export function keyFindings(data: Readonly<Record<string, unknown>>, version: string | undefined): readonly Finding[] {
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
  const newer = Number(data["latest_version"]) - Number(version);
  if (newer > 0)
    findings.push(note("rotation", `the engine has ${newer} newer ${newer === 1 ? "version" : "versions"}`));
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

const CHANGES = ["root", "sudo", "create", "update", "delete", "patch"];

async function permissionsFinding(calls: VaultCalls, mount: string, name: string): Promise<Finding> {
  const paths = excess(mount, name);
  const data = dataOf(await calls.send("POST", "sys/capabilities-self", { paths: Object.keys(paths) }));
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
