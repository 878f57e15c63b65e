import { randomUUID } from "node:crypto";
import { ConfigurationError } from "@signpost/core";
import type { OidcProviderSigningLike } from "./host.ts";
import type { TellOperator } from "./operator-reports.ts";
import type { Published } from "./published.ts";
import { readJoseHeader } from "./signing-input.ts";

// All asymmetric ones that the host may have a key for, except our own.
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES384 ES512 EdDSA Ed25519 ML-DSA-44 ML-DSA-65 ML-DSA-87".split(
  " ",
);

/** What the host signs with its own keys, next to ES256 of the plug. */
export interface HostAlgorithms {
  /**
   * Whether it signs by an algorithm under a kid that is published for it: the one that is asked for, or that of its first
   * key. Undefined while that is not known.
   */
  signs(alg: string, kid?: unknown): boolean | undefined;
  /** Whether a kid may be that of a key of the host's, by an algorithm that is not known. */
  mayName(kid: string): boolean;
  /** Whether it is known to have no other key than ours. */
  hasNone(): boolean;
}

/** The claim of what is signed only to see who signs it. */
const QUESTION = randomUUID();

/** Whether the host was asked who signs, and our key is the answer. It makes no signature for that. */
export function isQuestion(claims: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(claims, QUESTION);
}

/** What asking for an algorithm has shown: the kid of the host's key, that it has none, or nothing. */
type Answer = { readonly kid: unknown } | "no key" | undefined;

/**
 * Asks the host which other algorithms it has keys for, as during a move from RS256: its key store is its own, but it
 * signs an authorization response (JARM) for any client. What it signs goes nowhere. The operator is told of a key that
 * the endpoint does not publish, and where ES256 is not signed by ours.
 */
export function askHostAlgorithms(
  provider: OidcProviderSigningLike,
  published: () => readonly Published[],
  oursWasAsked: () => boolean,
  tell: TellOperator,
): HostAlgorithms {
  const answers = new Map<string, Answer>();
  const askAll = async (): Promise<void> => {
    await Promise.all(ALGORITHMS.map(async (alg) => answers.set(alg, await askFor(provider, alg))));
    for (const kid of new Set([...answers.values()].map(kidOf))) {
      if (kid === undefined || published().some((key) => key["kid"] === kid)) continue;
      const problem = `expected the host's own key ${JSON.stringify(kid)} too, since tokens that it signs cannot be verified`;
      tell(new ConfigurationError("legacyVerificationKeys", problem));
    }
    const kid = kidOf(await askFor(provider, "ES256"));
    if (oursWasAsked()) return;
    const signing = kid === undefined ? "another key, or with none" : `its own key ${JSON.stringify(kid)}`;
    const problem = `expected those of these signpostKeys, before all others: the host signs ES256 with ${signing}`;
    tell(new ConfigurationError("jwks", problem));
  };
  void askAll();
  return {
    signs: (alg, kid) => {
      if (!ALGORITHMS.includes(alg)) return false;
      const answer = answers.get(alg);
      if (answer === "no key") return false;
      // Of several keys, the host takes the one that is named, and looks at no name but a string.
      const signing = typeof kid === "string" ? kid : answer?.kid;
      if (signing === undefined) return undefined;
      // A key may sign by more algorithms than the one that relying parties may use it with.
      return published().some((key) => key["kid"] === signing && key["alg"] === alg);
    },
    mayName: (kid) => published().some((key) => key["kid"] === kid),
    hasNone: () => ALGORITHMS.every((alg) => answers.get(alg) === "no key"),
  };
}

async function askFor(provider: OidcProviderSigningLike, alg: string): Promise<Answer> {
  const members = { clientId: "signpost", authorizationSignedResponseAlg: alg };
  const client: object = Object.assign(Object.create(provider.Client.prototype) as object, members);
  const chosen = new ChosenKey();
  try {
    const token = new provider.IdToken({}, { client: client as never });
    token.set(QUESTION, chosen);
    return { kid: readJoseHeader(await token.issue({ use: "authorization" }))["kid"] };
  } catch {
    // Failures of a key that is there may pass, and say nothing.
    return chosen.isThere ? undefined : "no key";
  }
}

/** A claim that the host writes down only when it has found a key: it says so by failing before. */
class ChosenKey {
  isThere = false;

  toJSON(): true {
    this.isThere = true;
    return true;
  }
}

function kidOf(answer: Answer): unknown {
  return typeof answer === "object" ? answer.kid : undefined;
}
