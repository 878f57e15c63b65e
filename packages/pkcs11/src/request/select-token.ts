import { SignerError } from "@signpost/core";
import { describeCode } from "../cryptoki/ckr.ts";
import type { TokenDescription, TokenList, UnreadableSlot } from "../cryptoki/descriptions.ts";
import { shown } from "./misplaced-pin.ts";

/** What the one token must match, by the attribute names of RFC 7512 section 2.3. Absent members match everything. */
export interface TokenSelector {
  readonly token?: string | undefined;
  readonly serial?: string | undefined;
  readonly manufacturer?: string | undefined;
  readonly model?: string | undefined;
  /** In decimal digits. */
  readonly slotId?: string | undefined;
  readonly slotDescription?: string | undefined;
  readonly slotManufacturer?: string | undefined;
  readonly libraryDescription?: string | undefined;
  readonly libraryManufacturer?: string | undefined;
  /** `3` matches every 3.x, `3.1` that one. */
  readonly libraryVersion?: string | undefined;
}

/**
 * The one token with a PIN and keys that matches. Blank slots never do: they have no label. A token that is said to be
 * initialized goes before one that only has a label, as not every module sets that flag (CKF_TOKEN_INITIALIZED).
 *
 * @throws SignerError `key_not_found` when there is none, `ambiguous_key` when there are more; both list the tokens.
 * `unavailable` when the module shows no slot with a token at all, as one does that has lost its HSM, and when the token may be one that
 * cannot be read now. `hint`: what to look at where it shows none.
 */
export function selectToken(list: TokenList, selector: TokenSelector, hint?: string): TokenDescription {
  const unreadable = matchesLibrary(list, selector) ? list.unreadable.filter((slot) => mayBe(slot, selector)) : [];
  if (list.tokens.length === 0) {
    const message = `the module shows no token${unreadable.length === 0 ? " at all" : ""}${describeUnreadable(unreadable)}`;
    throw new SignerError("unavailable", withHint(message, hint));
  }
  const flagged = list.tokens.filter((token) => token.initialized);
  const present = list.tokens.filter((token) => token.initialized || isNamed(token, selector, flagged.length > 0));
  const all = matchesLibrary(list, selector) ? present.filter((token) => matches(token, selector)) : [];
  const initialized = all.filter((token) => token.initialized);
  const matching = initialized.length > 0 ? initialized : all;
  const [token] = matching;
  if (token === undefined) {
    const message = `no token matches ${describeSelector(selector)}; the module has ${describe(present)}`;
    if (unreadable.length > 0) throw new SignerError("unavailable", `${message}${describeUnreadable(unreadable)}`);
    throw new SignerError("key_not_found", present.length === 0 ? withHint(message, hint) : message);
  }
  if (matching.length > 1) {
    throw new SignerError(
      "ambiguous_key",
      `more than one token matches ${describeSelector(selector)}: ${describe(matching)}`,
    );
  }
  return token;
}

/** Whether it is a token without the flag. A blank slot may have a serial. It counts if the caller gave it and no token has the flag. */
function isNamed({ label, serial }: TokenDescription, selector: TokenSelector, anyFlagged: boolean): boolean {
  return label !== "" || (!anyFlagged && selector.serial !== undefined && serial !== "");
}

function withHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message}. ${hint}`;
}

/** The same token as before, in any slot. */
export function findAgain(list: TokenList, before: TokenDescription): TokenDescription | undefined {
  const same = list.tokens.filter(
    (token) =>
      (token.initialized || !before.initialized || token.label !== "") &&
      token.label === before.label &&
      token.serial === before.serial,
  );
  return same.find((token) => token.slotId === before.slotId) ?? (same.length === 1 ? same[0] : undefined);
}

/** The same token as in an earlier child process. @throws SignerError `unavailable` when it is not there: it may come back. */
export function selectAgain(list: TokenList, before: TokenDescription, hint?: string): TokenDescription {
  const token = findAgain(list, before);
  if (token === undefined) throw missingToken(list, before, hint);
  return token;
}

/** The error for a token that was there before. `hint`: what to check if the module shows none at all. */
export function missingToken(list: TokenList, { label, serial }: TokenDescription, hint?: string): SignerError {
  const name = `the token ${JSON.stringify(label)} (serial ${serial})`;
  const there = describe(list.tokens.filter((token) => token.initialized || token.label !== ""));
  const message = `${name} is not found again; the module has ${there}${describeUnreadable(list.unreadable)}`;
  return new SignerError("unavailable", list.tokens.length === 0 ? withHint(message, hint) : message);
}

function matchesLibrary({ library }: TokenList, selector: TokenSelector): boolean {
  return (
    same(selector.libraryDescription, library.description) &&
    same(selector.libraryManufacturer, library.manufacturer) &&
    (selector.libraryVersion === undefined ||
      selector.libraryVersion === library.version ||
      selector.libraryVersion === library.version.split(".")[0])
  );
}

/** Whether the name of a token matches. */
export function hasName(
  { label, serial }: Pick<TokenDescription, "label" | "serial">,
  selector: TokenSelector,
): boolean {
  return same(selector.token, label) && same(selector.serial, serial);
}

/** Whether the token matches in some slot. */
export function mayMatch(token: TokenDescription, selector: TokenSelector): boolean {
  return (
    hasName(token, selector) && same(selector.manufacturer, token.manufacturer) && same(selector.model, token.model)
  );
}

function matches(token: TokenDescription, selector: TokenSelector): boolean {
  return (
    mayMatch(token, selector) &&
    same(selector.slotDescription, token.slotDescription) &&
    same(selector.slotManufacturer, token.slotManufacturer) &&
    (selector.slotId === undefined || selector.slotId === token.slotId)
  );
}

/** Only its slot is known. */
function mayBe({ slotId }: UnreadableSlot, selector: TokenSelector): boolean {
  return selector.slotId === undefined || selector.slotId === slotId;
}

// The module pads its texts, and a user may have copied the padding.
function same(wanted: string | undefined, actual: string): boolean {
  return wanted === undefined || wanted.replace(/[\0 ]+$/, "") === actual;
}

function describeSelector(selector: TokenSelector): string {
  const parts = Object.entries(selector).filter(([, value]) => value !== undefined);
  return parts.length === 0
    ? "(any token)"
    : parts
        .map(([name, value]) => `${name} ${typeof value === "string" ? shown(value) : JSON.stringify(value)}`)
        .join(", ");
}

function describe(tokens: readonly TokenDescription[]): string {
  if (tokens.length === 0) return "no initialized token";
  return tokens
    .map(({ label, serial, slotId }) => `${JSON.stringify(label)} (serial ${serial}, slot ${slotId})`)
    .join(", ");
}

function describeUnreadable(slots: readonly UnreadableSlot[]): string {
  return slots
    .map(({ slotId, code }) => `; slot ${slotId} cannot be read (C_GetTokenInfo: ${describeCode(code)})`)
    .join("");
}
