import { textMember } from "./safe-cause.ts";

/** Remembers since when something fails in the background, where no call reports it. */
export interface Trouble {
  /** It failed. */
  failed(error: unknown): void;
  /** It works. */
  ended(): void;
  /** A note for the operator, or undefined. It contains the code of the last error, and nothing else of it. */
  note(): string | undefined;
}

/**
 * Remembers a failure of what replaces a token before it ends. `what` says what fails.
 *
 * @example
 * ```ts
 * import { createTrouble } from "@signpost/core/adapter";
 *
 * const trouble = createTrouble("the token cannot be renewed");
 * export const notes = (): readonly (string | undefined)[] => [trouble.note()];
 * ```
 */
export function createTrouble(what: string): Trouble {
  let failing: { readonly since: Date; code: string } | undefined;
  return {
    failed: (error) => {
      failing = { since: failing?.since ?? new Date(), code: textMember(error, "code") || "unknown" };
    },
    ended: () => {
      failing = undefined;
    },
    note: () =>
      failing === undefined
        ? undefined
        : `${what} since ${failing.since.toISOString()} (${failing.code}); calls fail when it ends`,
  };
}
