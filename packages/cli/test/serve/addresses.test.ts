import { beforeEach, expect, test, vi } from "vitest";
import { listen } from "../../src/serve/http/listener.ts";

// What is said of the place of a port, for systems that tests do not run on.

const system = vi.hoisted(() => ({ address: "127.0.0.1", code: undefined as string | null | undefined }));
vi.mock("node:http", async (importOriginal) => {
  const { EventEmitter } = await import("node:events");
  class FakeServer extends EventEmitter {
    timeout = 0;
    listen(): void {
      const { code } = system;
      const error = Object.assign(new Error("refused"), code === null ? {} : { code });
      queueMicrotask(() => (code === undefined ? this.emit("listening") : this.emit("error", error)));
    }
    address(): object {
      return { address: system.address, port: 8080 };
    }
    close(): void {
      this.emit("close");
    }
    closeIdleConnections(): void {}
    closeAllConnections(): void {}
  }
  return { ...(await importOriginal<object>()), createServer: () => new FakeServer() };
});
beforeEach(() => void Object.assign(system, { address: "127.0.0.1", code: undefined }));

function opened() {
  const nothing = (): void => undefined;
  return listen({
    place: { host: "op\u001b", port: 443, flags: { host: "--admin-host", port: "--admin-port" } },
    maxConnections: 1,
    answer: nothing,
    onRefused: nothing,
    onEvicted: nothing,
    onFailed: nothing,
  });
}

test.each([
  ["127.0.0.1", "http://127.0.0.1:8080"],
  ["0.0.0.0", "http://127.0.0.1:8080"],
  ["10.0.0.7", "http://10.0.0.7:8080"],
  ["::", "http://[::1]:8080"],
  ["::1", "http://[::1]:8080"],
  ["2001:db8::1", "http://[2001:db8::1]:8080"],
])("what listens on %s is reached at %s", async (address, origin) => {
  system.address = address;
  const port = await opened();
  expect(port.origin).toBe(origin);
  await port.close(0);
});

const UNUSABLE = "Name an address of this machine: 127.0.0.1, ::1, 0.0.0.0 or ::";
test.each<[code: string | null, failure: object]>([
  [
    "EADDRINUSE",
    {
      code: "port_in_use",
      message: "--admin-port: another program uses port 443",
      hint: "Stop that program, or choose another port with --admin-port. --admin-port 0 takes a free one",
    },
  ],
  [
    "EACCES",
    {
      code: "port_denied",
      message: "--admin-port: this user may not listen on port 443",
      hint: "Choose a port above 1023",
    },
  ],
  [
    "ENOTFOUND",
    {
      code: "host_unusable",
      message: String.raw`--admin-host: cannot listen on "op\u001b" (ENOTFOUND)`,
      hint: UNUSABLE,
    },
  ],
  [null, { code: "host_unusable", message: String.raw`--admin-host: cannot listen on "op\u001b" ()`, hint: UNUSABLE }],
])("a port that is refused with %s is a mistake of usage", async (code, failure) => {
  system.code = code;
  await expect(opened()).rejects.toMatchObject({ exitCode: 2, cause: { message: "refused" }, ...failure });
});
