import { azureError, okReply, type AzureReply } from "./fake-azure-key-vault-answers.ts";
import type { FakeAzureKey, VersionSettings } from "./fake-azure-key-vault-keys.ts";
import type { AzureRequest } from "./fake-azure-key-vault-wire.ts";

// What operators do with keys. A signer needs none of it.

/** What a caller may do beyond signing, and with which settings. */
export interface FakeManagement {
  /** Lists that the caller may read. */
  readonly listed: Set<"keys" | "secrets" | "certificates">;
  /** The rotation policy of all keys. Undefined: the caller may not read it. */
  rotationPolicy: object | undefined;
  /** Whether the caller may make keys. */
  mayCreate: boolean;
  /** A standard vault has no HSM. */
  hasHsm: boolean;
}

export function createManagement(): FakeManagement {
  return { listed: new Set(), rotationPolicy: undefined, mayCreate: false, hasHsm: true };
}

interface Vault {
  readonly keys: ReadonlyMap<string, FakeAzureKey>;
  readonly management: FakeManagement;
  addKey(name: string, settings: VersionSettings): FakeAzureKey;
  /** The answer to a call that reads the latest version. */
  describe(key: FakeAzureKey): AzureReply;
}

/** The answer to an operator's call. Undefined for all others. */
export function answerManagement(request: AzureRequest, vault: Vault): AzureReply | undefined {
  const { method, path } = request;
  const { management } = vault;
  const [, list, name = "", word] = path.split("/");
  if (method === "GET" && (list === "keys" || list === "secrets" || list === "certificates") && name === "") {
    return management.listed.has(list) ? okReply({ value: [], nextLink: null }) : forbidden();
  }
  if (list !== "keys") return undefined;
  if (method === "GET" && word === "rotationpolicy") {
    return management.rotationPolicy === undefined ? forbidden() : okReply(management.rotationPolicy);
  }
  return method === "POST" && word === "create" ? create(name, request, vault) : undefined;
}

function forbidden(): AzureReply {
  return azureError(403, "Forbidden", "Caller is not authorized to perform action on resource.", "ForbiddenByRbac");
}

/** As the service does, this makes a new version if the key exists. */
function create(name: string, { body }: AzureRequest, { keys, management, addKey, describe }: Vault): AzureReply {
  if (!management.mayCreate) return forbidden();
  const { kty, crv, key_ops: keyOps, attributes = {}, ...others } = JSON.parse(body) as VersionBody;
  if (crv !== "P-256" || !/^EC(?:-HSM)?$/.test(kty) || Object.keys(others).length > 0) {
    return azureError(400, "BadParameter", "Property has invalid value.");
  }
  if (kty === "EC-HSM" && !management.hasHsm) {
    return azureError(400, "BadParameter", "HSM keys need a vault of the premium tier.");
  }
  const settings = { kty, keyOps, attributes };
  const key = keys.get(name.toLowerCase());
  if (key?.softDeleted === true) {
    return azureError(409, "Conflict", "Key is currently deleted.", "ObjectIsDeletedButRecoverable");
  }
  if (key === undefined) return describe(addKey(name, settings));
  key.rotate(settings);
  return describe(key);
}

interface VersionBody {
  readonly kty: string;
  readonly crv: string;
  readonly key_ops: readonly string[];
  readonly attributes?: object;
}
