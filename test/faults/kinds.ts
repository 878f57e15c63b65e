import type { SignerErrorCode } from "@signpost/core";

/** What a fault does to the calls that it hits. */
export type Effect =
  /** Each call gives a token. */
  | "signs"
  /** Some calls fail. */
  | "fails"
  /** A call gives a token or fails. */
  | "either";

/** Every kind of fault, in the order of the tables. */
export const ALL_KINDS = [
  "latency",
  "slow",
  "reset",
  "flaky",
  "dead-connections",
  "half-open",
  "half-answer",
  "restart",
  "frozen",
  "unavailable",
  "throttling",
  "proxy-page",
  "truncated",
  "empty",
  "corrupted",
  "out-of-range",
  "wrong-digest",
  "foreign-signature",
  "wrong-key",
  "access-denied",
  "credentials-expired",
  "credentials-hanging",
  "session-lost",
  "module-finalized",
  "token-removed",
  "process-killed",
  "process-stopped",
  "wall-clock-forward",
  "wall-clock-back",
  "wall-clock-frozen",
  "monotonic-clock-forward",
  "monotonic-clock-frozen",
  "own-process-stopped",
  "key-disabled",
  "key-gone",
  "alias-moved",
  "rotation",
  "emergency",
  "shutdown",
] as const;

/** The name of a kind of fault. */
export type Kind = (typeof ALL_KINDS)[number];

/** A kind of fault, and what callers may see of it. */
export interface KindRow {
  /** In words, for the tables. */
  readonly title: string;
  readonly effect: Effect;
  /** The codes with which a call may fail while the fault is on and until the signer has recovered. */
  readonly codes: readonly SignerErrorCode[];
}

/** A backend that is away. An attempt fails or gets no answer, so the call may also run into its deadline. */
const AWAY: readonly SignerErrorCode[] = ["unavailable", "timeout"];

/** What each kind is, and what it may do. */
export const KINDS: Readonly<Record<Kind, KindRow>> = {
  latency: { title: "answers arrive late, but in time", effect: "signs", codes: [] },
  slow: { title: "answers arrive after the attempt has timed out", effect: "fails", codes: AWAY },
  reset: { title: "each connection is reset instead of an answer", effect: "fails", codes: AWAY },
  flaky: { title: "every third call fails", effect: "either", codes: AWAY },
  "dead-connections": {
    title: "the network forgets the open connections; new ones work",
    effect: "either",
    codes: AWAY,
  },
  "half-open": { title: "requests are accepted and never answered", effect: "fails", codes: AWAY },
  "half-answer": { title: "headers arrive, and then nothing", effect: "fails", codes: AWAY },
  restart: { title: "the service goes away and starts again", effect: "fails", codes: AWAY },
  frozen: { title: "the service is stopped and continued", effect: "either", codes: AWAY },
  unavailable: { title: "the service answers that it is unavailable", effect: "fails", codes: AWAY },
  throttling: {
    title: "the service answers that there are too many calls",
    effect: "fails",
    codes: ["throttled", "timeout"],
  },
  "proxy-page": {
    title: "a proxy answers with a page",
    effect: "fails",
    codes: ["unavailable", "integrity", "timeout"],
  },
  truncated: {
    title: "answers end in the middle",
    effect: "fails",
    codes: ["integrity", "unavailable", "timeout"],
  },
  empty: { title: "answers have no signature", effect: "fails", codes: ["integrity", "timeout"] },
  corrupted: {
    title: "a bit of the signature is wrong",
    effect: "fails",
    codes: ["integrity", "bad_signature", "timeout"],
  },
  "out-of-range": {
    title: "r or s is out of range",
    effect: "fails",
    codes: ["bad_signature", "integrity"],
  },
  "wrong-digest": {
    title: "the right key signs another digest",
    effect: "fails",
    codes: ["bad_signature"],
  },
  "foreign-signature": {
    title: "another key signs, under the right name",
    effect: "fails",
    codes: ["bad_signature", "wrong_key"],
  },
  "wrong-key": {
    title: "another key signs, under its name",
    effect: "fails",
    codes: ["wrong_key", "bad_signature"],
  },
  "access-denied": {
    title: "the caller may not sign any more",
    effect: "fails",
    codes: ["access_denied"],
  },
  "credentials-expired": {
    title: "the credentials, or the login, are over",
    effect: "either",
    codes: ["access_denied", "unavailable", "timeout"],
  },
  "credentials-hanging": {
    title: "new credentials, or the PIN, do not arrive",
    effect: "fails",
    // Where the last ones were refused just before, no others are asked for within 5 seconds.
    codes: [...AWAY, "access_denied"],
  },
  "session-lost": { title: "all sessions are closed", effect: "either", codes: AWAY },
  "module-finalized": {
    title: "other code finalizes the module",
    effect: "either",
    codes: AWAY,
  },
  "token-removed": {
    title: "the token is removed and comes back",
    effect: "fails",
    codes: [...AWAY, "key_not_found"],
  },
  "process-killed": { title: "the module's process is killed", effect: "either", codes: AWAY },
  "process-stopped": { title: "the module's process is stopped", effect: "either", codes: AWAY },
  "wall-clock-forward": { title: "the wall clock is two hours ahead", effect: "signs", codes: [] },
  "wall-clock-back": { title: "the wall clock is an hour behind", effect: "signs", codes: [] },
  "wall-clock-frozen": { title: "the wall clock stands still", effect: "signs", codes: [] },
  // A call that is under way loses its time.
  "monotonic-clock-forward": {
    title: "the monotonic clock jumps ahead by an hour",
    effect: "either",
    codes: ["timeout"],
  },
  "monotonic-clock-frozen": { title: "the monotonic clock stands still", effect: "signs", codes: [] },
  "own-process-stopped": {
    title: "the OP's own process is stopped for a second",
    effect: "either",
    codes: AWAY,
  },
  "key-disabled": { title: "the key is disabled", effect: "fails", codes: ["key_disabled"] },
  "key-gone": {
    title: "the key is not found any more",
    effect: "fails",
    codes: [...AWAY, "key_not_found"],
  },
  "alias-moved": {
    title: "the alias, or the latest version, is another key",
    effect: "signs",
    codes: [],
  },
  rotation: { title: "a planned rotation", effect: "signs", codes: [] },
  emergency: { title: "an emergency: the key is revoked and replaced", effect: "signs", codes: [] },
  shutdown: { title: "the signer is closed, and opened again", effect: "fails", codes: ["closed"] },
};

export function isKind(name: string): name is Kind {
  return Object.hasOwn(KINDS, name);
}
