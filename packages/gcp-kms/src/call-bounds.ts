/** How long one call may take. */
export interface CallBounds {
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * How much longer to wait for the client to end a call that its signal or timeout has ended, so that nobody takes
   * its place while it runs. Milliseconds, default 0: whoever waits is released at once.
   */
  readonly settleMs?: number | undefined;
}
