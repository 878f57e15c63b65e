import { openGcpClient, type GcpKey, type GcpKmsLike, type GcpPolicy, type GcpVersion } from "../backends/gcp-kms.ts";
import type { BackendChecks } from "./backend.ts";
import { note, ok, problem, warning, type Finding } from "./finding.ts";

/** A version in Google Cloud KMS: its attributes, and what else these credentials may do. */
export const GCP_KMS: BackendChecks = {
  clockUrl: ({ options }) => (options["endpoint"] === undefined ? "https://cloudkms.googleapis.com/" : undefined),
  examine: async ({ options, context }, key) => {
    const client = await openGcpClient(options, context);
    if (client === undefined) return [note("key", "not examined: this needs @google-cloud/kms")];
    try {
      return await examineVersion(client, key.uri.slice("gcpkms://".length));
    } finally {
      // What it could not open, its calls have said.
      await client.close().catch(() => undefined);
    }
  },
};

/** What signing does not need, and what it allows. */
const EXCESS: Readonly<Record<string, string>> = {
  "cloudkms.cryptoKeyVersions.destroy": "destroy the version",
  "cloudkms.cryptoKeyVersions.update": "disable the version",
  "cloudkms.cryptoKeyVersions.create": "make new versions",
  "cloudkms.cryptoKeys.update": "change the key",
  "cloudkms.cryptoKeys.setIamPolicy": "give permissions to others",
};

/** A call of a key has this long. */
const CALL = { timeout: 5000 };
const DAY_SECONDS = 86_400;

export async function examineVersion(client: GcpKmsLike, name: string): Promise<readonly Finding[]> {
  const key = name.replace(/\/cryptoKeyVersions\/[^/]*$/, "");
  const [version, parent, granted, policy] = await Promise.all([
    client.getCryptoKeyVersion({ name }, CALL).then(([found]) => found, refused),
    client.getCryptoKey({ name: key }, CALL).then(([found]) => found, refused),
    client
      .testIamPermissions({ resource: key, permissions: Object.keys(EXCESS) }, CALL)
      .then(([{ permissions }]) => permissions ?? [], refused),
    client.getIamPolicy({ resource: key }, CALL).then(([found]) => found, refused),
  ]);
  return [
    ...(version === undefined
      ? [note("key", "not examined: these credentials may not read the version")]
      : [versionFinding(version)]),
    ...(parent === undefined ? [] : destroyFindings(parent)),
    ok("rotation", "the URI names one version, and Google makes no new versions of a key that signs"),
    granted === undefined
      ? note("permissions", "not examined: testIamPermissions was refused")
      : permissionFinding(granted),
    ...(policy === undefined ? [] : openPolicyFindings(policy)),
  ];
}

function refused(): undefined {
  return undefined;
}

function versionFinding({ protectionLevel, importTime }: GcpVersion): Finding {
  if (importTime !== undefined && importTime !== null) {
    return warning(
      "key",
      "its material was imported, so a copy exists elsewhere",
      "Create a version that Google makes",
    );
  }
  const level = String(protectionLevel);
  // The client gives the name of the level, or its number.
  const isHsm = level === "HSM" || level === "2" || level.startsWith("EXTERNAL");
  return isHsm
    ? ok("key", `protection level ${level === "2" ? "HSM" : level}`)
    : note("key", "protection level SOFTWARE, without an HSM");
}

function destroyFindings({ destroyScheduledDuration }: GcpKey): readonly Finding[] {
  const seconds = Number(destroyScheduledDuration?.seconds ?? DAY_SECONDS * 30);
  if (seconds >= 7 * DAY_SECONDS) return [];
  const text = `a destroyed version is gone after ${(seconds / DAY_SECONDS).toFixed(0)} days`;
  return [warning("key", text, "Create keys with a destroy-scheduled duration of at least 7 days")];
}

const EVERYONE = new Set(["allUsers", "allAuthenticatedUsers"]);

function openPolicyFindings({ bindings }: GcpPolicy): readonly Finding[] {
  const members = (bindings ?? []).flatMap((binding) => binding.members ?? []);
  if (!members.some((member) => EVERYONE.has(member))) return [];
  const todo = "Remove allUsers and allAuthenticatedUsers from the policy of the key";
  return [problem("permissions", "the policy of the key gives a role to everyone", todo)];
}

function permissionFinding(granted: readonly string[]): Finding {
  const words = granted.flatMap((permission) => EXCESS[permission] ?? []);
  if (words.length === 0) return ok("permissions", "these credentials may do nothing more than signing needs");
  return warning(
    "permissions",
    `these credentials may also ${words.join(", ")}`,
    "Give them roles/cloudkms.signerVerifier on this key only",
  );
}
