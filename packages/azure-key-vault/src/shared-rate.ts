import { createLimiter, type GuardPolicy, type Limiter } from "@signpost/core";
import { withConcurrency } from "@signpost/core/adapter";
import { isManagedHsm, type Vault } from "./vault.ts";

/**
 * What a vault allows for an EC P-256 key in an HSM. For a key in software it allows twice as much. A Managed HSM has no such
 * limit.
 */
const RATE = { permits: 2000, perSeconds: 10 };

/** More than all signers of a process have in flight, whose own limits bound them. */
const MAX_WAITING = 100_000;

/** By the host of the vault. A process uses few vaults, so none is forgotten. */
const rates = new Map<string, Limiter>();

/** The limiter of a vault, which all signers of this process share. */
function rateOf({ host }: Vault): Limiter {
  const known = rates.get(host);
  if (known !== undefined) return known;
  const limiter = createLimiter({ rate: RATE, maxQueue: MAX_WAITING });
  rates.set(host, limiter);
  return limiter;
}

/** The guard's defaults, for the limiter that takes their place. */
const DEFAULTS = { concurrency: 16, maxQueue: 1000 };

/** The policy, with the rate of the vault. A limiter of the caller replaces it, because only the caller knows the replicas. */
export function withSharedRate(policy: GuardPolicy | false, vault: Vault): GuardPolicy | false {
  if (policy === false || policy.limiter !== undefined || isManagedHsm(vault)) return policy;
  const { concurrency = DEFAULTS.concurrency, maxQueue = DEFAULTS.maxQueue, ...others } = policy;
  const limiter = both(createLimiter({ concurrency, maxQueue }), rateOf(vault));
  return { ...others, limiter: withConcurrency(limiter, concurrency) };
}

/** A slot of the signer, and then a permit of the vault. */
function both(slots: Limiter, permits: Limiter): Limiter {
  const withPermit = async (release: () => void, permit: Promise<() => void>): Promise<() => void> => {
    try {
      return joined(release, await permit);
    } catch (error) {
      release();
      throw error;
    }
  };
  const then = (
    release: () => void,
    signal: AbortSignal | undefined,
    withinMs: number | undefined,
  ): (() => void) | Promise<() => void> => {
    const permit = permits.acquire(signal, withinMs);
    return typeof permit === "function" ? joined(release, permit) : withPermit(release, permit);
  };
  return {
    get active() {
      return slots.active;
    },
    get queued() {
      return slots.queued;
    },
    acquire: (signal, withinMs) => {
      const startedAt = performance.now();
      const slot = slots.acquire(signal, withinMs);
      if (typeof slot === "function") return then(slot, signal, withinMs);
      return slot.then((release) =>
        then(release, signal, withinMs === undefined ? undefined : withinMs - (performance.now() - startedAt)),
      );
    },
  };
}

function joined(first: () => void, second: () => void): () => void {
  return () => {
    second();
    first();
  };
}
