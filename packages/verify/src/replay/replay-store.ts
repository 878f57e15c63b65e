/** Keeps what must be used once only. */
export interface ReplayStore {
  /**
   * Takes `id` for `ttlMs` milliseconds: true for the first, false for every other until then, by whichever process. Atomic.
   * Rejects where that cannot be said, which refuses the token.
   */
  claim(id: string, ttlMs: number): Promise<boolean>;
  /** Resolves while the store answers: for a readiness check. */
  ready(): Promise<void>;
}
