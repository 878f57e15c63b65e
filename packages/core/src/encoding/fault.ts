import { isUint8Array } from "node:util/types";
import { EncodingError } from "../errors.ts";
import type { EncodingErrorCode } from "../errors.ts";
import { given } from "../given.ts";

/** What an error is about: the name of the faulty argument, and the error code of its encoding. */
export interface Subject {
  readonly name: string;
  readonly code: EncodingErrorCode;
}

/** An `EncodingError` whose message starts with the argument's name. Of the input, `problem` may contain what `given` shows, and nothing else. */
export function fault(subject: Subject, problem: string, options?: ErrorOptions): EncodingError {
  return new EncodingError(subject.code, `${subject.name}: ${problem}`, options);
}

/** For a well-formed key whose type or curve is not supported here. */
export function unsupportedKey(subject: Subject, problem: string): EncodingError {
  return fault({ ...subject, code: "unsupported_key" }, problem);
}

/** For a well-formed key of a supported type that is too short to be safe. */
export function weakKey(subject: Subject, problem: string): EncodingError {
  return fault({ ...subject, code: "weak_key" }, problem);
}

/** Also accepts a Uint8Array from another realm (test runners, vm), which `instanceof` would refuse. */
export function assertBytes(value: unknown, subject: Subject): asserts value is Uint8Array {
  if (!isUint8Array(value)) throw fault(subject, `expected a Uint8Array, got ${given(value)}`);
}
