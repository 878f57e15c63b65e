import {
  azureKeyName,
  azureRefusal,
  isManagedHsm,
  openAzureCalls,
  type AzureCalls,
} from "../backends/azure-key-vault.ts";
import type { RestAnswer } from "../backends/rest.ts";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** A version in Azure Key Vault or a Managed HSM: its attributes, the rotation policy, and what else these credentials may do. */
export const AZURE_KEY_VAULT: BackendChecks = {
  clockUrl: (_subject, key) => `https://${azureKeyName(key.uri)?.host}/`,
  examine: async ({ uri, options, context }, opened) => {
    const name = azureKeyName(opened.uri);
    const calls = name === undefined ? undefined : await openAzureCalls(name.host, options, context);
    if (name === undefined || calls === undefined) {
      return [note("key", "not examined: this needs a credential, or @azure/identity")];
    }
    try {
      const { host, key, version } = name;
      const described = await calls.send("GET", `/keys/${key}/${version}`);
      const policy = await calls.send("GET", `/keys/${key}/rotationpolicy`);
      return [
        ...(isFine(described)
          ? versionFindings(described.json, isManagedHsm(host), Date.now())
          : [note("key", `not examined: the vault says ${azureRefusal(described)}`)]),
        rotationFinding(policy),
        ...(azureKeyName(uri)?.version === undefined ? [unpinned()] : []),
        ...(await permissionFindings(calls)),
      ];
    } finally {
      calls.close();
    }
  },
};

function isFine({ status, json }: RestAnswer): boolean {
  return status === 200 && typeof json === "object" && json !== null;
}

function unpinned(): Finding {
  return warning(
    "rotation",
    "the URI names no version, so a restart after a rotation signs with another key",
    "Name the version in the URI, so that only a change of the configuration changes the key",
  );
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members => Object(value) as Members;

/** What signing needs. `verify` can be done with the public key as well. */
const HARMLESS = new Set(["sign", "verify"]);

const NEW_KEY = "Create a new key: signpost keygen makes it sign-only and not exportable";

/** Findings from what the service says of a version. */
export function versionFindings(bundle: unknown, isHsmPool: boolean, now: number): readonly Finding[] {
  const { key, attributes, release_policy: release, managed } = membersOf(bundle);
  const { kty, key_ops: ops } = membersOf(key);
  const { exportable, exp, recoveryLevel, recoverableDays } = membersOf(attributes);
  const more = Array.isArray(ops) ? ops.map(String).filter((name) => !HARMLESS.has(name)) : [];
  return [
    exportFinding(exportable === true, release !== undefined && release !== null),
    ...(managed === true
      ? [
          warning(
            "key",
            "belongs to a certificate: its renewal makes a new version, and its private half may be readable as a secret",
            NEW_KEY,
          ),
        ]
      : []),
    more.length === 0
      ? ok("key", "signs only")
      : warning(
          "key",
          `may be used for more than signatures: ${more.join(", ")}`,
          "az keyvault key set-attributes --ops sign verify",
        ),
    placeFinding(kty === "EC-HSM" || isHsmPool, isHsmPool),
    ...(typeof exp === "number" && exp * 1000 <= LATEST ? [expiryFinding(exp * 1000, now)] : []),
    deletionFinding(recoveryLevel, recoverableDays, isHsmPool),
  ];
}

function exportFinding(isExportable: boolean, hasPolicy: boolean): Finding {
  if (isExportable) {
    const how = hasPolicy
      ? "its release policy lets its private half leave the vault"
      : "its private half can leave the vault by a release policy";
    return problem("key", `exportable: ${how}`, NEW_KEY);
  }
  if (hasPolicy) return warning("key", "has a release policy, and is not exportable now", NEW_KEY);
  return ok("key", "not exportable, no release policy");
}

function placeFinding(isInHsm: boolean, isHsmPool: boolean): Finding {
  if (isInHsm) return ok("key", isHsmPool ? "in a Managed HSM" : "in an HSM of the vault");
  return note("key", "a software key of the vault, without an HSM");
}

const DAY_MS = 86_400_000;
/** Time for a rotation with its announcement. */
const SOON_DAYS = 30;

/** What a Date can hold: the year 275760. */
const LATEST = 8.64e15;

function expiryFinding(expires: number, now: number): Finding {
  const text = `the vault refuses to sign with it from ${new Date(expires).toISOString()} (exp)`;
  if (expires - now > SOON_DAYS * DAY_MS) return note("key", text);
  return warning("key", text, "Rotate to another key before then, or move exp");
}

function deletionFinding(level: unknown, days: unknown, isHsmPool: boolean): Finding {
  if (typeof level !== "string") return note("key", "the vault does not say whether a deleted key can be recovered");
  if (!level.includes("Recoverable")) {
    return problem("key", "no soft delete: one call deletes the key for good", "Move to a vault with soft delete");
  }
  if (level.includes("Purgeable")) {
    return warning(
      "key",
      "no purge protection: two calls delete the key for good",
      `az keyvault ${isHsmPool ? "update-hsm" : "update"} --enable-purge-protection`,
    );
  }
  return ok(
    "key",
    `a deleted key can be recovered${typeof days === "number" ? ` for ${days} days` : ""}, and not purged`,
  );
}

/** Whether the vault makes new versions by itself. */
export function rotationFinding(answer: RestAnswer): Finding {
  if (!isFine(answer)) {
    return note("rotation", `the rotation policy was not examined: the vault says ${azureRefusal(answer)}`);
  }
  const { lifetimeActions } = membersOf(answer.json);
  const rotations = (Array.isArray(lifetimeActions) ? lifetimeActions : []).map(membersOf).filter(({ action }) => {
    const { type } = membersOf(action);
    return typeof type === "string" && type.toLowerCase() === "rotate";
  });
  const [first] = rotations;
  if (first === undefined) return ok("rotation", "no policy makes new versions");
  const { timeAfterCreate, timeBeforeExpiry } = membersOf(first["trigger"]);
  const when =
    typeof timeAfterCreate === "string"
      ? `${timeAfterCreate} after each version`
      : `${String(timeBeforeExpiry)} before it expires`;
  return warning(
    "rotation",
    `a rotation policy makes a new version ${when}`,
    "Pin the version, or follow versions with azureKeyVaultKeys: a new version must be published before it signs",
  );
}

const SIGNER_ROLE = "Give them a custom role with keys/read and keys/sign/action on this key only";

/** Only what can be seen by reading: the service has no call that tells what a caller may change. */
async function permissionFindings(calls: AzureCalls): Promise<readonly Finding[]> {
  const lists = ["keys", "secrets", "certificates"] as const;
  const answers = await Promise.all(lists.map((list) => calls.send("GET", `/${list}?maxresults=1`)));
  const allowed = lists.filter((_, index) => answers[index]?.status === 200);
  const others = allowed.filter((list) => list !== "keys");
  const roles = directoryRoles(await calls.tokenClaims());
  return [
    ...(others.length === 0
      ? []
      : [
          warning(
            "permissions",
            `these credentials may also list the ${others.join(" and ")} of the vault`,
            SIGNER_ROLE,
          ),
        ]),
    ...(allowed.includes("keys")
      ? [note("permissions", "these credentials may read all keys of the vault: assign their role for this key alone")]
      : []),
    ...roles,
    note("permissions", "what these credentials may change cannot be asked here: see their role assignments in Azure"),
  ];
}

/** In the token of anything without a role in the directory. */
const NO_ROLE = "b79fbf4d-3ef9-4689-8143-76b194e85509";

/** Roles in the directory, from the claims of the token (Entra ID). They are far more than signing needs. */
export function directoryRoles(claims: Members): readonly Finding[] {
  const { wids, scp } = claims;
  const roles = (Array.isArray(wids) ? wids : []).filter((role) => role !== NO_ROLE);
  return [
    ...(roles.length === 0
      ? []
      : [
          warning(
            "permissions",
            `these credentials have ${roles.length === 1 ? "a role" : `${roles.length} roles`} in the directory (Entra ID)`,
            "Sign with a managed identity that has no role in the directory",
          ),
        ]),
    ...(typeof scp === "string"
      ? [note("permissions", "these are credentials of a person, and not those of the OP")]
      : []),
  ];
}
