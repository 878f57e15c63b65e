import { randomBytes } from "node:crypto";
import { Agent, createServer, get, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openAwsKmsSigner } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { provideCredentials } from "./environment.ts";

const fake = await startFakeAwsKms();
const key = fake.addKey();
const publicKey = key.publicKey?.export({ format: "jwk" }) ?? {};

async function listen(answer: (asked: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** By whom a request was made decides its answer: the package's are slow and fail. */
const source = await listen((asked, response) => {
  if (asked.headers["x-other"] !== undefined) response.end("{}");
  else setTimeout(() => response.writeHead(500).end(), 50);
});
const other = await listen((_asked, response) => response.end(Buffer.alloc(200_000)));

beforeEach(() => provideCredentials(undefined));
afterAll(async () => {
  for (const { server } of [source, other]) {
    server.closeAllConnections();
    server.close();
  }
  await fake.stop();
});

const open = () => openAwsKmsSigner({ key: key.arn, publicKey, endpoint: fake.endpoint, policy: { maxAttempts: 1 } });

describe("other requests of the process", () => {
  test.each<[string, string, string, string]>([
    ["to the same path of another server", source.origin, other.origin, "/"],
    ["to the same credentials endpoint", source.origin, source.origin, "/credentials"],
  ])("%s do not change why there are no credentials", async (_what, asked, disturbed, path) => {
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${asked}${path}`;
    await using signer = await open();
    const disturb = (): void =>
      void get(`${disturbed}${path}`, { headers: { "x-other": "1" } }, (response) => response.resume());
    const disturbing = setInterval(disturb, 5);
    try {
      await expect(signer.sign(randomBytes(32))).rejects.toMatchObject({ code: "unavailable" });
    } finally {
      clearInterval(disturbing);
    }
  });

  test("without a listener are drained by Node", async () => {
    process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = `${other.origin}/`;
    await using _signer = await open();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sent = [1, 2, 3].map(
      () => new Promise((closed) => request(`${other.origin}/`, { agent }).once("close", closed).end()),
    );
    await expect(Promise.all(sent)).resolves.toHaveLength(3);
    agent.destroy();
  }, 1000);
});
