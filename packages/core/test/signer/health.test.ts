import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SignerError } from "@signpost/core";
import { createHealthRecord, worstStatus, type BackendStatus } from "../../src/signer/health.ts";

const START = Date.parse("2026-06-01T00:00:00Z");
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => void vi.useRealTimers());

const READY: BackendStatus = { status: "ready" };
const at = (seconds: number): Date => new Date(START + seconds * 1000);
const advance = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1000);
const outage = new SignerError("unavailable", "down");
const refusal = new SignerError("access_denied", "no");

describe("the worst of several statuses", () => {
  test.each<[statuses: readonly BackendStatus["status"][], index: number]>([
    [["ready"], 0],
    [["ready", "degraded"], 1],
    [["degraded", "ready"], 0],
    [["degraded", "down", "ready"], 1],
    [["down", "degraded"], 0],
  ])("of %j is number %d", (statuses, index) => {
    const views = statuses.map((status) => ({ status }));
    expect(worstStatus(...views)).toBe(views[index]);
  });

  test.each(["ready", "degraded", "down"] as const)("is the first of those that are equally %s", (status) => {
    const views = [{ status }, { status }];
    expect(worstStatus(...views)).toBe(views[0]);
  });
});

describe("what a guard has seen", () => {
  test("is ready at first", () => {
    expect(createHealthRecord().read(READY, [])).toEqual({ status: "ready", since: at(0), notes: [] });
  });

  test("is degraded by an outage, and down by a refusal, each since it began", () => {
    const record = createHealthRecord();
    advance(10);
    record.failed(outage);
    advance(10);
    record.failed(outage);
    expect(record.read(READY, [])).toMatchObject({ status: "degraded", since: at(10), lastCode: "unavailable" });
    record.failed(new SignerError("throttled", "slow down"));
    expect(record.read(READY, [])).toMatchObject({ status: "degraded", since: at(10), lastCode: "throttled" });
    record.failed(refusal);
    expect(record.read(READY, [])).toMatchObject({ status: "down", since: at(20), lastCode: "access_denied" });
  });

  test("is ready again since the first signature, without the failure", () => {
    const record = createHealthRecord();
    record.failed(outage);
    advance(10);
    record.succeeded();
    advance(10);
    record.succeeded();
    expect(record.read(READY, [])).toEqual({ status: "ready", since: at(10), notes: [] });
  });
});

describe("what the signer inside sees", () => {
  test("counts if it is worse, with its own time and failure", () => {
    const record = createHealthRecord();
    const since = at(-500);
    expect(record.read({ status: "down", since, lastCode: "key_disabled" }, [])).toEqual({
      status: "down",
      since,
      lastCode: "key_disabled",
      notes: [],
    });
  });

  test("does not count if it is not worse", () => {
    const record = createHealthRecord();
    record.failed(outage);
    const equal = { status: "degraded", since: at(-500), lastCode: "timeout" } as const;
    expect(record.read(equal, [])).toMatchObject({ since: at(0), lastCode: "unavailable" });
    record.failed(refusal);
    expect(record.read(equal, [])).toMatchObject({ status: "down", lastCode: "access_denied" });
  });

  test("began when it was first seen, if it does not say when", () => {
    const record = createHealthRecord();
    advance(10);
    expect(record.read({ status: "degraded" }, [])).toMatchObject({ status: "degraded", since: at(10) });
    advance(10);
    expect(record.read({ status: "degraded" }, [])).toMatchObject({ since: at(10) });
    expect(record.read({ status: "down" }, [])).toMatchObject({ status: "down", since: at(20) });
    advance(10);
    record.read(READY, []);
    advance(10);
    expect(record.read({ status: "down" }, [])).toMatchObject({ since: at(40) });
  });
});

test("the notes are copied", () => {
  const notes = ["one"];
  const { notes: read } = createHealthRecord().read(READY, notes);
  notes.push("two");
  expect(read).toEqual(["one"]);
});
