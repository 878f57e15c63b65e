import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { KeyManagementServiceClient } from "@google-cloud/kms";
import { googleAuthLibrary } from "google-gax";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { listGcpKmsKeyVersions, openGcpKmsSigner } from "@signpost/gcp-kms";
import {
  DEFAULT_CRYPTO_KEY,
  type FakeGcpKms,
  type FakeKeyVersion,
  startFakeGcpKms,
} from "@signpost/test-backends/fake-gcp-kms";
import { CLIENTS } from "./support/clients.ts";
import { newMessage, rejection, signsTruly } from "./support/signatures.ts";

let fake: FakeGcpKms;
let version: FakeKeyVersion;
let directory: string;
let metadataServer: Server;
let metadataRequests = 0;

beforeAll(async () => {
  fake = await startFakeGcpKms();
  version = fake.addVersion();
  directory = await mkdtemp(join(tmpdir(), "signpost-gcp-kms-"));
  metadataServer = createServer((_request, response) => {
    metadataRequests += 1;
    response.writeHead(404, { "metadata-flavor": "Google" }).end();
  }).listen(0, "127.0.0.1");
  await once(metadataServer, "listening");
  vi.stubEnv("GCE_METADATA_HOST", `127.0.0.1:${(metadataServer.address() as AddressInfo).port}`);
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(directory, "credentials.json"));
});
afterEach(() => fake.faults.clear());
afterAll(async () => {
  vi.unstubAllEnvs();
  metadataServer.close();
  await fake.stop();
  await rm(directory, { recursive: true });
});

const endpointOf = (transport: "grpc" | "rest"): string =>
  `http://127.0.0.1:${transport === "grpc" ? fake.grpcPort : fake.restPort}`;

describe("a client of our own", () => {
  test("is closed with its signer", async () => {
    const signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint: endpointOf("grpc") });
    expect(fake.connections()).toBeGreaterThan(0);
    await signer.close();
    await vi.waitFor(() => expect(fake.connections()).toBe(0), 5_000);
  });

  test("is closed when opening fails", async () => {
    const keyVersion = `${DEFAULT_CRYPTO_KEY}/cryptoKeyVersions/99`;
    await rejection(openGcpKmsSigner({ keyVersion, endpoint: endpointOf("grpc") }));
    await vi.waitFor(() => expect(fake.connections()).toBe(0), 5_000);
  });

  test("is closed when opening is aborted at the beginning of its first call", async () => {
    const { getPublicKey } = KeyManagementServiceClient.prototype;
    const spy = vi.spyOn(KeyManagementServiceClient.prototype, "getPublicKey");
    for (let turns = 0; turns < 8; turns += 1) {
      const giveUp = new AbortController();
      const giveUpIn = (left: number): unknown =>
        left === 0 ? giveUp.abort() : process.nextTick(() => giveUpIn(left - 1));
      spy.mockImplementation(function (this: KeyManagementServiceClient, ...args: never[]) {
        giveUpIn(turns);
        return Reflect.apply(getPublicKey, this, args) as never;
      } as never);
      const options = { keyVersion: version.name, endpoint: endpointOf("grpc"), signal: giveUp.signal };
      expect(await rejection(openGcpKmsSigner(options))).toMatchObject({ code: "aborted" });
    }
    spy.mockRestore();
    await pause(200);
    await vi.waitFor(() => expect(fake.connections()).toBe(0), 2_000);
  });
});

describe.each(["grpc", "rest"] as const)("a client of our own over %s", (transport) => {
  test("on loopback needs no credentials and asks no metadata server", async () => {
    const endpoint = endpointOf(transport);
    await using signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint, transport });
    expect(await signsTruly(signer)).toBe(true);
    expect(await listGcpKmsKeyVersions(DEFAULT_CRYPTO_KEY, { endpoint, transport })).toHaveLength(1);
    expect(metadataRequests).toBe(0);
  });

  test.each(["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "grpc_proxy"])(
    "on loopback takes no way through the proxy in %s",
    async (variable) => {
      let connections = 0;
      const proxy = createServer().listen(0, "127.0.0.1");
      proxy.on("connection", (socket) => {
        connections += 1;
        socket.destroy();
      });
      await once(proxy, "listening");
      vi.stubEnv(variable, `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
      try {
        const endpoint = endpointOf(transport);
        await using signer = await openGcpKmsSigner({ keyVersion: version.name, endpoint, transport });
        expect(await signsTruly(signer)).toBe(true);
        expect(connections).toBe(0);
      } finally {
        vi.stubEnv(variable, undefined);
        proxy.close();
      }
    },
  );

  test("comes back after the service was away", async () => {
    await using signer = await openGcpKmsSigner({
      keyVersion: version.name,
      endpoint: endpointOf(transport),
      transport,
    });
    await fake.setReachable(false);
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "unavailable", transient: true });
    await fake.setReachable(true);
    await vi.waitFor(async () => expect(await signsTruly(signer)).toBe(true), 15_000);
  });
});

/** A client over REST whose first access token takes a while, as from a slow metadata server. */
function slowTokenClient(tokenMs: number): KeyManagementServiceClient {
  const authClient = new googleAuthLibrary.OAuth2Client();
  authClient.refreshHandler = async () => {
    await pause(tokenMs);
    return { access_token: "late", expiry_date: Date.now() + 3_600_000 };
  };
  const { host: apiEndpoint, restPort: port } = fake;
  return new KeyManagementServiceClient({ fallback: true, protocol: "http", apiEndpoint, port, authClient });
}

describe("an access token that comes late, over REST", () => {
  const open = (client: KeyManagementServiceClient): ReturnType<typeof openGcpKmsSigner> => {
    const publicKey = String(version.publicKey.export({ type: "spki", format: "pem" }));
    return openGcpKmsSigner({ keyVersion: version.name, publicKey, client, policy: false, callTimeoutMs: 100 });
  };

  // A signal or a timeout given to the client would end the process here: its request body is destroyed before
  // anybody listens to it. The test runner fails on such an error.
  test("is a timeout, and the call that was given up is never made", async () => {
    const signer = await open(slowTokenClient(300));
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "timeout" });
    await pause(500);
    expect(fake.faults.calls).toEqual([]);
    // On a busy machine, the first call takes longer than it may.
    await vi.waitFor(async () => expect(await signsTruly(signer)).toBe(true), { timeout: 20_000 });
  });

  test("and an abort meanwhile releases the caller", async () => {
    const signer = await open(slowTokenClient(300));
    const signal = AbortSignal.timeout(20);
    expect(await rejection(signer.sign(newMessage().digest, { signal }))).toMatchObject({ code: "aborted" });
    await pause(500);
    expect(fake.faults.calls).toEqual([]);
  });
});

describe.each(CLIENTS.filter(({ transport }) => transport === "rest"))(
  "a proxy in between, over $label",
  ({ connect }) => {
    test.each([
      [403, "access_denied"],
      [404, "unavailable"],
      [407, "unavailable"],
      [408, "timeout"],
      [413, "unavailable"],
      [425, "unavailable"],
      [502, "unavailable"],
    ])("that answers %i with a page of its own is %s", async (status, code) => {
      const proxy = createServer((_request, response) => {
        response.writeHead(status, { "content-type": "text/html" }).end("<html></html>");
      }).listen(0, "127.0.0.1");
      await once(proxy, "listening");
      const client = connect({ host: "127.0.0.1", grpcPort: 0, restPort: (proxy.address() as AddressInfo).port });
      const opening = openGcpKmsSigner({ keyVersion: version.name, client, openDeadlineMs: 500 });
      expect(await rejection(opening)).toMatchObject({ code });
      await client.close();
      proxy.close();
      proxy.closeAllConnections();
    });

    test.each([
      [404, "unavailable"],
      [429, "throttled"],
      [503, "unavailable"],
    ])("that answers %i with JSON of its own is %s", async (status, code) => {
      const gateway = createServer((_request, response) => {
        response.writeHead(status, { "content-type": "application/json" }).end('{"message":"no healthy upstream"}');
      }).listen(0, "127.0.0.1");
      await once(gateway, "listening");
      const client = connect({ host: "127.0.0.1", grpcPort: 0, restPort: (gateway.address() as AddressInfo).port });
      const opening = openGcpKmsSigner({ keyVersion: version.name, client, policy: { maxAttempts: 1 } });
      expect(await rejection(opening)).toMatchObject({ code });
      await client.close();
      gateway.close();
      gateway.closeAllConnections();
    });
  },
);

describe("without credentials", () => {
  const publicKey = (): string => String(version.publicKey.export({ type: "spki", format: "pem" }));
  /** TLS and credentials, and nobody who listens. */
  const endpoint = "https://127.0.0.1:9";

  test("health names the service that a variable selects for the client of the adapter", async () => {
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", "a.example");
    const pinned = { keyVersion: version.name, publicKey: publicKey() };
    await using own = await openGcpKmsSigner(pinned);
    await using other = await openGcpKmsSigner({ ...pinned, endpoint });
    vi.stubEnv("GOOGLE_CLOUD_UNIVERSE_DOMAIN", undefined);
    expect(own.health().notes).toContain("endpoint https://cloudkms.a.example, from GOOGLE_CLOUD_UNIVERSE_DOMAIN");
    expect(other.health().notes.join()).not.toContain("a.example");
  });

  test("a pinned key opens, and signing says what is missing", async () => {
    const signer = await openGcpKmsSigner({
      keyVersion: version.name,
      publicKey: publicKey(),
      endpoint,
      policy: false,
    });
    const error = await rejection(signer.sign(newMessage().digest));
    expect(error).toMatchObject({
      code: "access_denied",
      message: expect.stringMatching(
        /: no usable Google credentials were found: the file \/.*credentials\.json is missing$/,
      ),
      uri: `gcpkms://${version.name}`,
      cause: expect.objectContaining({ message: expect.stringContaining("credentials.json") }),
    });
    await signer.close();
  });

  test("a client that was given is never called after its start failed, which would end the process", async () => {
    const client = new KeyManagementServiceClient({ apiEndpoint: "127.0.0.1", port: fake.grpcPort });
    for (let round = 0; round < 2; round += 1) {
      expect(await rejection(openGcpKmsSigner({ keyVersion: version.name, client }))).toMatchObject({
        code: "access_denied",
        cause: expect.objectContaining({ message: expect.stringContaining("credentials.json") }),
      });
    }
    expect(fake.faults.calls).toEqual([]);
  });

  test("and with them a moment later, the same signer goes on", async () => {
    const signer = await openGcpKmsSigner({
      keyVersion: version.name,
      publicKey: publicKey(),
      endpoint,
      policy: false,
    });
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "access_denied" });
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await writeFile(
      join(directory, "credentials.json"),
      JSON.stringify({
        type: "service_account",
        project_id: "signpost-test",
        client_email: "op@signpost-test.iam.gserviceaccount.com",
        private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      }),
    );
    // Nobody listens: the call was made.
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "unavailable" });
    await signer.close();
  });
});

// Node keeps connections over REST, which the tests above would count.
describe("a client of our own", () => {
  test.each(["grpc", "rest"] as const)("over %s signs after its token was refused once", async (transport) => {
    await using signer = await openGcpKmsSigner({
      keyVersion: version.name,
      endpoint: endpointOf(transport),
      transport,
      policy: { maxAttempts: 1 },
    });
    fake.faults.next("expired-credentials");
    expect(await signsTruly(signer)).toBe(true);
    fake.faults.next("expired-credentials", 2);
    expect(await rejection(signer.sign(newMessage().digest))).toMatchObject({ code: "access_denied" });
  });
});
