import { phaseAt, type Phase } from "@signpost/core/adapter";
import { type Rotation, type RotationKey } from "../inspect.ts";
import { instantText } from "../timeline/instants.ts";

/** Which tokens of a withdrawn key are in use. */
export interface TokensAlive {
  /** When the last of them expires by its own `exp`. Undefined if there can be none. */
  readonly until: number | undefined;
  readonly words: string;
}

/** The tokens that die with a key. */
export function tokensAlive(key: RotationKey, { tokenMs }: Rotation, at: number): TokensAlive {
  const phase = phaseAt(key, at);
  const words = WORDS[phase];
  if (phase !== "active" && phase !== "retiring") return { until: undefined, words };
  const until = Math.min(key.retiringFrom, at) + tokenMs;
  return { until, words: `${words} The last of them expires at ${instantText(until)}` };
}

const WORDS: Readonly<Record<Phase, string>> = {
  unpublished: "The key has signed no token",
  announced: "The key has signed no token",
  active: "Every token that the key has signed until now is refused at once, so users and clients need new ones.",
  retiring: "Every token that the key has signed is refused at once, so users and clients need new ones.",
  withdrawn: "Its tokens have expired. It no longer verifies an id_token_hint",
  dropped: "Its tokens have expired, and nothing depends on it",
};
