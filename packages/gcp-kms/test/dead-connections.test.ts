import { createServer } from "node:http2";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createKeySet, signWith } from "@signpost/core";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { startFakeGcpKms, type FakeGcpKms, type FakeKeyVersion } from "@signpost/test-backends/fake-gcp-kms";
import { startSilentNetwork, type SilentNetwork } from "@signpost/test-backends/silent-network";
import { callOnce } from "../src/call.ts";
import { connect, type Connection } from "../src/connection.ts";
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
  const bounds = { timeoutMs, signal: AbortSignal.timeout(timeoutMs) };
  const subject = { action: "read", name: version.name };
  await callOnce(connection, subject, bounds, (client, options) =>
    client.getPublicKey({ name: version.name }, options),
  );
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

  test("a moment ago is left after two attempts, in one call of the signer", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 300, maxAttempts: 8, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    expect(await signsTruly(signer)).toBe(true);
    network.loseOpenOnes();
    expect(await signsTruly(signer)).toBe(true);
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

  test("with many calls on it is left once, by all of them", async () => {
    await using network = await startSilentNetwork(fake.grpcPort);
    const policy = { attemptTimeoutMs: 300, maxAttempts: 8, deadlineMs: 10_000 };
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf(network), policy });
    await signsTruly(signer);
    network.loseOpenOnes();
    const all = await Promise.all(Array.from({ length: 10 }, () => signsTruly(signer)));
    expect(all.every(Boolean)).toBe(true);
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

test("a service that is slow and answers keeps its connection", async () => {
  await using network = await startSilentNetwork(fake.grpcPort);
  const signer = await openGcpKmsSigner({
    keyVersion: version.name,
    endpoint: endpointOf(network),
    policy: false,
    callTimeoutMs: 800,
  });
  for (let round = 0; round < 2; round += 1) {
    fake.faults.next("hang");
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
    expect(await signsTruly(signer)).toBe(true);
  }
  expect(network.connections).toBe(1);
  await signer.close();
});

describe("pings", () => {
  test("are sent while a call runs, and not without", async () => {
    const connection = await connect({ endpoint: `http://127.0.0.1:${fake.grpcPort}` }, version.name, {
      timeMs: 50,
      timeoutMs: 1000,
    });
    await ask(connection, 10_000);
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
    fake.faults.latencyMs = 80;
    expect(await rejection(ask(connection, 10_000))).toMatchObject({ code: "unavailable" });
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
