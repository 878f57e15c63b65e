import { randomUUID } from "node:crypto";
import { ConfigurationError } from "@signpost/core";
import { type DocumentKey, readSigningInput, type TellOperator } from "@signpost/core/adapter";
import type { OidcProviderSigningLike } from "./host.ts";
import { isOfOtherKey } from "./other-key.ts";

// All asymmetric algorithms that the host may have a key for, except ES256.
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES384 ES512 EdDSA Ed25519 ML-DSA-44 ML-DSA-65 ML-DSA-87".split(
  " ",
);

/** What the host can sign with its own keys. The plug signs ES256. */
export interface HostAlgorithms {
  /**
   * Whether the host signs with an algorithm under a kid that is published for this algorithm: the given kid, or the kid of
   * its first key. Undefined while unknown.
   */
  signs(alg: string, kid?: unknown): boolean | undefined;
  /** Whether a key with this kid may exist at the host, for an unknown algorithm. */
  mayName(kid: string): boolean;
  /** Whether the host is known to have no keys except ours. */
  hasNone(): boolean;
  /** Reports keys of the host that the endpoint does not publish, once for each document. */
  checkPublished(): void;
}

/** A claim that marks a token as a question: it is only signed to see which key signs. */
const QUESTION = randomUUID();

/** Whether the token is such a question. If it reaches our key, that is the answer, and it makes no signature. */
export function isQuestion(claims: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(claims, QUESTION);
}

/** The answer for an algorithm: a token of the host's key and its kid, that it has no key, or undefined if unknown. */
type Answer = { readonly kid: unknown; readonly token: string } | "no key" | undefined;

/**
 * Asks the host which other algorithms it has keys for, for example during a move from RS256. Its key store is private, but
 * it signs an authorization response (JARM) for any client. These responses are never sent. The operator gets a report if
 * the endpoint does not publish one of these keys for all its algorithms, or if ES256 is not signed with our key.
 */
export function askHostAlgorithms(
  provider: OidcProviderSigningLike,
  published: () => readonly DocumentKey[],
  oursWasAsked: () => boolean,
  tell: TellOperator,
): HostAlgorithms {
  const answers = new Map<string, Answer>();
  const asked = askEach(provider, ALGORITHMS, answers);
  const checkPublished = createPublishedCheck(asked, published, tell);
  const askForOurs = async (): Promise<void> => {
    await asked;
    const kid = kidOf(await askFor(provider, "ES256"));
    if (oursWasAsked()) return;
    const signing = kid === undefined ? "another key, or with none" : `its own key ${JSON.stringify(kid)}`;
    const problem = `put the keys of these signpostKeys before all others: the host signs ES256 with ${signing}`;
    tell(new ConfigurationError("jwks", problem));
  };
  checkPublished();
  void askForOurs();
  return {
    signs: (alg, kid) => {
      if (!ALGORITHMS.includes(alg)) return false;
      const answer = answers.get(alg);
      if (answer === "no key") return false;
      // If there are several keys, the host uses the one with the given kid, and ignores a kid that is not a string.
      const signing = typeof kid === "string" ? kid : answer?.kid;
      if (signing === undefined) return undefined;
      // A key may be able to sign with more algorithms than the one that it is published for.
      return published().some((key) => key["kid"] === signing && key["alg"] === alg);
    },
    mayName: (kid) => published().some((key) => key["kid"] === kid),
    hasNone: () => ALGORITHMS.every((alg) => answers.get(alg) === "no key"),
    checkPublished,
  };
}

/** The check of `checkPublished`, for a host that signs all its tokens with its own keys, ES256 too. */
export function hostKeysCheck(
  provider: OidcProviderSigningLike,
  published: () => readonly DocumentKey[],
  tell: TellOperator,
): () => void {
  return createPublishedCheck(askEach(provider, ["ES256", ...ALGORITHMS]), published, tell);
}

/** The keys of the host never change. Those of the endpoint do, so this is called after each answer of it. */
function createPublishedCheck(
  asked: Promise<ReadonlyMap<string, Answer>>,
  published: () => readonly DocumentKey[],
  tell: TellOperator,
): () => void {
  let checked: readonly DocumentKey[] | undefined;
  const check = async (keys: readonly DocumentKey[]): Promise<void> => tellUnpublished(await asked, keys, tell);
  return () => {
    const keys = published();
    // While the key source fails, nothing is published. The endpoint reports that itself.
    if (keys === checked || keys.length === 0) return;
    checked = keys;
    void check(keys);
  };
}

async function askEach(
  provider: OidcProviderSigningLike,
  algorithms: readonly string[],
  answers = new Map<string, Answer>(),
): Promise<ReadonlyMap<string, Answer>> {
  // Keeps the order of the algorithms, whichever answer comes first: reports list keys and algorithms in this order.
  for (const alg of algorithms) answers.set(alg, undefined);
  await Promise.all(algorithms.map(async (alg) => answers.set(alg, await askFor(provider, alg))));
  return answers;
}

function tellUnpublished(
  answers: ReadonlyMap<string, Answer>,
  published: readonly DocumentKey[],
  tell: TellOperator,
): void {
  for (const kid of new Set([...answers.values()].map(kidOf))) {
    if (kid === undefined) continue;
    const tokens = new Map<string, string>();
    for (const [alg, answer] of answers) {
      if (typeof answer === "object" && answer.kid === kid) tokens.set(alg, answer.token);
    }
    const problem = publicationProblem(kid, tokens, published);
    if (problem !== undefined) tell(problem);
  }
}

/** What RPs cannot verify of the tokens that a key of the host signs, by algorithm. */
function publicationProblem(
  kid: unknown,
  tokens: ReadonlyMap<string, string>,
  published: readonly DocumentKey[],
): ConfigurationError | undefined {
  const found = published.find((key) => key["kid"] === kid);
  const name = JSON.stringify(kid);
  const list = tokens.has("ES256") ? "keys" : "legacyVerificationKeys";
  if (found === undefined) {
    return new ConfigurationError(list, `add the host's own key ${name}: RPs cannot verify the tokens that it signs`);
  }
  const alg = String(found["alg"]);
  const token = tokens.get(alg);
  if (token !== undefined && isOfOtherKey(token, alg, found)) {
    const problem = `expected the public half of the host's own key ${name}, got another key with this kid: RPs cannot verify the tokens`;
    return new ConfigurationError(list, problem);
  }
  const others = [...tokens.keys()].filter((other) => other !== alg);
  if (others.length === 0) return undefined;
  const problem =
    `the host's own key ${name} signs ${others.join(", ")}, but is published only for ${alg}: give it this alg, or ` +
    "publish it for the alg that it has";
  return new ConfigurationError("jwks", problem);
}

async function askFor(provider: OidcProviderSigningLike, alg: string): Promise<Answer> {
  const members = { clientId: "signpost", authorizationSignedResponseAlg: alg };
  const client: object = Object.assign(Object.create(provider.Client.prototype) as object, members);
  const chosen = new ChosenKey();
  try {
    const token = new provider.IdToken({}, { client: client as never });
    token.set(QUESTION, chosen);
    const issued = await token.issue({ use: "authorization" });
    return { kid: readSigningInput(issued).header["kid"], token: issued };
  } catch {
    // If the host has a key, the failure may be temporary and tells us nothing.
    return chosen.isThere ? undefined : "no key";
  }
}

/** A claim that is only serialized if the host has found a key. Otherwise the host fails earlier. */
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
