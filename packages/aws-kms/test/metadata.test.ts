import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { credentialsErrorFrom } from "../src/credential-errors.ts";
import { recordRequests, type RequestRecord } from "../src/credential-requests.ts";
import { provideCredentials } from "./environment.ts";

const none = Object.assign(new Error("Could not load credentials from any providers"), {
  name: "CredentialsProviderError",
});

/** Asks the metadata service of EC2, which `port` plays. */
function askMetadata(
  port: number,
  path = "/latest/meta-data/iam/security-credentials/op",
): Promise<number | undefined> {
  const createConnection = () => connect(port, "127.0.0.1");
  return new Promise((resolve) => {
    const asked = request({ host: "169.254.169.254", path, createConnection }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    asked.once("error", () => resolve(undefined)).end();
  });
}

test("a metadata service that is not there is no source, until it has given credentials in this process", async () => {
  provideCredentials(undefined);
  const record: RequestRecord = { last: undefined };
  await recordRequests(record, () => askMetadata(1));
  expect(record.last).toEqual({ source: "metadata", origin: "http://169.254.169.254", status: undefined });
  expect(credentialsErrorFrom(none, record.last).row.code).toBe("access_denied");

  const server = createServer((_request, response) => response.end("{}"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await askMetadata(port);
  await recordRequests(record, () => askMetadata(1));
  expect(credentialsErrorFrom(none, record.last).row.code).toBe("access_denied");

  await recordRequests(record, () => askMetadata(port));
  server.close();
  await recordRequests(record, () => askMetadata(1));
  expect(credentialsErrorFrom(none, record.last).row.code).toBe("unavailable");
});

test("one that hangs after it gave a token passes, since it is there", async () => {
  vi.resetModules();
  const requests = await import("../src/credential-requests.ts");
  const { credentialsErrorFrom: errorFrom } = await import("../src/credential-errors.ts");
  const server = createServer(({ url }, response) => {
    if (url === "/latest/api/token") response.end("token");
    else response.destroy();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const record: RequestRecord = { last: undefined };
  await requests.recordRequests(record, async () => {
    await askMetadata(port, "/latest/api/token");
    await askMetadata(port);
  });
  server.close();
  expect(errorFrom(none, record.last).row.code).toBe("unavailable");
});

test("one that stops in the middle of an answer passes", async () => {
  const server = createServer((_request, response) => void response.writeHead(200, { "content-length": 9 }).write("{"));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const record: RequestRecord = { last: undefined };
  await recordRequests(record, () => {
    const path = "/latest/meta-data/iam/security-credentials/op";
    const asked = request({ host: "169.254.169.254", path, createConnection: () => connect(port, "127.0.0.1") });
    asked.once("response", () => asked.destroy()).end();
    return new Promise((closed) => asked.once("close", closed));
  });
  server.close();
  expect(credentialsErrorFrom(none, record.last).row.code).toBe("unavailable");
});

test("one that is down passes, where its version 1 is off", () => {
  const off = Object.assign(new Error("v1 fallback has been blocked"), { name: "InstanceMetadataV1FallbackError" });
  expect(credentialsErrorFrom(off, { source: "metadata", status: 503 }).row.code).toBe("unavailable");
});
