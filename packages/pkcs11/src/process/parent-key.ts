import type { SignerError, SignerHealth } from "@signpost/core";
import type { TokenDescription } from "../cryptoki/descriptions.ts";
import { type KeyRequest, queryAgain } from "../request/key-request.ts";
import type { OpenedInChild } from "../wire/child-messages.ts";
import { fromWire } from "../wire/wire-error.ts";
import type { ChildLink } from "./child-link.ts";

/** A key by its number in one child. */
export interface KeyInChild {
  readonly child: ChildLink;
  readonly number: number;
}

/** A key that a signer of this process uses, through any child. */
export interface ParentKey {
  /** The next child's input: the key there must match what was found when it was first opened. */
  readonly request: KeyRequest;
  readonly pin: number;
  /** Its state when the key was first opened. */
  readonly token: TokenDescription;
  /** Where it is open now. */
  current: KeyInChild | undefined;
  /** Why it is open nowhere, and not being opened. */
  failure: SignerError | undefined;
  /** Where it is, once that is known, or the failure. */
  opened: () => Promise<KeyInChild>;
}

/** A key that was just opened in a child. */
export function parentKey(child: ChildLink, request: KeyRequest, pin: number, opened: OpenedInChild): ParentKey {
  const current = { child, number: opened.key };
  const { token, publicKey } = opened;
  const again = { ...request, query: queryAgain(request.query, opened), before: { token, publicKey } };
  return { request: again, pin, token, current, failure: undefined, opened: async () => current };
}

/** Opens a key in a child, which asks for its PIN by number. */
export async function openInChild(
  child: ChildLink,
  { pin: source, ...request }: KeyRequest,
  pin: number,
): Promise<OpenedInChild> {
  const input = { ...request, pin, pinName: source.name };
  return (await child.call({ type: "open", input })) as OpenedInChild;
}

/** The key in the child that holds it, or in the next one, once there is one. */
export async function keyInChild(key: ParentKey): Promise<KeyInChild> {
  for (;;) {
    const opened = await key.opened();
    if (!opened.child.leaving) return opened;
    await opened.child.exited;
  }
}

/** The key is open in no child: `error` says why. */
export function isNowhere(key: ParentKey, error: SignerError): void {
  key.current = undefined;
  key.failure = error;
  key.opened = async () => {
    throw error;
  };
}

/** The key's part of health. */
export function keyStatus({ current, failure }: ParentKey): SignerHealth["status"] {
  if (failure !== undefined) return "down";
  if (current === undefined || current.child.leaving) return "degraded";
  return current.child.state(current.number)?.status ?? "ready";
}

/** The notes of the key's health. */
export function keyNotes({ current, failure }: ParentKey): readonly string[] {
  return failure === undefined ? (current?.child.state(current.number)?.notes ?? []) : [failure.message];
}

/** What the child knows about the token's refusal of a PIN. */
export function refusalIn(current: KeyInChild | undefined): unknown {
  const refusal = current?.child.state(current.number)?.refusal;
  return refusal === undefined ? undefined : fromWire(refusal);
}
