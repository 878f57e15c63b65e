import { EventEmitter } from "node:events";
import { Agent, InjectionSymbols, Kms, RecordNotFoundError } from "@credo-ts/core";
import { MemoryStorage } from "./memory-storage.ts";
import { nodeBackend } from "./node-backend.ts";

/** The parts of `@credo-ts/core` that an agent is made of. One release of it does not know the classes of another. */
export interface CredoParts {
  readonly Agent: typeof Agent;
  readonly InjectionSymbols: typeof InjectionSymbols;
  readonly Kms: typeof Kms;
  readonly RecordNotFoundError: typeof RecordNotFoundError;
}

const PARTS: CredoParts = { Agent, InjectionSymbols, Kms, RecordNotFoundError };

/** An agent that signs with a backend, and keeps its records in memory. `@credo-ts/node` has the dependencies of a real one. */
export async function startAgent(backend: Kms.KeyManagementService, parts: CredoParts = PARTS): Promise<Agent> {
  const storage = new MemoryStorage(parts.RecordNotFoundError);
  const agent = new parts.Agent({
    config: { autoUpdateStorageOnStartup: true },
    // No file and no WebSocket is needed to sign.
    dependencies: { FileSystem: Object, EventEmitterClass: EventEmitter, fetch, WebSocketClass: Object } as never,
    modules: {
      storage: { register: (manager) => manager.registerInstance(parts.InjectionSymbols.StorageService, storage) },
      kms: new parts.Kms.KeyManagementModule({ backends: [backend, nodeBackend()] }),
    },
  });
  await agent.initialize();
  return agent;
}
