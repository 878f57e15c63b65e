/** What `npm run fuzz` asks for. */
export interface FuzzSettings {
  /** Names of targets. Empty: all. */
  readonly targets: readonly string[];
  readonly seed: number;
  /** For a target with the share 1. Infinity: until the time is over. */
  readonly cases: number;
  /** For all targets together. Undefined: as long as it takes. */
  readonly minutes: number | undefined;
  /** The one input to try. */
  readonly input: Uint8Array | undefined;
  /** Also counts which code is reached, and keeps inputs that reach more. */
  readonly grows: boolean;
}

/** In each run of the tests: the same inputs, so that a failure is never a matter of luck. */
const IN_TESTS: FuzzSettings = { targets: [], seed: 1, cases: 300, minutes: undefined, input: undefined, grows: false };

/** The settings of this run. `scripts/fuzz.mjs` passes them on as JSON. */
export function readFuzzSettings(json: string | undefined = process.env["SIGNPOST_FUZZ"]): FuzzSettings {
  if (json === undefined) return IN_TESTS;
  const { targets, seed, cases, minutes, input } = JSON.parse(json) as {
    readonly targets: readonly string[];
    readonly seed: number;
    readonly cases?: number;
    readonly minutes?: number;
    readonly input?: string;
  };
  return {
    targets,
    seed,
    cases: cases ?? (minutes === undefined ? IN_TESTS.cases : Number.POSITIVE_INFINITY),
    minutes,
    input: input === undefined ? undefined : new Uint8Array(Buffer.from(input, "hex")),
    grows: input === undefined,
  };
}

/** The targets of these names, or all if there is none. A name that no target has would test nothing, and is an error. */
export function chooseTargets<Target extends { readonly name: string }>(
  all: readonly Target[],
  names: readonly string[],
): readonly Target[] {
  const unknown = names.filter((wanted) => !all.some(({ name }) => name === wanted));
  if (unknown.length > 0) throw new Error(`unknown target: ${unknown.join(", ")}; docs/fuzzing.md lists the targets`);
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}
