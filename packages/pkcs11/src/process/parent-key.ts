import { type P256PublicJwk, SignerError, type SignerHealth } from "@signpost/core";
import type { KeyRequest } from "../request/key-request.ts";
import type { TokenDescription } from "../wire/commands.ts";
import type { Child } from "./child-link.ts";
import { fromWire, type OpenedKey } from "../wire/child-messages.ts";

/** A key by its number in one child. */
export interface ChildKey {
  readonly child: Child;
  readonly number: number;
}

/** A key that a signer of this process uses, through whatever child there is. */
export interface HostedKey {
  readonly request: KeyRequest;
  readonly pin: number;
  /** As it was opened first. Neither ever changes. */
  readonly token: TokenDescription;
  readonly publicKey: P256PublicJwk;
  /** Where it is open now. */
  current: ChildKey | undefined;
  /** Why it is open nowhere, and on its way to no child. */
  failure: SignerError | undefined;
  /** Where it is, once that is known, or the failure. */
  opened: () => Promise<ChildKey>;
}

export function hostedKey(child: Child, request: KeyRequest, pin: number, opened: OpenedKey): HostedKey {
  const current = { child, number: opened.key };
  const { token, publicKey } = opened;
  return { request, pin, token, publicKey, current, failure: undefined, opened: async () => current };
}

/** The key in the child that holds it, or in the next one, once there is one. */
export async function childKey(key: HostedKey): Promise<ChildKey> {
  for (;;) {
    const opened = await key.opened();
    if (!opened.child.leaving) return opened;
    await opened.child.exited;
  }
}

export function isNowhere(key: HostedKey, error: SignerError): void {
  key.current = undefined;
  key.failure = error;
  key.opened = async () => {
    throw error;
  };
}

export function keyStatus({ current, failure }: HostedKey): SignerHealth["status"] {
  if (failure !== undefined) return "down";
  if (current === undefined || current.child.leaving) return "degraded";
  return current.child.state(current.number)?.status ?? "ready";
}

export function keyNotes({ current, failure }: HostedKey): readonly string[] {
  return failure === undefined ? (current?.child.state(current.number)?.notes ?? []) : [failure.message];
}

/** What the child knows of the token's refusal of a PIN. */
export function refusalIn(current: ChildKey | undefined): unknown {
  const refusal = current?.child.state(current.number)?.refusal;
  return refusal === undefined ? undefined : fromWire(refusal);
}

export function closedError(): SignerError {
  return new SignerError("closed", "the signer is closed");
}
