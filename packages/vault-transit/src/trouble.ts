import { memberOf } from "@signpost/core/adapter";

/** Remembers since when something fails in the background, where no call reports it. */
export interface Trouble {
  failed(error: unknown): void;
  ended(): void;
  /** A note for the operator, or undefined. */
  note(): string | undefined;
}

/** `what` fails: `the token cannot be renewed`. */
export function createTrouble(what: string): Trouble {
  let failing: { readonly since: Date; code: string } | undefined;
  return {
    failed: (error) => {
      failing = { since: failing?.since ?? new Date(), code: String(memberOf(error, "code")) };
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
