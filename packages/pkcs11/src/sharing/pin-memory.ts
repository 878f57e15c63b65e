// What one process knows about the PINs that its tokens refused and accepted. It is in shared memory, so every thread sees
// a change immediately. It holds no PIN: a keyed hash shows whether a PIN is one of them, and the key is random.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type TokenName, pinKey } from "../wire/token-name.ts";

const KEY_BYTES = 32;
/** When it was made, by the clock that all threads share: 64 bits. */
const MADE_AT = KEY_BYTES;
const NUMBERS = MADE_AT + BigInt64Array.BYTES_PER_ELEMENT;
/** 32 bits each: how often everything was forgotten, which entry is overwritten next, whether its thread has ended, */
const FORGOTTEN = 0;
const NEXT = 1;
const ENDED = 2;
/** and since when a login has been running, for the tokens that share that place. */
const LOCKS = 3;
/** So many that two tokens rarely share a place. If they do, a login that hangs delays those of the other token. */
const LOCK_COUNT = 1_024;
/** The states of the entries, after the locks. Their tags follow. */
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
 * | `REFUSED` | refused since the token last accepted one |
 * | `REFUSED_BEFORE` | refused before that |
 * | `ACCEPTED` | the last one that was accepted |
 * | `LOST` | sent once since the token last accepted one, and its answer is missing or was lost |
 * | `LOST_TWICE` | sent again, and that answer is missing or was lost too |
 */
const FREE = 0;
const WRITING = 1;
const REFUSED = 2;
const REFUSED_BEFORE = 3;
const ACCEPTED = 4;
const LOST = 5;
const LOST_TWICE = 6;

/**
 * A login that has not ended after this time is not waited for, because its thread is gone. Milliseconds, by the monotonic
 * clock only: setting the wall clock forward must not let two logins with one wrong PIN run at the same time.
 */
const LOCK_MS = 15_000;

/** What is sent to other threads. */
export type SharedPins = SharedArrayBuffer;

/** Refused and accepted PINs by token. With {@link ENTRIES} in use, the oldest refusals are replaced. */
export class PinMemory {
  readonly shared: SharedPins;
  readonly #numbers: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Uint8Array<SharedArrayBuffer>;

  /** A new memory, unless an argument is given. */
  constructor(shared?: SharedPins) {
    this.shared = shared ?? new SharedArrayBuffer(TAGS + ENTRIES * TAG);
    this.#numbers = new Int32Array(this.shared, NUMBERS, STATES + ENTRIES);
    this.#bytes = new Uint8Array(this.shared);
    if (shared !== undefined) return;
    this.#bytes.set(randomBytes(KEY_BYTES));
    new BigInt64Array(this.shared, MADE_AT, 1)[0] = process.hrtime.bigint();
  }

  /** Identifies memories, and sorts the oldest first. */
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

  /** Its thread has ended and no longer writes to it. */
  get ended(): boolean {
    return Atomics.load(this.#numbers, ENDED) === 1;
  }

  end(): void {
    Atomics.store(this.#numbers, ENDED, 1);
  }

  /** A PIN of a token as it is stored here. Meaningless without the key. */
  tag(token: TokenName, pin: string): Uint8Array {
    return Buffer.concat([this.#half(pinKey(token)), this.#half(JSON.stringify([pinKey(token), pin]))]);
  }

  /** Whether the tag belongs to this token, and to this PIN if one is given. */
  isTagOf(token: TokenName, tag: Uint8Array, pin?: string): boolean {
    const expected = pin === undefined ? this.#half(pinKey(token)) : this.tag(token, pin);
    return tag.length >= expected.length && timingSafeEqual(tag.subarray(0, expected.length), expected);
  }

  isRefused(token: TokenName, pin: string): boolean {
    return this.#find([REFUSED, REFUSED_BEFORE], this.tag(token, pin)).length > 0;
  }

  /** How many PINs the token has refused since it last accepted one. */
  refusals(token: TokenName): number {
    return this.#find([REFUSED], this.#half(pinKey(token))).length;
  }

  /** How many answers of the token were lost since it last accepted a PIN, for one PIN or for all. */
  losses(token: TokenName, pin?: string): number {
    const start = pin === undefined ? this.#half(pinKey(token)) : this.tag(token, pin);
    return this.#find([LOST], start).length + 2 * this.#find([LOST_TWICE], start).length;
  }

  /** Whether it is the PIN that the token last accepted. Undefined when that is not known. */
  isAccepted(token: TokenName, pin: string): boolean | undefined {
    const [index] = this.#find([ACCEPTED], this.#half(pinKey(token)));
    return index === undefined ? undefined : timingSafeEqual(this.#tagAt(index), this.tag(token, pin));
  }

  /** The token refused it. That it was accepted or lost before no longer counts. */
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

  /** The answer came after all, and says nothing about the PIN. Undoes one loss. */
  regain(token: TokenName, pin: string): void {
    const losses = this.losses(token, pin);
    this.#freeAll([LOST, LOST_TWICE], this.tag(token, pin));
    if (losses > 1) this.#write(LOST, this.tag(token, pin));
  }

  accept(token: TokenName, pin: string): void {
    const half = this.#half(pinKey(token));
    for (const index of this.#find([REFUSED], half)) Atomics.store(this.#numbers, STATES + index, REFUSED_BEFORE);
    this.#freeAll([REFUSED_BEFORE], this.tag(token, pin));
    this.#freeAll([LOST, LOST_TWICE], half);
    if (this.isAccepted(token, pin) === true) return;
    this.#freeAll([ACCEPTED], half);
    this.#write(ACCEPTED, this.tag(token, pin));
  }

  /** Forgets every refusal and every lost answer. */
  forgetRefusals(): void {
    for (const index of this.#indexes([REFUSED, REFUSED_BEFORE, LOST, LOST_TWICE])) this.#free(index);
    Atomics.add(this.#numbers, FORGOTTEN, 1);
  }

  /** Takes a token's turn for a login. Returns a function that gives it back, or undefined while another thread has it. */
  tryLock(token: TokenName): (() => void) | undefined {
    const place = this.#lockOf(token);
    const before = Atomics.load(this.#numbers, place);
    // Read after it, so that the difference is never negative: it counts up to 49 days after 32 bits wrap around.
    const now = milliseconds();
    if (before !== 0 && (now - before) >>> 0 < LOCK_MS) return undefined;
    if (Atomics.compareExchange(this.#numbers, place, before, now) !== before) return undefined;
    return () => void Atomics.compareExchange(this.#numbers, place, now, 0);
  }

  #lockOf(token: TokenName): number {
    return LOCKS + (this.#half(pinKey(token)).readUInt16BE() % LOCK_COUNT);
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

  /** Entries whose tag begins with these bytes: half a tag for a token, a full tag for one of its PINs. */
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

  /** A free entry, or the one to replace: the least important first. */
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

/** 32 bits that wrap around, never 0. */
function milliseconds(): number {
  return Number(process.hrtime.bigint() / 1_000_000n) | 0 || 1;
}
