import type { SignerHarness } from "@signpost/conformance";

type Faults = NonNullable<SignerHarness["faults"]>;

/** How long opening may try while a fault is on, which does not pass. Milliseconds. */
const FAULTY_OPEN_MS = 300;
/** And while none is, so that a busy machine changes no result. Milliseconds. */
const OPEN_MS = 10_000;

/** The same faults, and how long opening may try at the moment. */
export function withOpenDeadline(faults: Faults): { readonly faults: Faults; openDeadlineMs(): number } {
  let isFaulty = false;
  const watched = Object.entries(faults).map(([fault, toggle]) => [
    fault,
    (on: boolean) => {
      isFaulty = on;
      return toggle(on);
    },
  ]);
  return {
    faults: Object.fromEntries(watched) as Faults,
    openDeadlineMs: () => (isFaulty ? FAULTY_OPEN_MS : OPEN_MS),
  };
}
