import { expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { isOutOfTime } from "@signpost/core/adapter";

test.each<[boolean, string, AbortSignal | undefined]>([
  [true, "a signal that ended because the time was over", AbortSignal.abort(new SignerError("timeout", "no answer"))],
  [false, "a caller that gave up", AbortSignal.abort(new Error("gone"))],
  [false, "a signer that was closed", AbortSignal.abort(new SignerError("closed", "closed"))],
  [false, "a signal that has not aborted", new AbortController().signal],
  [false, "no signal", undefined],
])("out of time is %s for %s", (expected, _what, signal) => {
  expect(isOutOfTime(signal)).toBe(expected);
});
