import { dataOf, openVaultCalls, vaultKeyName, type VaultCalls, type VaultKeyName } from "../backends/vault-transit.ts";
import type { RestAnswer } from "../backends/rest.ts";
import type { CliError } from "../program/cli-error.ts";
import { exists, failed, LOOK_FIRST, NO_CLOUD_KEY, opensKey, refuse, type MakeKey } from "./maker.ts";

const EXAMPLE = "vault:///transit/keys/op";
const TYPE = "ecdsa-p256";

/** A key in the Transit engine that cannot be exported or backed up as plain text, or another version of such a key. */
export const makeVaultKey: MakeKey = async ({ uri, options, context, newVersion, open, leaves }) => {
  const name = vaultKeyName(uri);
  if (name === undefined || name.version !== undefined) throw refuse("Expected a key without a version", EXAMPLE);
  const calls = await openVaultCalls(options, context);
  if (calls === undefined) {
    throw refuse("There is no address or no token", "Set VAULT_ADDR and VAULT_TOKEN: keygen does not log in");
  }
  try {
    // Before the token is sent: the adapter refuses a server without TLS, and names that it could not open later.
    if ((await opensKey(open, uri, NO_CLOUD_KEY)) && !newVersion) throw keyExists(name);
    leaves(`The key ${name.key}, or another version of it, may have been made in ${name.mount}`);
    const version = newVersion ? await addVersion(calls, name) : await createKey(calls, name);
    return `vault:///${name.mount}/keys/${name.key}?version=${version}`;
  } finally {
    calls.close();
  }
};

async function createKey(calls: VaultCalls, name: VaultKeyName): Promise<number> {
  if ((await read(calls, name)) !== undefined) {
    throw keyExists(name);
  }
  const settings = { type: TYPE, exportable: false, allow_plaintext_backup: false };
  await post(calls, `${name.mount}/keys/${name.key}`, settings);
  // The server answers in the same way if a key of another type was made meanwhile.
  return latestOf(await read(calls, name), name);
}

function keyExists({ key }: VaultKeyName): CliError {
  return exists(`The key ${key}`, "Make another version of it with --new-version, or name another key");
}

async function addVersion(calls: VaultCalls, name: VaultKeyName): Promise<number> {
  latestOf(await read(calls, name), name);
  await post(calls, `${name.mount}/keys/${name.key}/rotate`);
  return latestOf(await read(calls, name), name);
}

/** Undefined: there is no such key. */
async function read(
  calls: VaultCalls,
  { mount, key }: VaultKeyName,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const answer = await sent("the key", () => calls.send("GET", `${mount}/keys/${key}`));
  if (answer.status === 404) return undefined;
  return dataOf(answer) ?? refused(calls, "the key", answer);
}

async function post(calls: VaultCalls, path: string, body: object = {}): Promise<void> {
  const answer = await sent(path, () => calls.send("POST", path, body), LOOK_FIRST);
  // A proxy in front of the server may have lost its answer.
  if (answer.status < 200 || answer.status >= 300) refused(calls, path, answer, answer.status >= 500);
}

function latestOf(data: Readonly<Record<string, unknown>> | undefined, { mount, key }: VaultKeyName): number {
  if (data === undefined) {
    throw refuse(`There is no key ${key} in ${mount}`, "Without --new-version, signpost makes the first version");
  }
  const { type, exportable, allow_plaintext_backup: isBackedUp, latest_version: latest } = data;
  if (type !== TYPE) throw exists(`A key ${key} that is not ${TYPE}`, "Name another key");
  if (exportable === true) throw exists(`A key ${key} that is exportable`, "Name another key");
  if (isBackedUp === true) throw exists(`A key ${key} whose plain text can be backed up`, "Name another key");
  return Number(latest);
}

function sent(what: string, send: () => Promise<RestAnswer>, hint?: string): Promise<RestAnswer> {
  return send().catch((error: unknown) => {
    throw failed(what, error, hint);
  });
}

/** With what the server says, unless a proxy in front of it repeats the token. */
function refused(
  { repeatsToken }: VaultCalls,
  what: string,
  { status, json }: RestAnswer,
  mayBeMade: boolean = false,
): never {
  const errors: unknown = Reflect.get(Object(json), "errors");
  const words = (Array.isArray(errors) ? errors : []).join(" ").replaceAll(/\s+/g, " ").trim();
  const isShown = words !== "" && !repeatsToken(words);
  const text = `the server answered ${status}${isShown ? `: ${words}` : ""}`;
  throw failed(what, new Error(text), mayBeMade ? LOOK_FIRST : undefined);
}
