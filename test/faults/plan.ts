import type { Kind } from "./kinds.ts";
import { createRandom } from "./random.ts";

/** A fault in the middle of tokens. */
export interface Episode {
  /** Its place in the plan, from 1. */
  readonly number: number;
  readonly kind: Kind;
  /** Tokens before the fault. Each must be signed. */
  readonly calm: number;
  /** Calls at the same time. As many are under way when the fault begins, and half as many follow. */
  readonly concurrency: number;
}

/** A whole campaign on one backend. Follows from its seed. */
export interface Plan {
  readonly seed: number;
  readonly tokens: number;
  readonly episodes: readonly Episode[];
}

/** How many tokens a round through all kinds has, unless there are fewer in all. */
const TOKENS_A_ROUND = 5_000;
/** Shorter would not see a failure that comes late. */
const LEAST_CALM = 8;

/** Each kind once in each round, in an order that follows from the seed. */
export function makePlan(seed: number, tokens: number, kinds: readonly Kind[]): Plan {
  const random = createRandom(seed);
  const rounds = Math.max(1, Math.round(tokens / TOKENS_A_ROUND));
  const order = Array.from({ length: rounds }, () => random.shuffled(kinds)).flat();
  const calm = Math.max(LEAST_CALM, Math.ceil(tokens / Math.max(1, order.length)));
  return {
    seed,
    tokens,
    episodes: order.map((kind, index) => {
      const concurrency = random.between(4, 12);
      return { number: index + 1, kind, calm, concurrency };
    }),
  };
}

/** The same plan with these kinds only, in this order: to find out which ones a failure needs. */
export function narrowed(plan: Plan, kinds: readonly Kind[]): Plan {
  const episodes = kinds.flatMap((kind) => plan.episodes.find((episode) => episode.kind === kind) ?? []);
  return { ...plan, episodes: episodes.map((episode, index) => ({ ...episode, number: index + 1 })) };
}

/** One line for each episode. */
export function describePlan({ episodes }: Plan): readonly string[] {
  return episodes.map(
    ({ number, kind, calm, concurrency }) =>
      `${String(number).padStart(3)}  ${calm} tokens, then ${kind}; ${concurrency} calls at once`,
  );
}
