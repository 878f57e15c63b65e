import { createServer, request as sendRequest, type Agent } from "node:http";
import type { AddressInfo } from "node:net";
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { GuardedSigner, SignerErrorCode } from "@signpost/core";
import { openAwsKmsSigner, type AwsKmsApi } from "@signpost/aws-kms";
import { startFakeAwsKms } from "@signpost/test-backends/fake-aws-kms";
import { CredentialsError } from "../src/credential-errors.ts";
import { createSockets, withLiveSockets } from "../src/sockets.ts";
import { provideCredentials } from "./environment.ts";

const DIGEST = randomBytes(32);
const fake = await startFakeAwsKms();
const key = fake.addKey();

beforeAll(() => provideCredentials(fake.credentials));
afterEach(() => {
  fake.reset();
  vi.useRealTimers();
});
afterAll(() => fake.stop());

/** A signer with so many idle connections. */
async function openWithIdle(count: number): Promise<GuardedSigner> {
  const policy = { attemptTimeoutMs: 1000, deadlineMs: 5000, maxAttempts: 2 };
  const signer = await openAwsKmsSigner({ key: key.arn, endpoint: fake.endpoint, policy });
  fake.faults.latencyMs = 50;
  await Promise.all(Array.from({ length: count }, () => signer.sign(DIGEST)));
  fake.reset();
  await vi.waitUntil(() => fake.sockets.open === count);
  return signer;
}

describe("idle connections that died quietly", () => {
  test.each<[number, "silent" | "reset"]>([
    [3, "silent"],
    [16, "silent"],
    [3, "reset"],
    [16, "reset"],
  ])("%i of them (%s) cost a call no more than one attempt", async (count, how) => {
    await using signer = await openWithIdle(count);
    fake.forgetConnections(how);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
    expect(fake.requests).toHaveLength(1);
    await expect(signer.sign(DIGEST)).resolves.toHaveLength(64);
  });

  test("cost sixteen calls at once no more than one attempt each", async () => {
    await using signer = await openWithIdle(16);
    fake.forgetConnections("silent");
    await expect(Promise.all(Array.from({ length: 16 }, () => signer.sign(DIGEST)))).resolves.toHaveLength(16);
  });

  test("are not closed because a caller gave up, or because the service refused", async () => {
    await using signer = await openWithIdle(4);
    const before = fake.sockets.total;
    fake.faults.next("access-denied");
    await expect(signer.sign(DIGEST)).rejects.toMatchObject({ code: "access_denied" });
    fake.faults.latencyMs = 100;
    const caller = new AbortController();
    const aborted = signer.sign(DIGEST, { signal: caller.signal });
    await vi.waitUntil(() => fake.requests.length === 2);
    caller.abort();
    await expect(aborted).rejects.toMatchObject({ code: "aborted" });
    await Promise.all(Array.from({ length: 3 }, () => signer.sign(DIGEST)));
    expect(fake.sockets.total).toBe(before);
  });

  test("are closed if credentials do not arrive in time, so that the next attempt meets no dead one", async () => {
    const dropIdle = vi.fn<() => void>();
    const codes: SignerErrorCode[] = ["timeout", "access_denied"];
    const sign = async (): Promise<never> => {
      throw new CredentialsError({ code: codes.shift() ?? "integrity", text: "no credentials" }, undefined);
    };
    const live = withLiveSockets({ getPublicKey: async () => ({}), sign }, { idleMs: 20_000, dropIdle });
    const input = {
      KeyId: key.arn,
      Message: DIGEST,
      MessageType: "DIGEST",
      SigningAlgorithm: "ECDSA_SHA_256",
    } as const;
    await expect(live.sign(input, {})).rejects.toThrow("no credentials");
    expect(dropIdle).toHaveBeenCalledOnce();
    await expect(live.sign(input, {})).rejects.toThrow("no credentials");
    expect(dropIdle).toHaveBeenCalledOnce();
  });

  test("are closed before the other side does it", async () => {
    const server = createServer((_request, response) => response.end());
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    server.keepAliveTimeout = 0;
    const { port } = server.address() as AddressInfo;
    const sockets = createSockets(50, 100);
    await answerOf(port, sockets.httpAgent);
    const openSockets = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, open) => resolve(open)));
    expect(await openSockets()).toBe(1);
    await expect.poll(openSockets, { timeout: 5000 }).toBe(0);
    server.close();
  });

  test("are closed after 20 s, and those of a frozen process before the next call", async () => {
    const sockets = createSockets(50);
    for (const agent of [sockets.httpAgent, sockets.httpsAgent]) {
      expect(agent).toMatchObject({ options: { keepAlive: true, timeout: 20_000, scheduling: "lifo" } });
    }
    const dropIdle = vi.fn<() => void>();
    const api: AwsKmsApi = { getPublicKey: async () => ({}), sign: async () => ({}) };
    vi.useFakeTimers({ toFake: ["Date"] });
    const live = withLiveSockets(api, { ...sockets, dropIdle });
    vi.setSystemTime(Date.now() + 19_000);
    await live.getPublicKey({ KeyId: key.arn }, {});
    expect(dropIdle).not.toHaveBeenCalled();
    vi.setSystemTime(Date.now() + 21_000);
    await live.getPublicKey({ KeyId: key.arn }, {});
    expect(dropIdle).toHaveBeenCalledOnce();
  });
});

function answerOf(port: number, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = sendRequest({ host: "127.0.0.1", port, agent }, (response) =>
      response.resume().once("end", resolve),
    );
    request.once("error", reject).end();
  });
}
