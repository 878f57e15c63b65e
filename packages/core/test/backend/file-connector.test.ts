import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ConfigurationError } from "@signpost/core";
import { createFileConnector, type ConnectLike } from "@signpost/core/adapter";

type Callback = (error: Error | null, socket: unknown) => void;
type Connect = ConnectLike<string, Callback>;

interface Files {
  readonly ca: string;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const built: string[] = [];
const read = vi.fn<() => Promise<Files>>();
beforeEach(() => {
  built.length = 0;
  read.mockReset().mockImplementation(async () => ({ ca: "first" }));
});

/** Connects with what the files contain, and refuses a broken one. */
function build({ ca }: Files): Connect {
  if (ca === "broken") throw new ConfigurationError("tls.caFile", "expected a certificate");
  built.push(ca);
  return (target, callback) => callback(null, `${target} with ${ca}`);
}

const created = (timeout = 1000): Promise<Connect> =>
  createFileConnector({ read, build, opening: { deadlineMs: 5000 }, timeout });

const outcome = (connect: Connect): Promise<unknown> =>
  new Promise((resolve) => connect("vault.example", (error, socket) => resolve(error ?? socket)));

test("the files are read for each connection, and make a connector only when they have changed", async () => {
  const connect = await created();
  expect(await outcome(connect)).toBe("vault.example with first");
  expect(await outcome(connect)).toBe("vault.example with first");
  expect(built).toEqual(["first"]);
  read.mockImplementation(async () => ({ ca: "second" }));
  expect(await outcome(connect)).toBe("vault.example with second");
  expect(await outcome(connect)).toBe("vault.example with second");
  expect(built).toEqual(["first", "second"]);
  expect(read).toHaveBeenCalledTimes(5);
});

test.each([
  [1000, 500],
  [1001, 501],
])("of %i ms for a connection, files that hang take %i ms, and their last content is used", async (timeout, ms) => {
  const connect = await created(timeout);
  read.mockImplementation(() => new Promise(() => {}));
  const settled = vi.fn<(result: unknown) => void>();
  void outcome(connect).then(settled);
  await vi.advanceTimersByTimeAsync(ms - 1);
  expect(settled).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(settled).toHaveBeenCalledWith("vault.example with first");
  expect(built).toEqual(["first"]);
});

test("files that are missing fail one connection, since an operator may be replacing them", async () => {
  const connect = await created();
  const missing = new ConfigurationError("tls.caFile", "expected a file");
  read.mockRejectedValueOnce(missing);
  expect(await outcome(connect)).toMatchObject({
    name: "SignerError",
    code: "unavailable",
    message: `no connection can be made: ${missing.message}`,
    cause: missing,
  });
  expect(await outcome(connect)).toBe("vault.example with first");
});

test("files that no connection can be made with fail it, and leave the last connector", async () => {
  const connect = await created();
  read.mockResolvedValueOnce({ ca: "broken" });
  expect(await outcome(connect)).toMatchObject({ code: "unavailable", cause: { argument: "tls.caFile" } });
  expect(await outcome(connect)).toBe("vault.example with first");
  expect(built).toEqual(["first"]);
});

test("another error of a reading is the error of its connection", async () => {
  const connect = await created();
  const error = new Error("fault");
  read.mockRejectedValueOnce(error);
  expect(await outcome(connect)).toBe(error);
});

test("the first content must be usable", async () => {
  read.mockResolvedValueOnce({ ca: "broken" });
  await expect(created()).rejects.toMatchObject({ name: "ConfigurationError", argument: "tls.caFile" });
});

test("the first reading must end by the deadline of the opening", async () => {
  read.mockImplementation(() => new Promise(() => {}));
  const late = expect(created()).rejects.toMatchObject({ code: "timeout" });
  await vi.advanceTimersByTimeAsync(4999);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  await late;
});
