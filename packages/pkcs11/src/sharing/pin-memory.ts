// What one process knows of the PINs that its tokens refused and accepted, in shared memory, so that every thread sees it at
// once. No PIN is in it: a keyed hash tells whether a PIN is one of them, and the key is random.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type TokenName, tokenKey } from "../wire/token-name.ts";

const KEY_BYTES = 32;
/** When it was made, by the clock that all threads have: 64 bits. */
const MADE_AT = KEY_BYTES;
const NUMBERS = MADE_AT + BigInt64Array.BYTES_PER_ELEMENT;
/** Of 32 bits each: how often everything was forgotten, which entry is overwritten next, whether its thread has ended, */
const FORGOTTEN = 0;
const NEXT = 1;
const ENDED = 2;
/** and since when a login is under way, for the tokens that fall on that place. */
const LOCKS = 3;
/** So many that two tokens hardly ever share a place: a login that hangs would hold up those of the other one. */
const LOCK_COUNT = 1_024;
/** The states of the entries, behind the locks. Their tags follow. */
const STATES = LOCKS + LOCK_COUNT;
const ENTRIES = 128;
const TAGS = NUMBERS + (STATES + ENTRIES) * Int32Array.BYTES_PER_ELEMENT;
const HALF_TAG = 16;
const TAG = 2 * HALF_TAG;

/**
 * | state | the token and the PIN of an entry |
 * |---|---|
 * | `FREE` | none |
 * | `WRITING` | being written |
 * | `REFUSED` | refused since the token accepted one last |
 * | `REFUSED_BEFORE` | refused before that |
 * | `ACCEPTED` | accepted, and none since |
 * | `LOST` | sent once since the token accepted one last, and its answer is not there yet, or was lost |
 * | `LOST_TWICE` | sent again, and the same is true of that answer |
 */
const FREE = 0;
const WRITING = 1;
const REFUSED = 2;
const REFUSED_BEFORE = 3;
const ACCEPTED = 4;
const LOST = 5;
const LOST_TWICE = 6;

/**
 * A login that has not ended after this time is not waited for: its thread is gone. Milliseconds, of the monotonic clock alone: a
 * wall clock that is set forward must not let two logins with one wrong PIN run at once.
 */
const LOCK_MS = 15_000;

/** What crosses to other threads. */
export type SharedPins = SharedArrayBuffer;

/** Refused and accepted PINs by token. The oldest refusals give way once there are {@link ENTRIES}. */
export class PinMemory {
  readonly shared: SharedPins;
  readonly #numbers: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;

  /** Without an argument it is new. */
  constructor(shared?: SharedPins) {
    this.shared = shared ?? new SharedArrayBuffer(TAGS + ENTRIES * TAG);
    this.#numbers = new Int32Array(this.shared, NUMBERS, STATES + ENTRIES);
    this.#bytes = new Uint8Array(this.shared);
    if (shared !== undefined) return;
    this.#bytes.set(randomBytes(KEY_BYTES));
    new BigInt64Array(this.shared, MADE_AT, 1)[0] = process.hrtime.bigint();
  }

  /** Tells memories apart, and puts the oldest first. */
  get order(): string {
    const madeAt = new BigInt64Array(this.shared, MADE_AT, 1)[0] ?? 0n;
    return madeAt.toString().padStart(20, "0") + Buffer.from(this.#bytes.slice(0, 4)).toString("hex");
  }

  get isEmpty(): boolean {
    return this.#indexes([REFUSED, REFUSED_BEFORE, ACCEPTED, LOST, LOST_TWICE]).length === 0;
  }

  /** Counts how often everything was forgotten. */
  get forgotten(): number {
    return Atomics.load(this.#numbers, FORGOTTEN);
  }

  /** Its thread has ended, and does not write in it any more. */
  get ended(): boolean {
    return Atomics.load(this.#numbers, ENDED) === 1;
  }

  end(): void {
    Atomics.store(this.#numbers, ENDED, 1);
  }

  /** What stands for a PIN of a token here, and means nothing without the key. */
  tag(token: TokenName, pin: string): Uint8Array {
    return Buffer.concat([this.#half(tokenKey(token)), this.#half(JSON.stringify([tokenKey(token), pin]))]);
  }

  /** Whether the tag is one of this token, and of this PIN where one is given. */
  isTagOf(token: TokenName, tag: Uint8Array, pin?: string): boolean {
    const expected = pin === undefined ? this.#half(tokenKey(token)) : this.tag(token, pin);
    return tag.length >= expected.length && timingSafeEqual(tag.subarray(0, expected.length), expected);
  }

  isRefused(token: TokenName, pin: string): boolean {
    return this.#find([REFUSED, REFUSED_BEFORE], this.tag(token, pin)).length > 0;
  }

  /** How many PINs the token has refused since it accepted one last. */
  refusals(token: TokenName): number {
    return this.#find([REFUSED], this.#half(tokenKey(token))).length;
  }

  /** How many answers of the token were lost since it accepted a PIN last: of one PIN, or of all. */
  losses(token: TokenName, pin?: string): number {
    const start = pin === undefined ? this.#half(tokenKey(token)) : this.tag(token, pin);
    return this.#find([LOST], start).length + 2 * this.#find([LOST_TWICE], start).length;
  }

  /** Whether it is the PIN that the token accepted last. Undefined when that is not known. */
  isAccepted(token: TokenName, pin: string): boolean | undefined {
    const [index] = this.#find([ACCEPTED], this.#half(tokenKey(token)));
    return index === undefined ? undefined : timingSafeEqual(this.#tagAt(index), this.tag(token, pin));
  }

  /** The token has refused it: that it was accepted or lost before counts no more. */
  disprove(token: TokenName, pin: string): void {
    this.#freeAll([ACCEPTED, LOST, LOST_TWICE], this.tag(token, pin));
  }

  refuse(token: TokenName, pin: string): void {
    this.disprove(token, pin);
    if (!this.isRefused(token, pin)) this.#write(REFUSED, this.tag(token, pin));
  }

  /** It was sent, and the answer was lost. */
  lose(token: TokenName, pin: string): void {
    const state = this.losses(token, pin) === 0 ? LOST : LOST_TWICE;
    this.#freeAll([LOST, LOST_TWICE], this.tag(token, pin));
    this.#write(state, this.tag(token, pin));
  }

  /** The answer came after all, and says nothing of the PIN: takes back one loss. */
  regain(token: TokenName, pin: string): void {
    const losses = this.losses(token, pin);
    this.#freeAll([LOST, LOST_TWICE], this.tag(token, pin));
    if (losses > 1) this.#write(LOST, this.tag(token, pin));
  }

  accept(token: TokenName, pin: string): void {
    const half = this.#half(tokenKey(token));
    for (const index of this.#find([REFUSED], half)) Atomics.store(this.#numbers, STATES + index, REFUSED_BEFORE);
    this.#freeAll([REFUSED_BEFORE], this.tag(token, pin));
    this.#freeAll([LOST, LOST_TWICE], half);
    if (this.isAccepted(token, pin) === true) return;
    this.#freeAll([ACCEPTED], half);
    this.#write(ACCEPTED, this.tag(token, pin));
  }

  /** Forgets every refusal, and what was lost. */
  forgetRefusals(): void {
    for (const index of this.#indexes([REFUSED, REFUSED_BEFORE, LOST, LOST_TWICE])) this.#free(index);
    Atomics.add(this.#numbers, FORGOTTEN, 1);
  }

  /** Takes the turn of a token for a login. Returns how to give it back, or undefined while another thread has it. */
  tryLock(token: TokenName): (() => void) | undefined {
    const place = this.#lockOf(token);
    const before = Atomics.load(this.#numbers, place);
    // Read after it, so that the difference is never negative: it counts to 49 days where 32 bits have wrapped around.
    const now = milliseconds();
    if (before !== 0 && (now - before) >>> 0 < LOCK_MS) return undefined;
    if (Atomics.compareExchange(this.#numbers, place, before, now) !== before) return undefined;
    return () => void Atomics.compareExchange(this.#numbers, place, now, 0);
  }

  #lockOf(token: TokenName): number {
    return LOCKS + (this.#half(tokenKey(token)).readUInt16BE() % LOCK_COUNT);
  }

  #half(text: string): Buffer {
    const key = Buffer.from(this.#bytes.slice(0, KEY_BYTES));
    return createHmac("sha256", key).update(text).digest().subarray(0, HALF_TAG);
  }

  #indexes(states: readonly number[]): readonly number[] {
    const found: number[] = [];
    for (let index = 0; index < ENTRIES; index += 1) {
      if (states.includes(Atomics.load(this.#numbers, STATES + index))) found.push(index);
    }
    return found;
  }

  /** Entries whose tag begins so: a half for a token, the whole for one of its PINs. */
  #find(states: readonly number[], start: Uint8Array): readonly number[] {
    return this.#indexes(states).filter((index) =>
      timingSafeEqual(this.#tagAt(index).subarray(0, start.length), start),
    );
  }

  #tagAt(index: number): Buffer {
    return Buffer.from(this.#bytes.slice(TAGS + index * TAG, TAGS + (index + 1) * TAG));
  }

  #freeAll(states: readonly number[], start: Uint8Array): void {
    for (const index of this.#find(states, start)) this.#free(index);
  }

  #free(index: number): void {
    Atomics.store(this.#numbers, STATES + index, FREE);
  }

  #write(state: number, tag: Uint8Array): void {
    const index = this.#claim();
    this.#bytes.set(tag, TAGS + index * TAG);
    Atomics.store(this.#numbers, STATES + index, state);
  }

  /** A free entry, or the one that gives way: first what counts least. */
  #claim(): number {
    for (const state of [FREE, REFUSED_BEFORE, LOST, REFUSED, LOST_TWICE, ACCEPTED]) {
      for (let tries = 0; tries < ENTRIES; tries += 1) {
        const index = Math.abs(Atomics.add(this.#numbers, NEXT, 1) % ENTRIES);
        if (Atomics.compareExchange(this.#numbers, STATES + index, state, WRITING) === state) return index;
      }
    }
    return 0;
  }
}

/** Of 32 bits that wrap around, never 0. */
function milliseconds(): number {
  return Number(process.hrtime.bigint() / 1_000_000n) | 0 || 1;
}
