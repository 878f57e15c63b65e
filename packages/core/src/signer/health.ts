import type { SignerError, SignerErrorCode } from "../errors.ts";
import type { SignerHealth } from "./contract.ts";

/** How a signer is doing. */
export type SignerStatus = SignerHealth["status"];

const SEVERITY: Readonly<Record<SignerStatus, number>> = { ready: 0, degraded: 1, down: 2 };

/** The worse of two views. One that is missing is `ready`. */
export function worseStatus(a: SignerStatus = "ready", b: SignerStatus = "ready"): SignerStatus {
  return SEVERITY[b] > SEVERITY[a] ? b : a;
}

interface Observed {
  readonly status: SignerStatus;
  readonly since: Date;
  readonly lastCode?: SignerErrorCode;
}

export interface HealthRecord {
  succeeded(): void;
  /** For what the backend did, or failed to do in time. */
  failed(error: SignerError): void;
  /** `backendStatus` is the adapter's own view: the worse of the two counts. */
  read(backendStatus: SignerStatus, notes: readonly string[]): SignerHealth;
}

export function createHealthRecord(): HealthRecord {
  let observed: Observed = { status: "ready", since: new Date() };
  let told: Observed = observed;
  const move = (status: SignerStatus, lastCode?: SignerErrorCode): void => {
    const since = status === observed.status ? observed.since : new Date();
    observed = lastCode === undefined ? { status, since } : { status, since, lastCode };
  };
  return {
    succeeded: () => {
      if (observed.status !== "ready") move("ready");
    },
    failed: (error) => {
      move(error.transient ? "degraded" : "down", error.code);
    },
    read: (backendStatus, notes) => {
      // The adapter is only asked here, so that its status holds since it was first seen.
      if (backendStatus !== told.status) told = { status: backendStatus, since: new Date() };
      const worse = SEVERITY[told.status] > SEVERITY[observed.status] ? told : {};
      return { ...observed, ...worse, notes: [...notes] };
    },
  };
}
