import { describe, expect, test } from "vitest";
import { SignerError } from "@signpost/core";
import { openRace } from "../../src/signer/race.ts";
import type { Endable } from "../../src/signer/race.ts";
import { CallScope } from "../../src/signer/scope.ts";

// Several attempts for one call: the first good answer wins.

const transient = (): SignerError => new SignerError("unavailable", "not now");
const final = (): SignerError => new SignerError("access_denied", "no");
const turn = async (): Promise<void> => new Promise((later) => setImmediate(later));

interface Attempt {
  readonly ended: unknown[];
  readonly outcomes: unknown[];
  answer(signature: Uint8Array): void;
  fail(error: unknown): void;
}

function started() {
  const scope = new CallScope("test:key", 60_000, undefined);
  const race = openRace(scope);
  const attempts: Attempt[] = [];
  const enter = (): Attempt => {
    const { promise, resolve, reject } = deferred();
    const [ended, outcomes]: [unknown[], unknown[]] = [[], []];
    race.run(
      (branch: Endable) => {
        branch.onEnd((reason) => ended.push(reason));
        return promise;
      },
      {
        signed: () => outcomes.push("signed"),
        failed: (error) => outcomes.push(error),
        lost: () => outcomes.push("lost"),
      },
    );
    const attempt = { ended, outcomes, answer: resolve, fail: reject };
    attempts.push(attempt);
    return attempt;
  };
  const settled = race.result.then(
    (signature) => signature,
    (error: unknown) => error,
  );
  return { scope, race, enter, settled };
}

function deferred() {
  let resolve: (signature: Uint8Array) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<Uint8Array>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}

describe("a race", () => {
  test("is won by the first signature, which ends the others", async () => {
    const { race, enter, settled } = started();
    const [slow, fast] = [enter(), enter()];
    expect(race.isOver).toBe(false);
    fast.answer(Uint8Array.of(2));
    expect(await settled).toEqual(Uint8Array.of(2));
    expect(race.isOver).toBe(true);
    expect(slow.ended).toEqual([expect.objectContaining({ code: "aborted", transient: false })]);
    expect(fast.ended).toEqual([]);
    slow.answer(Uint8Array.of(1));
    await turn();
    expect([slow.outcomes, fast.outcomes]).toEqual([["lost"], ["signed"]]);
  });

  test("goes on after a transient error", async () => {
    const { race, enter, settled } = started();
    const [first, second] = [enter(), enter()];
    const error = transient();
    first.fail(error);
    await turn();
    expect([race.isOver, first.outcomes, second.ended]).toEqual([false, [error], []]);
    second.answer(Uint8Array.of(2));
    expect(await settled).toEqual(Uint8Array.of(2));
  });

  test("is lost with the last error if all fail", async () => {
    const { race, enter, settled } = started();
    const [first, second] = [enter(), enter()];
    const last = transient();
    first.fail(transient());
    await turn();
    second.fail(last);
    expect(await settled).toBe(last);
    expect([race.isOver, second.outcomes]).toEqual([true, [last]]);
  });

  test("is lost at once with an error that is not transient, which ends the others", async () => {
    const { race, enter, settled } = started();
    const [first, second] = [enter(), enter()];
    const error = final();
    first.fail(error);
    expect(await settled).toBe(error);
    expect(race.isOver).toBe(true);
    expect(second.ended).toHaveLength(1);
    second.fail(transient());
    await turn();
    expect(second.outcomes).toEqual(["lost"]);
  });

  test("makes an error of the signer from any other", async () => {
    const { enter, settled } = started();
    enter().fail(new TypeError("a fault"));
    expect(await settled).toMatchObject({ name: "SignerError" });
  });

  test("ends each attempt with the call, and one that starts later at once", () => {
    const { scope, enter } = started();
    const [first, second] = [enter(), enter()];
    const closed = new SignerError("closed", "the signer is closed");
    scope.end(closed);
    expect([first.ended, second.ended]).toEqual([[closed], [closed]]);
    expect(enter().ended).toEqual([closed]);
  });

  test("does not end an attempt that has answered", async () => {
    const { scope, enter, settled } = started();
    const [first, second] = [enter(), enter()];
    first.fail(transient());
    await turn();
    scope.end(new SignerError("closed", "the signer is closed"));
    expect([first.ended.length, second.ended.length]).toEqual([0, 1]);
    second.fail(final());
    await settled;
  });
});
