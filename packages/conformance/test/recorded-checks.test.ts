import { describe, expect, test } from "vitest";
import { signerChecks, SLOW_FAULT_MS } from "@signpost/conformance";
import type { Fault, SignerHarness } from "@signpost/conformance";
import type { GuardPolicy, Signer, SignOptions } from "@signpost/core";
import { FAULT_EXPECTATIONS } from "../src/fault-expectations.ts";
import { ALL_FAULTS, createReferenceBackend } from "./reference.ts";
import type { ReferenceBackend } from "./reference.ts";

// What each check gives a signer: how many calls, with which digests and options, and under which policy. A check that gave
// less would pass signers that are wrong.

interface Call {
  /** The object that was given. */
  readonly digest: Uint8Array;
  /** Its bytes at the time of the call. */
  readonly bytes: Buffer;
  readonly options: SignOptions | undefined;
  /** How many calls were in flight, with this one. */
  readonly inFlight: number;
  readonly fault: Fault | undefined;
}

/** A harness whose bare signers write down their calls. */
function recording(backend: ReferenceBackend = createReferenceBackend()) {
  const calls: Call[] = [];
  let inFlight = 0;
  const recorded = (signer: Signer): Signer => ({
    ...signer,
    async sign(digest, options) {
      inFlight += 1;
      const bytes = ArrayBuffer.isView(digest) ? Buffer.from(Uint8Array.from(digest)) : Buffer.alloc(0);
      calls.push({ digest, bytes, options, inFlight, fault: backend.fault() });
      try {
        return await signer.sign(digest, options);
      } finally {
        inFlight -= 1;
      }
    },
  });
  const open: SignerHarness["open"] = async () => recorded(await backend.open(false));
  return { calls, harness: { ...backend.harness, open } };
}

async function run(name: string, harness: SignerHarness): Promise<void> {
  const check = signerChecks(harness).find((one) => one.name.startsWith(`bare: ${name}`));
  if (check === undefined) throw new Error(`there is no check named ${name}`);
  await check.run();
}

async function callsOf(name: string): Promise<readonly Call[]> {
  const { calls, harness } = recording();
  await run(name, harness);
  return calls;
}

test("a digest of each wrong length is tried, and values that are not bytes", async () => {
  const given = (await callsOf("a digest that is not 32 bytes")).map(({ digest }) => digest as unknown);
  expect(given).toEqual([
    ...[0, 1, 20, 31, 33, 48, 64].map((length) => new Uint8Array(length)),
    "0".repeat(32),
    Array.from({ length: 32 }, () => 1),
    new Uint16Array(32),
    new ArrayBuffer(32),
    undefined,
  ]);
});

test("a digest and its signing input are overwritten after the call, as a Uint8Array and as a Buffer", async () => {
  const calls = await callsOf("the digest is not kept");
  expect(calls.map(({ digest, options }) => [Buffer.isBuffer(digest), options?.signingInput !== undefined])).toEqual([
    [false, false],
    [false, true],
    [true, false],
    [true, true],
  ]);
  for (const { digest, bytes, options } of calls) {
    expect([...digest]).toEqual(Array.from({ length: 32 }, () => 0xa5));
    expect(bytes).not.toEqual(Buffer.alloc(32, 0xa5));
    for (const byte of options?.signingInput ?? []) expect(byte).toBe(0xa5);
  }
});

test("a view has other bytes before and after it", async () => {
  const [{ digest } = { digest: new Uint8Array() }] = await callsOf("a digest that is a view");
  expect([digest.byteOffset, digest.length, digest.buffer.byteLength]).toEqual([48, 32, 128]);
  const page = new Uint8Array(digest.buffer);
  for (const byte of [...page.subarray(0, 48), ...page.subarray(80)]) expect(byte).toBe(0x5a);
});

test("200 calls are made at once, and every second one has its signing input", async () => {
  const calls = await callsOf("200 concurrent calls");
  expect(calls).toHaveLength(200);
  expect(Math.max(...calls.map(({ inFlight }) => inFlight))).toBe(200);
  expect(calls.map(({ options }) => options?.signingInput !== undefined)).toEqual(
    calls.map((_call, index) => index % 2 === 1),
  );
  expect(new Set(calls.map(({ bytes }) => bytes.toString("hex"))).size).toBe(200);
});

test("20 calls are made for each moment of an abort, and every second one has the signal", async () => {
  const calls = await callsOf("an abort during a call");
  expect(calls).toHaveLength(80);
  const signals = calls.map(({ options }) => options?.signal);
  expect(signals.map((signal) => signal?.aborted)).toEqual(
    calls.map((_call, index) => (index % 2 === 1 ? true : undefined)),
  );
  expect(new Set(signals.filter((signal) => signal !== undefined)).size).toBe(4);
});

test("a signal that aborted before has an error, a text or no reason of the caller", async () => {
  const calls = await callsOf("a signal that is already aborted rejects");
  expect(calls.map(({ options }) => (options?.signal?.reason as unknown) ?? "none")).toEqual([
    new Error("the caller went away"),
    "a reason that is not an Error",
    expect.objectContaining({ name: "AbortError" }),
  ]);
});

test("20 calls share a signal that outlives them", async () => {
  const calls = await callsOf("a signal that outlives its calls");
  expect(calls.map(({ inFlight }) => inFlight)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(new Set(calls.map(({ options }) => options?.signal)).size).toBe(1);
});

test.each(["in the same tick as the calls", "one tick after the calls", "5 ms after the calls"])(
  "50 calls are in flight when a signer is closed %s",
  async (moment) => {
    expect(await callsOf(`closed ${moment}`)).toHaveLength(50);
  },
);

test("three signatures are verified by jose and node:crypto", async () => {
  expect(await callsOf("a signature is 64 bytes")).toHaveLength(3);
});

test.each([
  ["r and s with leading zero bytes keep their 32 bytes", false],
  ["r and s with leading zero bytes keep their 32 bytes when the signing input", true],
])("16 calls at a time look for leading zeros: %s", async (name, withInput) => {
  const calls = await callsOf(name);
  expect(Math.max(...calls.map(({ inFlight }) => inFlight))).toBe(16);
  for (const { options } of calls) expect(options?.signingInput !== undefined).toBe(withInput);
});

test("a signing input of another digest has bytes, and then none", async () => {
  const calls = await callsOf("a signing input that does not hash");
  expect(calls.map(({ options }) => options?.signingInput?.length)).toEqual([53, 0]);
});

test("a secret is looked for in the errors of a short digest, of an abort and of a closed signer", async () => {
  const calls = await callsOf("errors show no secret");
  const [short, ...whole] = calls.map(({ bytes }) => bytes);
  expect(short).toHaveLength(31);
  expect(whole.map((bytes) => bytes.subarray(0, 31))).toEqual([short, short]);
  expect(calls.map(({ options }) => options?.signal?.aborted)).toEqual([undefined, true, undefined]);
});

test("a fault meets eight callers, and after it one call, and eight", async () => {
  const { calls, harness } = recording();
  await run("signing while access-denied", harness);
  expect(calls.map(({ fault }) => fault !== undefined)).toEqual([
    false,
    ...Array.from({ length: 8 }, () => true),
    ...Array.from({ length: 9 }, () => false),
  ]);
});

describe("the policy of a guarded signer", () => {
  const STEADY = { deadlineMs: 30_000, attemptTimeoutMs: 15_000 };
  const SPEAKING = { deadlineMs: 15_000, attemptTimeoutMs: 5000, maxAttempts: 2 };
  const SILENT = { deadlineMs: 2000, attemptTimeoutMs: 600, maxAttempts: 2 };

  /** The policy of each check's first opening, by the start of its name. */
  async function policies(form: "bare" | "guarded"): Promise<readonly (readonly [string, unknown])[]> {
    const found: (readonly [string, unknown])[] = [];
    let name = "";
    const refuse = (policy?: GuardPolicy | false): Promise<never> => {
      found.push([name, policy]);
      return Promise.reject(new Error("seen"));
    };
    const { harness } = createReferenceBackend();
    const checks = signerChecks({ ...harness, open: refuse, openWith: ({ policy }) => refuse(policy) });
    for (const check of checks.filter((one) => one.name.startsWith(`${form}: `))) {
      name = check.name.slice(form.length + 2);
      await expect(check.run()).rejects.toThrow("seen");
    }
    return found;
  }

  function expectedFor(name: string): unknown {
    if (name.startsWith("closed ")) return { deadlineMs: 3000, attemptTimeoutMs: 2000 };
    const [, fault] = /^(?:signing|opening) while (\S+) (?:rejects|works)/.exec(name) ?? [];
    if (fault === undefined) return STEADY;
    return FAULT_EXPECTATIONS[fault as Fault].silent === true ? SILENT : SPEAKING;
  }

  test("is generous, and short where a backend is silent or a signer is closed", async () => {
    for (const [name, policy] of await policies("guarded")) expect([name, policy]).toEqual([name, expectedFor(name)]);
  });

  test("is not given to a bare signer", async () => {
    for (const [name, policy] of await policies("bare")) expect([name, policy]).toEqual([name, false]);
  });
});

test("an opening has half a second while a backend never answers", async () => {
  const deadlines: unknown[] = [];
  const backend = createReferenceBackend();
  const openWith: ReferenceBackend["openWith"] = (limits) => {
    deadlines.push(limits.openDeadlineMs);
    return backend.openWith(limits);
  };
  await run("opening while hang ends at its deadline", { ...backend.harness, openWith });
  expect(deadlines).toEqual([500]);
});

test.each(["hang", "hang-after-headers"] as const)(
  "an adapter that opens without its backend may open during %s, and its signer is closed",
  async (fault) => {
    const backend = createReferenceBackend();
    const openWith: ReferenceBackend["openWith"] = ({ policy }) => backend.open(policy);
    await run(`opening while ${fault} ends at its deadline`, { ...backend.harness, openWith });
    expect(backend.openSigners()).toBe(0);
  },
);

test("silent are the faults without an answer in time", () => {
  const silent = ALL_FAULTS.filter((fault) => FAULT_EXPECTATIONS[fault].silent === true);
  expect(silent).toEqual(["hang", "hang-after-headers", "slow"]);
  expect(SLOW_FAULT_MS).toBe(1500);
});
