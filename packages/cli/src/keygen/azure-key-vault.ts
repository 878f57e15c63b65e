import {
  azureKeyName,
  azureRefusal,
  isManagedHsm,
  openAzureCalls,
  type AzureCalls,
  type AzureKeyName,
} from "../backends/azure-key-vault.ts";
import type { RestAnswer } from "../backends/rest.ts";
import type { CliError } from "../program/cli-error.ts";
import { exists, failed, LOOK_FIRST, NO_CLOUD_KEY, opensKey, refuse, type KeyOrder, type MakeKey } from "./maker.ts";

const EXAMPLE = "azurekms:///NAME.vault.azure.net/keys/KEY";

/** A key in Azure Key Vault or a Managed HSM that only signs and cannot be exported, or another version of a key. */
export const makeAzureKey: MakeKey = async (order) => {
  const name = azureKeyName(order.uri);
  if (name === undefined || name.version !== undefined) throw refuse("Expected a key without a version", EXAMPLE);
  if (!/^[0-9a-zA-Z-]{1,127}$/.test(name.key)) {
    throw refuse("The name of a key has letters, digits and hyphens only, at most 127", EXAMPLE);
  }
  const calls = await openAzureCalls(name.host, order.options, order.context);
  if (calls === undefined) throw refuse("@azure/identity is not installed", "npm install @azure/identity");
  try {
    // Before a token is sent: the adapter refuses hosts and options that it could not open the key with later.
    if ((await opensKey(order.open, order.uri, NO_CLOUD_KEY)) && !order.newVersion) throw keyExists(name.key);
    await requirePlace(calls, name, order.newVersion);
    order.leaves(`The key ${name.key}, or another version of it, may have been made in ${name.host}`);
    const made = await send(calls, "create", "POST", `/keys/${name.key}/create`, requestOf(name, order));
    return `azurekms:///${name.host}/keys/${name.key}/${versionOf(made)}`;
  } finally {
    calls.close();
  }
};

/** The service makes a new version of a key that exists, so that has to be asked first. */
async function requirePlace(calls: AzureCalls, { key }: AzureKeyName, isThere: boolean): Promise<void> {
  const answer = await send(calls, "read the key", "GET", `/keys/${key}`, undefined, [404]);
  const { status } = answer;
  if (isThere && status === 404) {
    throw refuse(`There is no key ${key}`, "Without --new-version, signpost makes the first version");
  }
  if (status === 404) return;
  if (!isThere) throw keyExists(key);
  if (!isP256(answer)) throw exists(`A key ${key} that is not EC on P-256`, "Name another key");
}

/** The service makes a version of any type. Those who use the latest one of another type could no longer do so. */
function isP256({ json }: RestAnswer): boolean {
  const { kty, crv } = Object(Reflect.get(Object(json), "key")) as Readonly<Record<string, unknown>>;
  return (kty === "EC" || kty === "EC-HSM") && crv === "P-256";
}

function keyExists(key: string): CliError {
  return exists(`The key ${key}`, "Make another version of it with --new-version, or name another key");
}

function requestOf({ host }: AzureKeyName, { protection }: KeyOrder): object {
  if (protection === "software" && isManagedHsm(host)) throw refuse("A Managed HSM has no software keys");
  // Without `exportable`, which cannot be taken back.
  return {
    kty: protection === "hsm" ? "EC-HSM" : "EC",
    crv: "P-256",
    key_ops: ["sign"],
    attributes: { enabled: true },
  };
}

function versionOf({ json }: RestAnswer): string {
  const kid: unknown = Reflect.get(Object(Reflect.get(Object(json), "key")), "kid");
  const [, version] = /\/keys\/[^/]+\/([0-9a-f]{32})$/.exec(String(kid)) ?? [];
  if (version === undefined) throw failed("create", new Error("the answer names no version"));
  return version;
}

async function send(
  calls: AzureCalls,
  what: string,
  method: "GET" | "POST",
  path: string,
  body: object | undefined,
  accepted: readonly number[] = [],
): Promise<RestAnswer> {
  const answer = await calls.send(method, path, body).catch((error: unknown) => {
    throw failed(what, error, method === "POST" ? LOOK_FIRST : undefined);
  });
  const { status } = answer;
  if ((status >= 200 && status < 300) || accepted.includes(status)) return answer;
  const refusal = azureRefusal(answer);
  if (status === 409) {
    throw exists("A deleted key of this name", "Recover it (az keyvault key recover), or name another key");
  }
  // A proxy in front of the vault may have lost its answer.
  const mayBeMade = method === "POST" && status >= 500;
  const text = `the vault answered ${refusal}${hintFor(answer, body)}`;
  throw failed(what, new Error(text), mayBeMade ? LOOK_FIRST : undefined);
}

/** Only the premium tier has an HSM, and its refusal does not say so in its code. */
function hintFor({ status }: RestAnswer, body: object | undefined): string {
  return status === 400 && Reflect.get(Object(body), "kty") === "EC-HSM"
    ? ". A vault of the standard tier has no HSM: see --protection software"
    : "";
}
