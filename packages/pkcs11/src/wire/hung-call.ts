import { SignerError } from "@signpost/core";

/** A call that has not returned in time. Its thread is still inside the module. */
export class HungCallError extends SignerError {
  /** The call's eventual result. It may never settle. */
  readonly late: Promise<unknown>;

  constructor(message: string, late: Promise<unknown>) {
    super("timeout", message);
    this.late = late;
  }
}
