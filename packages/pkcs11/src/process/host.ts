import { type P256PublicJwk, SignerError, type SignerHealth } from "@signpost/core";
import type { KeyRequest } from "../backend.ts";
import { type PinSource, samePin } from "../pin.ts";
import { sameKey } from "../public-key.ts";
import { Child } from "./child-handle.ts";
import type { OpenedKey, ToParent } from "./messages.ts";

/** The first start after the end of a child comes at once, later ones so much apart, twice as much each time. Milliseconds. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

/** A key by its number in one child. */
interface ChildKey {
  readonly child: Child;
  readonly key: number;
}

/** A key that a signer of this process uses, through whatever child there is. */
export interface HostedKey {
  readonly request: KeyRequest;
  readonly pin: number;
  /** Known once the key was opened. From then on it never changes. */
  publicKey: P256PublicJwk | undefined;
  /** The child's key, or why there is none now. Pending while a child is being started. */
  opened: () => Promise<ChildKey>;
  /** No child can cure this. */
  refusal: SignerError | undefined;
  status: SignerHealth["status"];
  notes: readonly string[];
  remoteKey: number | undefined;
}

/** The child process for one module, and its successors. */
export class ChildHost {
  readonly #keys: Set<HostedKey> = new Set();
  readonly #pins: PinSource[] = [];
  #child: Child | undefined;
  #pauses = 0;
  #timer: NodeJS.Timeout | undefined;
  #lastEnd: string | undefined;
  #closed = false;

  get keys(): number {
    return this.#keys.size;
  }

  async open(request: KeyRequest): Promise<{ readonly key: HostedKey; readonly opened: OpenedKey }> {
    // Another start now would be one more crash, and a second child beside the one to come.
    if (this.#timer !== undefined) throw this.#notYet();
    const child = (this.#child ??= this.#start());
    const key: HostedKey = {
      request,
      pin: this.#pinNumber(request.pin),
      publicKey: request.publicKey,
      opened: fails(new SignerError("unavailable", "the key is being opened")),
      refusal: undefined,
      status: "ready",
      notes: [],
      remoteKey: undefined,
    };
    const opened = await this.#openIn(child, key);
    key.publicKey = opened.publicKey;
    key.opened = async () => ({ child, key: opened.key });
    this.#keys.add(key);
    return { key, opened };
  }

  async sign(key: HostedKey, digest: Uint8Array): Promise<Uint8Array> {
    if (key.refusal !== undefined) throw key.refusal;
    const opened = await key.opened();
    const signature = await opened.child.call({ type: "sign", key: opened.key, digest });
    this.#pauses = 0;
    if (!(signature instanceof Uint8Array))
      throw new SignerError("integrity", "the child process answered with no signature");
    return signature;
  }

  status(key: HostedKey): SignerHealth["status"] {
    if (key.refusal !== undefined || this.#timer !== undefined) return "down";
    return this.#child === undefined || key.remoteKey === undefined ? "degraded" : key.status;
  }

  notes(key: HostedKey): readonly string[] {
    const refusal = key.refusal === undefined ? [] : [key.refusal.message];
    const end =
      this.#lastEnd === undefined ? [] : [`the child process was started again after its end: ${this.#lastEnd}`];
    return [...key.notes, ...refusal, ...end];
  }

  async close(key: HostedKey): Promise<void> {
    this.#keys.delete(key);
    const opened = await key.opened().catch(() => undefined);
    await opened?.child.call({ type: "close", key: opened.key }).catch(() => {});
  }

  /** Ends the child. */
  async stop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#child?.stop();
  }

  #start(): Child {
    const child = new Child({
      pin: async (number) => this.#pins[number]?.read(),
      state: (message) => this.#remember(message),
      ended: (reason) => this.#ended(child, reason),
    });
    return child;
  }

  #ended(child: Child, reason: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    for (const key of this.#keys) Object.assign(key, { remoteKey: undefined, status: "ready", notes: [] });
    if (this.#closed || this.#keys.size === 0) return;
    this.#lastEnd = reason;
    this.#restart();
  }

  /** A module that crashes again and again gets less and less of the machine. */
  #restart(): void {
    const pause = this.#pauses === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#pauses - 1));
    this.#pauses += 1;
    if (pause === 0) return this.#reopenAll();
    for (const key of this.#keys) key.opened = fails(this.#notYet());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#reopenAll();
    }, pause).unref();
  }

  #notYet(): SignerError {
    return new SignerError(
      "unavailable",
      `the child process ended (${this.#lastEnd ?? ""}) and is not started again yet`,
    );
  }

  #reopenAll(): void {
    const child = (this.#child = this.#start());
    for (const key of this.#keys) {
      // Not tried again: each child would count a wrong PIN once more.
      if (key.refusal !== undefined) continue;
      const opening = this.#reopen(child, key);
      opening.catch(() => {});
      key.opened = () => opening;
    }
  }

  async #reopen(child: Child, key: HostedKey): Promise<ChildKey> {
    try {
      const opened = await this.#openIn(child, key);
      if (key.publicKey !== undefined && !sameKey(opened.publicKey, key.publicKey)) {
        throw new SignerError("wrong_key", `the token holds another key as ${JSON.stringify(opened.label)} now`);
      }
      return { child, key: opened.key };
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : "";
      const error =
        cause instanceof SignerError
          ? cause
          : new SignerError("unavailable", `the key could not be opened again: ${message}`, { cause });
      if (!error.transient) key.refusal = error;
      // The child may live on and the token come back: from the start, after the next pause.
      else if (!child.ended) child.kill(`a key could not be opened again: ${message}`);
      throw error;
    }
  }

  async #openIn(child: Child, key: HostedKey): Promise<OpenedKey> {
    const { pin: _pin, ...request } = key.request;
    const input = { ...request, pin: key.pin, publicKey: key.request.publicKey };
    const opened = (await child.call({ type: "open", input })) as OpenedKey;
    key.remoteKey = opened.key;
    return opened;
  }

  #remember({ key: number, status, notes }: Extract<ToParent, { type: "state" }>): void {
    for (const key of this.#keys) {
      if (key.remoteKey !== number) continue;
      key.status = status;
      key.notes = notes;
    }
  }

  #pinNumber(pin: PinSource): number {
    const known = this.#pins.findIndex((other) => samePin(other, pin));
    return known >= 0 ? known : this.#pins.push(pin) - 1;
  }
}

function fails(error: SignerError): () => Promise<never> {
  return async () => {
    throw error;
  };
}
