import { afterEach, describe, expect, test, vi } from "vitest";
import { readSettings } from "../../src/serve/settings.ts";
import { openFileLimit } from "../../src/serve/http/file-limit.ts";

afterEach(() => void vi.restoreAllMocks());

function withLimit(userLimits: object | undefined): void {
  vi.spyOn(process.report, "getReport").mockReturnValue({ userLimits });
}

describe("the settings of a server", () => {
  test("without flags are for this machine only", () => {
    expect(readSettings({ maxConnections: 7 })).toEqual({
      key: { host: "127.0.0.1", port: 8080, flags: { host: "--host", port: "--port" } },
      admin: { host: "127.0.0.1", port: 8081, flags: { host: "--admin-host", port: "--admin-port" } },
      maxConnections: 7,
      shutdownDelayMs: 0,
      shutdownTimeoutMs: 10_000,
      cors: false,
      weakIfNoneMatch: "ignore",
    });
  });

  test("are those of the flags", () => {
    const flags = { host: "0.0.0.0", port: 1, adminHost: "::1", adminPort: 0, cors: true, matchWeakEtags: true };
    expect(readSettings({ ...flags, shutdownDelay: 1.5, shutdownTimeout: 3600 })).toMatchObject({
      key: { host: "0.0.0.0", port: 1 },
      admin: { host: "::1", port: 0 },
      shutdownDelayMs: 1500,
      shutdownTimeoutMs: 3_600_000,
      cors: true,
      weakIfNoneMatch: "match",
    });
  });

  test.each([
    [{ host: "" }, "--host: expected an address, got an empty text", "Leave out --host"],
    [{ adminHost: " " }, "--admin-host: expected an address, got an empty text", "Leave out --admin-host"],
    [{ port: 65_536 }, "--port: expected a whole number, 0 to 65535, got 65536", undefined],
    [{ adminPort: -1 }, "--admin-port: expected a whole number, 0 to 65535, got -1", undefined],
    [{ maxConnections: 0 }, "--max-connections: expected a whole number, 1 to 1000000, got 0", undefined],
    [{ shutdownDelay: -0.1 }, "--shutdown-delay: expected a number of seconds, 0 to 3600, got -0.1", undefined],
    [{ shutdownTimeout: 3600.1 }, "--shutdown-timeout: expected a number of seconds, 0 to 3600, got 3600.1", undefined],
  ])("refuse %j", (flags, message, hint) => {
    const text: unknown = hint === undefined ? undefined : expect.stringContaining(hint);
    expect(() => readSettings(flags)).toThrow(
      expect.objectContaining({ exitCode: 2, code: "flags", message, hint: text }),
    );
  });
});

describe("the most connections", () => {
  test.each([
    [undefined, 1000],
    ["unlimited", 16_000],
    [1_000_000, 16_000],
    [16_401, 16_000],
    [16_399, 15_999],
    [1024, 624],
    // At least a quarter, where few files may be open.
    [500, 125],
    [533, 134],
    [401, 101],
  ])("are, with a limit of %s open files, %i", (soft, connections) => {
    withLimit(soft === undefined ? undefined : { open_files: { soft } });
    expect(readSettings({}).maxConnections).toBe(connections);
  });
});

test.each([
  [{ open_files: { soft: 1024 } }, 1024],
  [{ open_files: { soft: "unlimited" } }, Number.MAX_SAFE_INTEGER],
  [{}, undefined],
  [undefined, undefined],
])("with the limits %j of the system, so many files may be open: %s", (limits, files) => {
  withLimit(limits);
  expect(openFileLimit()).toBe(files);
});
