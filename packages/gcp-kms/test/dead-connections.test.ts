import { createServer } from "node:http2";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createKeySet, SignerError, signWith, type GuardedSigner, type Signer } from "@signpost/core";
import { openGcpKmsSigner, type GcpKmsClientLike } from "@signpost/gcp-kms";
import { startFakeGcpKms, type FakeGcpKms, type FakeKeyVersion } from "@signpost/test-backends/fake-gcp-kms";
import { startSilentNetwork, type SilentNetwork } from "@signpost/test-backends/silent-network";
import { callOnce } from "../src/call.ts";
import { connect, type Connection } from "../src/connection.ts";
import { ownConnection } from "../src/own-connection.ts";
import { createSockets, useSockets, withLiveSockets } from "../src/sockets.ts";
import { CLIENTS } from "./support/clients.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

let fake: FakeGcpKms;
let version: FakeKeyVersion;

beforeAll(async () => {
  fake = await startFakeGcpKms();
  version = fake.addVersion();
});
afterEach(() => {
  fake.refusePings(false);
  fake.faults.clear();
});
afterAll(() => fake.stop());

const endpointOf = (network: SilentNetwork): string => `http://127.0.0.1:${network.port}`;

/** One attempt of GetPublicKey. */
async function ask(connection: Connection, timeoutMs: number): Promise<void> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new SignerError("timeout", "no answer in time")), timeoutMs);
  const bounds = { timeoutMs, signal: controller.signal };
  const subject = { action: "read", name: version.name };
  await callOnce(connection, subject, bounds, (client, options) =>
    client.getPublicKey({ name: version.name }, options),
  ).finally(() => clearTimeout(timer));
}

/** Counts attempts to sign by the client that made them. */
function countAttempts(): { ofFirstClient(): number } {
  const spy = vi.spyOn(KeyManagementServiceClient.prototype, "asymmetricSign");
  onTestFinished(() => spy.mockRestore());
  return { ofFirstClient: () => spy.mock.contexts.filter((client) => client === spy.mock.contexts[0]).length };
}

describe("a connection that the network lost without a word", () => {
  test("while it was idle is found out by a ping, within the first attempt", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const connection = await connect({ endpoint: endpointOf(network) }, version.name, { timeMs: 100, timeoutMs: 100 });
    await ask(connection, 10_000);
    network.loseOpenOnes();
    await pause(150);
    const startedAt = performance.now();
    const [lost] = await Promise.allSettled([ask(connection, 10_000)]);
    if (lost.status === "rejected") expect(lost.reason).toMatchObject({ code: "unavailable" });
    await ask(connection, 10_000);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(network.connections).toBeGreaterThan(1);
    await connection.close();
  });

  test("a moment ago is left after one attempt, in one call of the signer", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 600, maxAttempts: 8, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    const attempts = countAttempts();
    expect(await signsTruly(signer)).toBe(true);
    expect(attempts.ofFirstClient()).toBe(1);
    network.loseOpenOnes();
    expect(await signsTruly(signer)).toBe(true);
    expect(attempts.ofFirstClient()).toBeLessThanOrEqual(2);
    expect(network.connections).toBe(2);
    await signer.close();
  });

  test("while the process was frozen is left before the first attempt", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 5_000, maxAttempts: 1, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    expect(await signsTruly(signer)).toBe(true);
    network.loseOpenOnes();
    // The monotonic clock and its timers stood still.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 600_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await signsTruly(signer)).toBe(true);
    expect(await signsTruly(signer)).toBe(true);
    expect(network.connections).toBe(2);
    await signer.close();
  });

  test("with many calls on it is left once, by all of them, after one attempt of each", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 600, maxAttempts: 8, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    const attempts = countAttempts();
    await signsTruly(signer);
    expect(attempts.ofFirstClient()).toBe(1);
    network.loseOpenOnes();
    const all = await Promise.all(Array.from({ length: 10 }, () => signsTruly(signer)));
    expect(all.every(Boolean)).toBe(true);
    expect(attempts.ofFirstClient()).toBeLessThanOrEqual(11);
    expect(network.connections).toBe(2);
    await signer.close();
  });

  test("as it did those that were made instead, is left until one is heard", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 250, maxAttempts: 1 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    network.loseNewOnes(true);
    network.loseOpenOnes();
    await vi.waitFor(
      async () => {
        await rejection(signer.sign(newMessage().digest));
        expect(network.connections).toBeGreaterThan(1);
      },
      { timeout: 10_000 },
    );
    network.loseNewOnes(false);
    await vi.waitFor(async () => expect(await signsTruly(signer)).toBe(true), { timeout: 20_000 });
    await signer.close();
  });

  test("is not taken over by a signer that is opened next", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const options = { keyVersion: version.name, endpoint: endpointOf(network) };
    const first = await openGcpKmsSigner(options);
    network.loseOpenOnes();
    const second = await openGcpKmsSigner(options);
    expect(await signsTruly(second)).toBe(true);
    await Promise.all([first.close(), second.close()]);
  });

  test("is left for a place that verify: first proves again", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 300, maxAttempts: 8, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    const { active } = createKeySet([{ signer }]);
    await signWith(active, newMessage().bytes, { verify: "first" });
    fake.faults.on("bad-signature");
    await signWith(active, newMessage().bytes, { verify: "first" });
    network.loseOpenOnes();
    const error = await rejection(signWith(active, newMessage().bytes, { verify: "first" }));
    expect(error).toMatchObject({ code: "bad_signature" });
    await signer.close();
  });
});

describe("a service that is slow", () => {
  const open = (network: SilentNetwork): ReturnType<typeof openGcpKmsSigner> =>
    openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy: false, callTimeoutMs: 500 });

  test("and answers other calls keeps its connection", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const signer = await open(network);
    for (let round = 0; round < 2; round += 1) {
      fake.faults.next("hang");
      let isOver = false;
      const hung = rejection(signer.sign(newMessage().digest)).finally(() => (isOver = true));
      await vi.waitUntil(async () => {
        expect(await signsTruly(signer)).toBe(true);
        return isOver;
      });
      expect(await hung).toMatchObject({ code: "timeout" });
      expect(await signsTruly(signer)).toBe(true);
    }
    expect(network.connections).toBe(1);
    await signer.close();
  });

  test("and answers nothing at all in an attempt gets another connection, and the old one is closed", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const signer = await open(network);
    for (let round = 0; round < 2; round += 1) {
      fake.faults.next("hang");
      expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
      expect(await signsTruly(signer)).toBe(true);
    }
    expect(network.connections).toBe(3);
    await vi.waitFor(() => expect(fake.connections()).toBe(1), 5_000);
    await signer.close();
  });
});

describe("idle connections over REST that the network lost without a word", () => {
  const open = (network: SilentNetwork, attemptTimeoutMs = 400): Promise<GuardedSigner> => {
    const policy = { attemptTimeoutMs, maxAttempts: 8, deadlineMs: 10_000, concurrency: 32 };
    return openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), transport: "rest", policy });
  };
  /** Calls at once, each of which needs a connection. */
  const signAtOnce = async (signer: Signer, count: number): Promise<void> => {
    fake.faults.latencyMs = 50;
    const all = await Promise.all(Array.from({ length: count }, () => signsTruly(signer)));
    fake.faults.clear();
    expect(all.every(Boolean)).toBe(true);
  };

  test.each([1, 4, 16])("%i of them cost a call one attempt", async (count) => {
    await using network = await startSilentNetwork(fake.restPort);
    await using signer = await open(network);
    await signAtOnce(signer, count);
    expect(network.connections).toBeGreaterThanOrEqual(count);
    network.loseOpenOnes();
    expect(await signsTruly(signer)).toBe(true);
    expect(network.usedLost).toBe(1);
  });

  test("cost sixteen calls at once one attempt each", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    await using signer = await open(network);
    await signAtOnce(signer, 20);
    network.loseOpenOnes();
    await signAtOnce(signer, 16);
    await signAtOnce(signer, 20);
    expect(network.usedLost).toBeLessThanOrEqual(16);
  });

  test("cost a process that was frozen no attempt", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    await using signer = await open(network);
    await signAtOnce(signer, 4);
    network.loseOpenOnes();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 21_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await signsTruly(signer)).toBe(true);
    expect(network.usedLost).toBe(0);
  });

  test("cost no more than one attempt where the next one waits for credentials that come late", async () => {
    const idle = { idleMs: 20_000, dropIdle: vi.fn<() => void>() };
    const late = new SignerError("timeout", "Google credentials did not arrive");
    const inner: Connection = {
      call: async () => Promise.reject(late),
      trouble: () => undefined,
      close: async () => {},
    };
    expect(await rejection(ask(withLiveSockets(inner, idle), 1_000))).toBe(late);
    expect(idle.dropIdle).toHaveBeenCalledOnce();
  });

  test("are used on after a refusal and after a caller gave up", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    await using signer = await open(network, 5_000);
    await signAtOnce(signer, 3);
    fake.faults.next("access-denied");
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "access_denied" });
    const caller = new AbortController();
    fake.faults.latencyMs = 100;
    const aborted = rejection(signer.sign(newMessage().digest, { signal: caller.signal }));
    await vi.waitUntil(() => fake.faults.calls.length === 2);
    caller.abort();
    expect(await aborted).toMatchObject({ code: "aborted" });
    await signAtOnce(signer, 2);
    expect(network.connections).toBe(3);
  });

  test("are closed with their signer, and not with another", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    const first = await open(network);
    const second = await open(network);
    await first.close();
    expect(await signsTruly(second)).toBe(true);
    expect(network.connections).toBe(2);
    await second.close();
    await vi.waitFor(() => expect(fake.connections()).toBe(0), 5_000);
  });
});

describe.each(CLIENTS.filter(({ transport }) => transport === "rest"))("over $label", ({ connect: connectClient }) => {
  const clientOf = (port: number): ReturnType<typeof connectClient> =>
    connectClient({ host: "127.0.0.1", grpcPort: 0, restPort: port });

  test("the connections of a given client stay as the caller made them", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    const client = clientOf(network.port);
    const { auth } = client;
    const fetch: unknown = Reflect.get(auth ?? {}, "fetch");
    const signer = await openGcpKmsSigner({ keyVersion: version.name, client });
    expect(await signsTruly(signer)).toBe(true);
    expect(Reflect.get(auth ?? {}, "fetch")).toBe(fetch);
    await signer.close();
    expect(await signsTruly(await openGcpKmsSigner({ keyVersion: version.name, client }))).toBe(true);
    expect(network.connections).toBe(1);
    await client.close();
  });

  test("a client of our own leaves the idle ones after one attempt", async () => {
    await using network = await startSilentNetwork(fake.restPort);
    const sockets = createSockets();
    const create = (): GcpKmsClientLike => {
      const client = clientOf(network.port);
      useSockets(client, sockets);
      return client;
    };
    const connection = withLiveSockets(ownConnection({ create, sockets, forgetAbsence: () => undefined }), sockets);
    fake.faults.latencyMs = 50;
    await Promise.all(Array.from({ length: 4 }, () => ask(connection, 10_000)));
    fake.faults.clear();
    network.loseOpenOnes();
    expect(await rejection(ask(connection, 200))).toMatchObject({ code: "timeout" });
    await ask(connection, 10_000);
    expect(network.usedLost).toBe(1);
    await connection.close();
  });
});

describe("pings", () => {
  test("are sent while a call runs, and not without", async () => {
    const connection = await connect({ endpoint: `http://127.0.0.1:${fake.grpcPort}` }, version.name, {
      timeMs: 50,
      timeoutMs: 1000,
    });
    await ask(connection, 10_000);
    // One that was sent at the end of the call may still arrive.
    await pause(150);
    const before = fake.pings();
    await pause(300);
    expect(fake.pings()).toBe(before);
    fake.faults.latencyMs = 300;
    await ask(connection, 10_000);
    expect(fake.pings()).toBeGreaterThan(before);
    await connection.close();
  });

  test("that are too many for the service cost an attempt, and then there are fewer", async () => {
    const connection = await connect({ endpoint: `http://127.0.0.1:${fake.grpcPort}` }, version.name, {
      timeMs: 50,
      timeoutMs: 1000,
    });
    await ask(connection, 10_000);
    fake.refusePings(true);
    // Long enough for a ping, even on a busy machine.
    fake.faults.latencyMs = 2000;
    expect(await rejection(ask(connection, 10_000))).toMatchObject({ code: "unavailable" });
    fake.faults.latencyMs = 80;
    // grpc-js waits twice as long with each refusal, so that a call of 80 ms ends before the next ping.
    const twice = async (): Promise<void> => {
      await ask(connection, 10_000);
      await ask(connection, 10_000);
    };
    await vi.waitFor(twice, { timeout: 30_000 });
    await connection.close();
  });
});

describe.each(CLIENTS.filter(({ transport }) => transport === "grpc"))("over $label", ({ connect: connectClient }) => {
  test("a call that the service ends with RST_STREAM and CANCEL is a timeout", async () => {
    const server = createServer().on("stream", (stream) => stream.close(8));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connectClient({ host: "127.0.0.1", grpcPort: (server.address() as AddressInfo).port, restPort: 0 });
    const publicKey = String(version.publicKey.export({ type: "spki", format: "pem" }));
    const signer = await openGcpKmsSigner({ keyVersion: version.name, publicKey, client, policy: false });
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout", transient: true });
    await client.close();
    server.close();
  });
});
