import { EventEmitter, once } from "node:events";
import { createServer, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test } from "vitest";
import { recordRequests, type RequestRecord } from "../src/credential-requests.ts";
import { readyInTime } from "../src/ready.ts";
import { rejection } from "./support/signatures.ts";

const server = createServer();
await once(server.listen(0, "127.0.0.1"), "listening");
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A search that asks once and goes on, whatever the answer is. `status` undefined is no answer. */
async function searchThatMeets(status: number | undefined): Promise<RequestRecord> {
  const record: RequestRecord = { last: undefined };
  let asked = new EventEmitter();
  void recordRequests(record, () => {
    asked = request(`${origin}/token?secret=1`)
      .on("error", () => undefined)
      .end();
    return new Promise(() => undefined);
  });
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  if (status === undefined) return record;
  response.writeHead(status).end();
  const [answer] = await once(asked, "response");
  await once(answer.resume(), "end");
  return record;
}

const failure = (record: RequestRecord): Promise<unknown> => {
  const bounds = { timeoutMs: 20, signal: new AbortController().signal };
  return rejection(readyInTime(new Promise(() => undefined), record, bounds, { action: "sign with", name: "v" }));
};
const LATE = "cannot sign with v: Google credentials did not arrive within 18 ms";

test.each<[number | undefined, string, string]>([
  [undefined, "timeout", `${LATE}: ${origin} did not answer`],
  [503, "unavailable", `cannot sign with v: the source of Google credentials, ${origin}, answered HTTP 503`],
  [429, "throttled", `cannot sign with v: the source of Google credentials, ${origin}, answered HTTP 429`],
  [408, "timeout", `cannot sign with v: the source of Google credentials, ${origin}, answered HTTP 408`],
  // What it waits for is not known.
  [200, "timeout", LATE],
])("credentials that are late say so of a source that answers %s", async (status, code, message) => {
  expect(await failure(await searchThatMeets(status))).toMatchObject({ code, message, transient: true });
});

test("and where nothing was asked name none, also of requests of others", async () => {
  const record: RequestRecord = { last: undefined };
  recordRequests(record, () => undefined);
  request(`${origin}/other`)
    .on("error", () => undefined)
    .end();
  await once(server, "request");
  expect(await failure(record)).toMatchObject({ code: "timeout", message: LATE });
});
