import { untilAborted } from "@signpost/core/adapter";
import type { LoginPins } from "../pool/login-pins.ts";
import type { TokenCertificates } from "../cryptoki/descriptions.ts";
import type { KeyRequest, TokenRequest } from "../request/key-request.ts";
import { otherParametersError } from "../wire/other-parameters.ts";
import type { SigningKey } from "../wire/signing-key.ts";
import { ProcessModule } from "./module.ts";

interface ModuleEntry {
  readonly libraryParameters: string | undefined;
  readonly module: ProcessModule;
  users: number;
  stopping: Promise<void> | undefined;
}

// As in pool/registry.ts: one child for each module, for all its signers.
const modules = new Map<string, ModuleEntry>();

/** Opens a key in a child process. `pins`: for logins, the same for every key. */
export async function openProcessKey(request: KeyRequest, pins: LoginPins): Promise<SigningKey> {
  const entry = await retainModule(request, pins);
  try {
    const { key, opened } = await entry.module.open(request);
    const { publicKey, token, label, id, sessions } = opened;
    return {
      publicKey,
      token,
      label,
      id,
      sessions,
      sign: (digest, { signal }) => untilAborted(entry.module.sign(key, digest, signal), signal),
      status: () => entry.module.status(key),
      notes: () => entry.module.notes(key),
      hanging: () => 0,
      refusal: () => entry.module.refusal(key),
      close: async () => {
        await entry.module.close(key);
        await releaseModule(request.module, entry);
      },
    };
  } catch (error) {
    await releaseModule(request.module, entry);
    throw error;
  }
}

/** Reads the certificates of a token in a child process. `pins`: for the logins of keys in the same child. */
export async function readProcessCertificates(request: TokenRequest, pins: LoginPins): Promise<TokenCertificates> {
  const entry = await retainModule(request, pins);
  try {
    return await entry.module.certificates(request);
  } finally {
    await releaseModule(request.module, entry);
  }
}

/** Two children at the same time could not coordinate, and some tokens serve only one process. */
async function retainModule(request: TokenRequest, pins: LoginPins): Promise<ModuleEntry> {
  const { module: path, libraryParameters } = request;
  for (;;) {
    const stopping = modules.get(path)?.stopping;
    if (stopping === undefined) break;
    await stopping;
  }
  const entry = modules.get(path) ?? {
    libraryParameters,
    module: new ProcessModule(pins),
    users: 0,
    stopping: undefined,
  };
  if (entry.libraryParameters !== libraryParameters) throw otherParametersError();
  modules.set(path, entry);
  entry.users += 1;
  return entry;
}

async function releaseModule(path: string, entry: ModuleEntry): Promise<void> {
  entry.users -= 1;
  if (entry.users > 0) return;
  entry.stopping = entry.module.stop().finally(() => modules.delete(path));
  await entry.stopping;
}
