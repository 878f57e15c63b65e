import { type ChildProcess, exec } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test, vi } from "vitest";
import { dropRequests, recordRequests, type RequestRecord } from "../src/credential-requests.ts";
import { provideCredentials } from "./environment.ts";

const server = createServer();
await once(server.listen(0, "127.0.0.1"), "listening");
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A question for credentials that asks once and goes on. Node tells of the request when it has a connection. */
function question(record: RequestRecord, path: string): ClientRequest {
  let asked: ClientRequest | undefined;
  void recordRequests(record, () => {
    asked = request(`${origin}${path}`)
      .on("error", () => undefined)
      .end();
    return new Promise<never>(() => undefined);
  });
  if (asked === undefined) throw new Error("expected a request");
  return asked;
}

async function arrivalOf({ path }: ClientRequest): Promise<ServerResponse> {
  for (;;) {
    const [arrived, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
    if (arrived.url === path) return response;
  }
}

const closed = async (asked: ClientRequest): Promise<void> => {
  if (!asked.closed) await new Promise((resolve) => void asked.once("close", resolve));
};

test("the open requests of a question are dropped, and those that follow", async () => {
  provideCredentials(undefined);
  const pending: NonNullable<RequestRecord["pending"]> = new Set();
  const record: RequestRecord = { last: undefined, pending };
  const first = question(record, "/federation/credentials?role_name=a");
  await arrivalOf(first);
  expect([...pending]).toEqual([first]);
  expect(record.last).toEqual({ source: "sso", origin, status: undefined });
  dropRequests(record);
  await closed(first);
  expect([first.destroyed, pending.size, record.dropped]).toEqual([true, 0, true]);
  const second = question(record, "/federation/credentials?role_name=b");
  expect(second.destroyed).toBe(false);
  await closed(second);
  expect([second.destroyed, pending.size]).toEqual([true, 0]);
});

/** Runs a command as the SDK runs a `credential_process`, as a question that goes on. */
function processOf(record: RequestRecord, command: string): ChildProcess {
  let started: ChildProcess | undefined;
  const end = recordRequests(record, () => {
    const running = promisify(exec)(command);
    started = running.child;
    return running;
  });
  end.catch(() => undefined);
  if (started === undefined) throw new Error("expected a process");
  return started;
}

test("the processes of a question are ended, and those that follow", async () => {
  provideCredentials(undefined);
  const pending: NonNullable<RequestRecord["pending"]> = new Set();
  const record: RequestRecord = { last: undefined, pending };
  const first = processOf(record, "exec sleep 1000");
  expect([...pending]).toEqual([first]);
  dropRequests(record);
  await once(first, "close");
  const second = processOf(record, "exec sleep 1000");
  await once(second, "close");
  expect([first.signalCode, second.signalCode, pending.size]).toEqual(["SIGTERM", "SIGTERM", 0]);
});

test("a process is not waited for, and the program that it started is ended too", async () => {
  provideCredentials(undefined);
  const folder = mkdtempSync(join(tmpdir(), "signpost-aws-process-"));
  const file = join(folder, "ended");
  const program = `exec 2>&-; trap "touch ${file}; exit" TERM; echo started; while :; do sleep 0.1; done`;
  const record: RequestRecord = { last: undefined, pending: new Set() };
  const child = processOf(record, `sh -c '${program}'; true`);
  await new Promise((resolve) => void child.stdout?.once("data", resolve));
  dropRequests(record);
  expect([child.stdout?.destroyed, child.stderr?.destroyed]).toEqual([true, true]);
  await vi.waitFor(() => expect(existsSync(file)).toBe(true), { timeout: 20_000 });
  rmSync(folder, { recursive: true });
});

test.each<[path: string, source: string | undefined]>([
  ["/federation/credentials", "sso"],
  ["/token", "sso"],
  ["/v1/token", "sso"],
  ["/tokens", undefined],
  ["/latest/api/token", "metadata"],
  ["/latest/meta-data/iam/security-credentials/role", "metadata"],
  ["/latest/meta-data/iam", undefined],
  ["/container?a=b", "container"],
  ["/container", "container"],
  ["/containers", undefined],
])("a request for %s is of the source %s, and is known until it ends", async (path, source) => {
  provideCredentials(undefined);
  process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${origin}/container?a=b`;
  const pending: NonNullable<RequestRecord["pending"]> = new Set();
  const record: RequestRecord = { last: undefined, pending };
  const asked = question(record, path);
  const response = await arrivalOf(asked);
  expect(record.last?.source).toBe(source);
  expect(pending.has(asked)).toBe(source !== undefined);
  asked.on("response", (answer: IncomingMessage) => answer.resume());
  response.writeHead(404).end();
  await closed(asked);
  expect(record.last?.status).toBe(source === undefined ? undefined : 404);
  expect(pending.size).toBe(0);
});
