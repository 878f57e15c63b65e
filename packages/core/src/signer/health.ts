import type { SignerError, SignerErrorCode } from "../errors.ts";
import type { SignerHealth } from "./contract.ts";

export type SignerStatus = SignerHealth["status"];

// The caller's own doing says nothing about the backend.
const CALLERS_OWN: ReadonlySet<SignerErrorCode> = new Set(["aborted", "closed", "invalid_argument"]);
const SEVERITY: Readonly<Record<SignerStatus, number>> = { ready: 0, degraded: 1, down: 2 };

interface Observed {
  readonly status: SignerStatus;
  readonly since: Date;
  readonly lastCode?: SignerErrorCode;
}

export interface HealthRecord {
  succeeded(): void;
  failed(error: SignerError): void;
  /** `backendStatus` is the adapter's own view: the worse of the two counts. */
  read(backendStatus: SignerStatus, notes: readonly string[]): SignerHealth;
}

export function createHealthRecord(): HealthRecord {
  let observed: Observed = { status: "ready", since: new Date() };
  const move = (status: SignerStatus, lastCode?: SignerErrorCode): void => {
    const since = status === observed.status ? observed.since : new Date();
    observed = lastCode === undefined ? { status, since } : { status, since, lastCode };
  };
  return {
    succeeded: () => {
      if (observed.status !== "ready") move("ready");
    },
    failed: (error) => {
      if (!CALLERS_OWN.has(error.code)) move(error.transient ? "degraded" : "down", error.code);
    },
    read: (backendStatus, notes) => ({
      ...observed,
      status: SEVERITY[backendStatus] > SEVERITY[observed.status] ? backendStatus : observed.status,
      notes: [...notes],
    }),
  };
}
