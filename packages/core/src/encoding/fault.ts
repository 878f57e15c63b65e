import { isUint8Array } from "node:util/types";
import { EncodingError } from "../errors.ts";
import type { EncodingErrorCode } from "../errors.ts";

/** Where a fault is reported: the name of the argument that was wrong, and the code of its encoding. */
export interface Subject {
  readonly name: string;
  readonly code: EncodingErrorCode;
}

/** An `EncodingError` that names its argument first. `problem` never holds a value of the input. */
export function fault(subject: Subject, problem: string, options?: ErrorOptions): EncodingError {
  return new EncodingError(subject.code, `${subject.name}: ${problem}`, options);
}

/** For a key that is well-formed, but of a type or curve that is not supported where it was given. */
export function unsupportedKey(subject: Subject, problem: string): EncodingError {
  return fault({ ...subject, code: "unsupported_key" }, problem);
}

/** For a key that is well-formed and of a supported type, but too short to be safe. */
export function weakKey(subject: Subject, problem: string): EncodingError {
  return fault({ ...subject, code: "weak_key" }, problem);
}

/** Also passes a Uint8Array of another realm (test runners, vm), which `instanceof` would refuse. */
export function assertBytes(value: unknown, subject: Subject): asserts value is Uint8Array {
  if (!isUint8Array(value)) throw fault(subject, "expected a Uint8Array");
}
