import { createHmac, randomBytes } from "node:crypto";
import type { PinSource } from "../request/pin.ts";
import { isRefusedPin, PinError } from "../wire/pin-error.ts";
import type { PinVerdict } from "../wire/pin-outcomes.ts";
import type { TokenName } from "../wire/token-name.ts";
import type { LoginPins, PinTry } from "./login-pins.ts";

/** A PIN for one login, and whose it is. */
export interface TakenPin {
  readonly source: PinSource;
  readonly attempt: PinTry;
}

/** `differs`: a later login was made with another PIN. */
type Standing = PinVerdict | "differs";

const NOTES: Readonly<Record<Standing, string | undefined>> = {
  proven: undefined,
  changed: "the PIN was changed: the token accepted the previous one, and the next login proves the new one",
  differs: "the PIN is not the one that the token last accepted",
  unproven: "the PIN was not proven: another login in this process covers it",
};

/** The PINs of one token's signers: which one the next login takes, and what is known of each. */
export class SignerPins {
  readonly #token: TokenName;
  readonly #pins: LoginPins;
  /** In the order in which they are tried. */
  #sources: readonly PinSource[] = [];
  readonly #standings: Map<PinSource, Standing> = new Map();
  /** Of signers that were let in by an earlier child process. */
  readonly #wereIn: WeakSet<PinSource> = new WeakSet();
  readonly #withdraw: () => void;
  /** Whose PIN the token accepted, or one that was found to be the same. */
  #accepted: PinSource | undefined;
  readonly #tagKey = randomBytes(32);
  /** Of the PIN that the token last accepted from the pool. The PIN itself is not kept. */
  #acceptedTag: string | undefined;
  /** It is being asked for the PIN of a login. */
  #asked: PinSource | undefined;
  /** The token is logged in, and not by the pool's own login. */
  #isCovered = false;
  #isClosed = false;

  constructor(token: TokenName, pins: LoginPins) {
    this.#token = token;
    this.#pins = pins;
    this.#withdraw = pins.offer(token, () => this.#accepted);
  }

  /** Whose PIN the next login takes. The one that the token accepted may be of a signer that is closed. */
  get source(): PinSource | undefined {
    return this.#accepted ?? this.#sources[0];
  }

  /**
   * Whose PIN a login for one key uses: the PIN of the key's signer, unless another one is known to be right
   * and this one is not.
   */
  sourceFor(own: PinSource): PinSource {
    const isDoubtful = (this.#standings.get(own) ?? "proven") !== "proven";
    return isDoubtful && this.#accepted !== undefined ? this.#accepted : own;
  }

  /**
   * A PIN for a login, of the source `first`. Where that one fails, of the first other signer that gives one: nothing was
   * sent yet. Rejects with the error of `first`.
   */
  async take(first: PinSource): Promise<TakenPin> {
    try {
      return { source: first, attempt: await this.#ask(first) };
    } catch (error) {
      const other = isRefusedPin(error) ? undefined : await this.#takeOther(first);
      if (other === undefined) throw error;
      return other;
    }
  }

  /** `wasIn`: its signer was let in by an earlier child process. */
  add(source: PinSource, wasIn: boolean = false): void {
    if (wasIn) this.#wereIn.add(source);
    this.#sources = [...this.#sources, source];
  }

  /** Its signer is gone. Its PIN is kept only if other signers' logins need it, because none of their PINs is known to be right. */
  remove(source: PinSource): void {
    this.#sources = this.#sources.filter((other) => other !== source);
    this.#standings.delete(source);
    if (this.#accepted === source) this.#accepted = this.#sources.find((other) => this.#isProven(other)) ?? source;
  }

  /** It is tried first. */
  prefer(source: PinSource): void {
    this.#accepted = undefined;
    this.#sources = [source, ...this.#sources.filter((other) => other !== source)];
  }

  /** The token accepted it. `forSignature`: for one signature, which says nothing new while source and PIN are the same. */
  accepted({ source, attempt }: TakenPin, forSignature: boolean): void {
    // By a login that hung until then.
    if (this.#isClosed) return;
    const tag = createHmac("sha256", this.#tagKey).update(attempt.pin).digest("base64");
    const isKnown = forSignature && this.#accepted === source && this.#acceptedTag === tag;
    this.#accepted = source;
    this.#acceptedTag = tag;
    this.#isCovered = false;
    if (!this.#sources.includes(source)) return;
    this.#standings.set(source, "proven");
    if (isKnown) return;
    // The PIN may have been changed: a login may prove what was not proven before, and disprove what was.
    for (const other of this.#sources) {
      const isSame = this.#isProven(other) && other.identity === source.identity;
      if (this.#standings.has(other) && !isSame) void this.#lookAgain(other);
    }
  }

  /** The token has refused it. Another one is tried first from now on. */
  refused(source: PinSource): void {
    if (this.#accepted === source) this.#accepted = undefined;
    this.#standings.delete(source);
    if (!this.#sources.includes(source)) return;
    this.#sources = [...this.#sources.filter((other) => other !== source), source];
  }

  /** Whether a source that was refused now returns the PIN that the token accepted, or is of a signer that is closed. */
  async isCorrected(source: PinSource): Promise<boolean> {
    if (!this.#sources.includes(source)) return true;
    const accepted = this.#accepted;
    const verdict = await this.#pins.compare(source, this.#token, accepted).catch(() => undefined);
    if (verdict !== "proven") return false;
    if (this.#sources.includes(source)) this.#stands(source, verdict, accepted);
    return true;
  }

  /** The token is logged in. */
  covered(): void {
    this.#isCovered ||= this.#accepted === undefined;
  }

  /**
   * Whether the PIN of a new signer is the one that the token is logged in with. Rejects with a PinError when it is not. A signer
   * that was admitted before continues with another signer's login, as it does when its sessions are replaced: its PIN may have
   * been changed since, or its source may fail.
   */
  async admit(source: PinSource): Promise<void> {
    if (this.#isProven(source)) return;
    const accepted = this.#accepted;
    if (accepted === undefined && !this.#isCovered) return;
    if (this.#wereIn.has(source)) return void this.#lookAgain(source);
    // Also if both are the same function: it may return another PIN by now.
    this.#stands(source, await this.#compare(source, accepted), accepted);
  }

  /** The same for a signer that was let in before there was a login of the pool to compare its PIN with. */
  async admitLate(source: PinSource): Promise<void> {
    const standing = this.#standings.get(source);
    const isUnknown = standing === "unproven" && this.#accepted === undefined;
    const isSettled = standing === "changed" || isUnknown || this.#wereIn.has(source);
    if (!isSettled) await this.admit(source);
  }

  /** Whose PIN a login waits for. */
  get asked(): PinSource | undefined {
    return this.#asked;
  }

  /** What is to be known of a signer's PIN. */
  note(source: PinSource): string | undefined {
    return NOTES[this.#standings.get(source) ?? "proven"];
  }

  /** Every signer of the token is closed. */
  close(): void {
    this.#isClosed = true;
    this.#withdraw();
    this.#accepted = undefined;
    this.#sources = [];
    this.#standings.clear();
  }

  async #ask(source: PinSource): Promise<PinTry> {
    this.#asked = source;
    try {
      return await this.#pins.take(source, this.#token);
    } finally {
      this.#asked = undefined;
    }
  }

  async #takeOther(failed: PinSource): Promise<TakenPin | undefined> {
    const asked = new Set([failed.identity]);
    for (;;) {
      const source = this.#candidates().find(({ identity }) => !asked.has(identity));
      if (source === undefined) return undefined;
      asked.add(source.identity);
      const attempt = await this.#ask(source).catch(() => undefined);
      if (attempt !== undefined) return { source, attempt };
    }
  }

  /** While the PIN is being changed, any source that was proven may be the first to return the new one. */
  async #compare(source: PinSource, accepted: PinSource | undefined): Promise<PinVerdict> {
    try {
      return await this.#pins.compare(source, this.#token, accepted);
    } catch (error) {
      const verdict = error instanceof PinError ? await this.#compareWithOthers(source, accepted) : undefined;
      if (verdict === undefined) throw error;
      return verdict;
    }
  }

  async #compareWithOthers(source: PinSource, accepted: PinSource | undefined): Promise<PinVerdict | undefined> {
    const asked = new Set([accepted?.identity]);
    for (const other of this.#sources) {
      if (asked.has(other.identity) || !this.#isProven(other)) continue;
      asked.add(other.identity);
      const verdict = await this.#pins.compare(source, this.#token, other).catch(() => undefined);
      if (verdict !== undefined) return verdict;
    }
    return undefined;
  }

  /** In the order in which they are tried. A PIN that is not the accepted one is not sent while another one is. */
  #candidates(): readonly PinSource[] {
    if (this.#accepted === undefined) return this.#sources;
    return [this.#accepted, ...this.#sources.filter((source) => this.#standings.get(source) !== "differs")];
  }

  #isProven(source: PinSource): boolean {
    return this.#standings.get(source) === "proven";
  }

  /** `accepted`: what it was compared with. The source of a signer that is closed is not needed any more. */
  #stands(source: PinSource, standing: Standing, accepted: PinSource | undefined): void {
    this.#standings.set(source, standing);
    const isNeeded = accepted !== undefined && this.#sources.includes(accepted);
    if (standing === "proven" && this.#accepted === accepted && !isNeeded) this.#accepted = source;
  }

  /** Compares it with the PIN of a later login. */
  async #lookAgain(source: PinSource): Promise<void> {
    const before = this.#standings.get(source);
    const accepted = this.#accepted;
    const standing = await this.#pins
      .compare(source, this.#token, accepted)
      .catch((error: unknown) => (error instanceof PinError && error.reason === "compared" ? "differs" : before));
    if (standing !== undefined && this.#sources.includes(source)) this.#stands(source, standing, accepted);
  }
}
