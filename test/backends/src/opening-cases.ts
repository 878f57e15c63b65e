import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { SignerError, type GuardPolicy, type Signer, type SignerErrorCode } from "@signpost/core";

// One opening rule for every adapter of a remote backend, and one table that proves it. A test passes a harness that opens
// signers through its own client, whose calls give these answers.

/** The outcome of one call: a complete answer, one with a missing member, an outage, a refusal, or no answer at all. */
export type Answer = "whole" | "incomplete" | "outage" | "refusal" | "silence";

/** A client's answers: one for each call in order, and the last one for every call after it. */
export interface Script {
  readonly readKey?: readonly Answer[];
  readonly sign?: readonly Answer[];
}

export interface OpeningHarness {
  /** A client that answers by the script, and a function that opens a signer through it. */
  connect(next: (call: "readKey" | "sign") => Answer): {
    open(options: CommonOptions): Promise<Signer>;
  };
}

/** The options that all adapters share. */
export interface CommonOptions {
  readonly policy?: GuardPolicy | false;
  readonly openDeadlineMs?: number;
  readonly signal?: AbortSignal;
}

export interface OpeningCase {
  readonly name: string;
  readonly run: (harness: OpeningHarness) => Promise<void>;
}

interface Scripted {
  open(options?: CommonOptions): Promise<Signer>;
  /** How often the call was made. */
  calls(call: "readKey" | "sign"): number;
}

function scripted(harness: OpeningHarness, script: Script): Scripted {
  const made = { readKey: 0, sign: 0 };
  const { open } = harness.connect((call) => {
    const answers = script[call] ?? ["whole"];
    const answer = answers[made[call]] ?? answers.at(-1) ?? "whole";
    made[call] += 1;
    return answer;
  });
  return { open: (options = {}) => open(options), calls: (call) => made[call] };
}

const DIGEST = new Uint8Array(32).fill(7);

async function rejects(call: Promise<unknown>, code: SignerErrorCode): Promise<SignerError> {
  const error = await call.then(
    () => assert.fail(`expected a rejection with ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SignerError, `expected a SignerError, got ${String(error)}`);
  assert.equal(error.code, code, error.message);
  return error;
}

/** Milliseconds that a call took. Timers may fire a millisecond early. */
async function timeOf(call: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await call;
  return performance.now() - startedAt + 1;
}

const attempts = (policy: GuardPolicy | false | undefined, expected: number): OpeningCase => ({
  name: `gives up after ${expected} attempts with ${policy === undefined ? "no policy" : JSON.stringify(policy)}`,
  run: async (harness) => {
    const { open, calls } = scripted(harness, { readKey: ["outage"] });
    const options = { openDeadlineMs: 20_000 };
    await rejects(open(policy === undefined ? options : { ...options, policy }), "unavailable");
    assert.equal(calls("readKey"), expected);
  },
});

const deadline = (what: string, options: CommonOptions): OpeningCase => ({
  name: `gives up at ${what}, and says why it tried again`,
  run: async (harness) => {
    const { open, calls } = scripted(harness, { readKey: ["outage"] });
    const tookMs = await timeOf(rejects(open(options), "unavailable"));
    assert.ok(tookMs < 5000, `took ${tookMs} ms`);
    assert.ok(calls("readKey") > 1 && calls("readKey") < 10, `made ${calls("readKey")} calls`);
  },
});

/** How opening behaves, and what bounds a call of a bare signer. */
export const OPENING_CASES: readonly OpeningCase[] = [
  attempts(undefined, 3),
  attempts({}, 3),
  attempts(false, 3),
  attempts({ maxAttempts: 1 }, 1),
  attempts({ maxAttempts: 4 }, 4),
  deadline("its own deadline", { openDeadlineMs: 500, policy: { maxAttempts: 100 } }),
  deadline("the policy's deadline", { policy: { deadlineMs: 500, maxAttempts: 100 } }),
  {
    name: "ends at the deadline while nothing is answered",
    run: async (harness) => {
      const { open, calls } = scripted(harness, { readKey: ["silence"] });
      const tookMs = await timeOf(rejects(open({ openDeadlineMs: 300 }), "timeout"));
      assert.ok(tookMs >= 300 && tookMs < 5000, `took ${tookMs} ms`);
      assert.equal(calls("readKey"), 1);
    },
  },
  {
    name: "gets over a first attempt that is not answered",
    run: async (harness) => {
      const { open, calls } = scripted(harness, { readKey: ["silence", "whole"] });
      const policy = { attemptTimeoutMs: 200, deadlineMs: 20_000 };
      await (await open({ policy })).close();
      assert.equal(calls("readKey"), 2);
    },
  },
  {
    name: "does not try again after a refusal",
    run: async (harness) => {
      const { open, calls } = scripted(harness, { readKey: ["refusal"] });
      await rejects(open(), "access_denied");
      assert.equal(calls("readKey"), 1);
    },
  },
  {
    name: "tries again after an answer with a missing member, and then says integrity",
    run: async (harness) => {
      const { open, calls } = scripted(harness, { readKey: ["incomplete"] });
      const { transient, message } = await rejects(open(), "integrity");
      assert.equal(transient, true);
      assert.match(message, / was answered without \w+$/);
      assert.equal(calls("readKey"), 3);
    },
  },
  {
    name: "gets over one answer with a missing member, in opening and in signing",
    run: async (harness) => {
      const { open, calls } = scripted(harness, {
        readKey: ["incomplete", "whole"],
        sign: ["incomplete", "whole"],
      });
      const signer = await open();
      assert.equal((await signer.sign(DIGEST)).length, 64);
      assert.deepEqual([calls("readKey"), calls("sign")], [2, 2]);
    },
  },
  {
    name: "ends with the caller's signal while nothing is answered",
    run: async (harness) => {
      const reason = new Error("shutting down");
      const controller = new AbortController();
      const { open } = scripted(harness, { readKey: ["silence"] });
      const opening = open({ signal: controller.signal, openDeadlineMs: 60_000 });
      setTimeout(() => controller.abort(reason), 50);
      assert.equal((await rejects(opening, "aborted")).cause, reason);
    },
  },
  {
    name: "ends with the caller's signal between two attempts",
    run: async (harness) => {
      const controller = new AbortController();
      const { open, calls } = scripted(harness, { readKey: ["outage"] });
      const opening = open({ signal: controller.signal, policy: { maxAttempts: 100 }, openDeadlineMs: 60_000 });
      setTimeout(() => controller.abort(), 400);
      await rejects(opening, "aborted");
      assert.ok(calls("readKey") < 5, `made ${calls("readKey")} calls`);
    },
  },
  {
    name: "leaves nothing on the caller's signal, however it ends",
    run: async (harness) => {
      for (const answer of ["whole", "incomplete", "refusal", "silence"] as const) {
        const { signal } = new AbortController();
        const { open } = scripted(harness, { readKey: [answer] });
        const options = { signal, openDeadlineMs: 100, policy: { maxAttempts: 1 } };
        const opened = await open(options).catch(() => undefined);
        assert.deepEqual(getEventListeners(signal, "abort"), [], `after ${answer}`);
        await opened?.close();
      }
    },
  },
  {
    name: "leaves nothing on the signal of a signature, however it ends",
    run: async (harness) => {
      const policies = [false, { maxAttempts: 1, attemptTimeoutMs: 100 }] as const;
      for (const answer of ["whole", "incomplete", "refusal"] as const) {
        for (const policy of policies) {
          const signer = await scripted(harness, { sign: [answer] }).open({ policy });
          const { signal } = new AbortController();
          await signer.sign(DIGEST, { signal }).catch(() => undefined);
          assert.deepEqual(getEventListeners(signal, "abort"), [], `after ${answer}`);
          await signer.close();
        }
      }
    },
  },
  {
    name: "waits before another attempt, because an outage is seldom over at once",
    run: async (harness) => {
      const { open } = scripted(harness, { readKey: ["outage", "whole"] });
      let opened: Signer | undefined;
      const tookMs = await timeOf(open().then((signer) => (opened = signer)));
      await opened?.close();
      assert.ok(tookMs >= 400, `took ${tookMs} ms`);
    },
  },
  {
    name: "asks for nothing when the caller has given up before",
    run: async (harness) => {
      const { open, calls } = scripted(harness, {});
      await rejects(open({ signal: AbortSignal.abort() }), "aborted");
      assert.equal(calls("readKey"), 0);
    },
  },
  {
    name: "bounds a call of a bare signer by 5 s, also where the client hears no signal",
    run: async (harness) => {
      const { open } = scripted(harness, { sign: ["silence"] });
      const signer = await open({ policy: false });
      const tookMs = await timeOf(rejects(signer.sign(DIGEST), "timeout"));
      assert.ok(tookMs >= 5000 && tookMs < 15_000, `took ${tookMs} ms`);
    },
  },
];
