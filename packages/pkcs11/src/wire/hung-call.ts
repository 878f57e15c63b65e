import { SignerError } from "@signpost/core";

/** A call that has not come back in time. Its thread is still inside the module. */
export class HungCallError extends SignerError {
  /** What the call brings in the end: settles as it would have, perhaps never. */
  readonly late: Promise<unknown>;

  constructor(message: string, late: Promise<unknown>) {
    super("timeout", message);
    this.late = late;
  }
}
