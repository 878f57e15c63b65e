import type { SignerError, SignerErrorCode } from "../errors.ts";
import type { SignerHealth } from "./contract.ts";

/** The status of a signer. */
export type SignerStatus = SignerHealth["status"];

const SEVERITY: Readonly<Record<SignerStatus, number>> = { ready: 0, degraded: 1, down: 2 };

/** The status as the signer inside the guard sees it. */
export interface BackendStatus {
  readonly status: SignerStatus;
  /** When the status began. Default: when the guard first saw it. */
  readonly since?: Date | undefined;
  /** The failure that led to it. */
  readonly lastCode?: SignerErrorCode | undefined;
}

/** The worst of several statuses. Of equally bad ones, the first. */
export function worstStatus(...views: readonly BackendStatus[]): BackendStatus {
  const [first = { status: "ready" }, ...others] = views;
  return others.reduce((worst, view) => (SEVERITY[view.status] > SEVERITY[worst.status] ? view : worst), first);
}

interface Observed {
  readonly status: SignerStatus;
  readonly since: Date;
  readonly lastCode?: SignerErrorCode;
}

export interface HealthRecord {
  succeeded(): void;
  /** For an error of the backend, or a timeout. */
  failed(error: SignerError): void;
  /** `backend` is the status as the signer inside the guard sees it. The worse of the two counts. */
  read(backend: BackendStatus, notes: readonly string[]): SignerHealth;
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
    read: ({ status, since, lastCode }, notes) => {
      // The adapter's status is only read here. If it has no `since`, the time when it was first seen here is used.
      const known = since ?? (status === told.status ? told.since : new Date());
      told = lastCode === undefined ? { status, since: known } : { status, since: known, lastCode };
      const worse = SEVERITY[told.status] > SEVERITY[observed.status] ? told : {};
      return { ...observed, ...worse, notes: [...notes] };
    },
  };
}
