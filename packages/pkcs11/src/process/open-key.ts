import type { KeyRequest } from "../request/key-request.ts";
import type { SigningKey } from "../wire/signing-key.ts";
import { untilAborted } from "../wire/until-aborted.ts";
import { ProcessModule } from "./module.ts";

interface ModuleEntry {
  readonly host: ProcessModule;
  users: number;
  stopping: Promise<void> | undefined;
}

// As in threads/registry.ts: one child for each module, whoever opens signers on it.
const hosts = new Map<string, ModuleEntry>();

/** Opens a key in a child process. */
export async function openProcessKey(request: KeyRequest): Promise<SigningKey> {
  const entry = await retainModule(request.module);
  try {
    const { key, opened } = await entry.host.open(request);
    const { publicKey, token, label, id, sessions } = opened;
    return {
      publicKey,
      token,
      label,
      id,
      sessions,
      sign: (digest, signal) => untilAborted(entry.host.sign(key, digest, signal), signal),
      status: () => entry.host.status(key),
      notes: () => entry.host.notes(key),
      hanging: () => 0,
      refusal: () => entry.host.refusal(key),
      close: async () => {
        await entry.host.close(key);
        await releaseModule(request.module, entry);
      },
    };
  } catch (error) {
    await releaseModule(request.module, entry);
    throw error;
  }
}

/** Two children at once would be strangers to each other, and some tokens serve one process alone. */
async function retainModule(module: string): Promise<ModuleEntry> {
  for (;;) {
    const stopping = hosts.get(module)?.stopping;
    if (stopping === undefined) break;
    await stopping;
  }
  const entry = hosts.get(module) ?? { host: new ProcessModule(), users: 0, stopping: undefined };
  hosts.set(module, entry);
  entry.users += 1;
  return entry;
}

async function releaseModule(module: string, entry: ModuleEntry): Promise<void> {
  entry.users -= 1;
  if (entry.users > 0) return;
  entry.stopping = entry.host.stop().finally(() => hosts.delete(module));
  await entry.stopping;
}
