import { once } from "node:events";
import { Agent, createServer as createHttpServer, request } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { openGcpKmsSigner } from "@signpost/gcp-kms";
import { createConnecting } from "../src/connecting.ts";
import { rejection } from "./support/signatures.ts";

const KEY = "projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/3";

/** Accepts connections, and says nothing on them. */
let silent: Server;
let port: number;
/** The connections that it has now, and how many it has had. */
const open = new Set<Socket>();
let total = 0;
beforeAll(async () => {
  silent = createServer((socket) => {
    total += 1;
    open.add(socket);
    socket.on("error", () => undefined).on("close", () => open.delete(socket));
    socket.resume();
  });
  await once(silent.listen(0, "127.0.0.1"), "listening");
  ({ port } = silent.address() as AddressInfo);
});
beforeEach(() => {
  total = 0;
});
afterEach(() => {
  for (const socket of open) socket.destroy();
  vi.unstubAllEnvs();
});
afterAll(() => void silent.close());

const untilConnected = async (): Promise<void> => {
  await vi.waitFor(() => expect(total).toBeGreaterThan(0), { timeout: 30_000 });
};
const untilClosed = async (): Promise<void> => {
  await vi.waitFor(() => expect(open.size).toBe(0), { timeout: 30_000 });
};

describe("a connection that is accepted and then silent is closed with its signer", () => {
  let folder: string;
  const tokens = createHttpServer((_asked, response) => {
    const token = { access_token: "ya29.token", token_type: "Bearer", expires_in: 3600 };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(token));
  });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "gcp-connecting-"));
    await once(tokens.listen(0, "127.0.0.1"), "listening");
    const { port: tokenPort } = tokens.address() as AddressInfo;
    await writeFile(join(folder, "subject-token"), "subject-token");
    const file = {
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `http://127.0.0.1:${tokenPort}/token`,
      credential_source: { file: join(folder, "subject-token") },
    };
    await writeFile(join(folder, "credentials.json"), JSON.stringify(file));
  });
  afterAll(async () => {
    tokens.closeAllConnections();
    tokens.close();
    await rm(folder, { recursive: true });
  });

  test.each<[what: string, endpoint: () => string, environment: () => Record<string, string>]>([
    ["with the service, before TLS", () => `https://localhost:${port}`, () => ({})],
    [
      "with a proxy of gRPC",
      () => "https://kms.example",
      () => ({ grpc_proxy: `http://127.0.0.1:${port}`, no_grpc_proxy: "localhost" }),
    ],
    [
      "with a proxy on the way to the source of credentials",
      () => "https://kms.example",
      () => ({ https_proxy: `http://127.0.0.1:${port}`, no_proxy: "kms.example" }),
    ],
  ])("%s", async (_what, endpoint, environment) => {
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", join(folder, "credentials.json"));
    for (const [name, value] of Object.entries(environment())) vi.stubEnv(name, value);
    const caller = new AbortController();
    const options = { callTimeoutMs: 60_000, openDeadlineMs: 60_000, signal: caller.signal };
    const opening = rejection(openGcpKmsSigner({ keyVersion: KEY, endpoint: endpoint(), ...options }));
    await untilConnected();
    caller.abort();
    expect(await opening).toMatchObject({ code: "aborted" });
    await untilClosed();
  });
});

describe("of the connections that a call begins", () => {
  const connected = (): boolean => true;
  const begin = (): Promise<Socket> => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    return once(socket, "connect").then(() => socket);
  };

  test("all are ended that are not made", async () => {
    const connecting = createConnecting();
    const socket = await connecting.run(begin, connected);
    await untilConnected();
    connecting.end();
    expect(socket.destroyed).toBe(true);
    await untilClosed();
  });

  test("those stay on which the service has answered, until a call fails", async () => {
    const connecting = createConnecting();
    const first = await connecting.run(begin, connected);
    connecting.made();
    const second = await connecting.run(begin, connected);
    connecting.failed();
    const third = await connecting.run(begin, connected);
    connecting.end();
    expect([first.destroyed, second.destroyed, third.destroyed]).toEqual([false, false, true]);
    first.destroy();
    second.destroy();
  });

  test("those are ended too that are begun after a connection was lost while it was idle", async () => {
    const connecting = createConnecting();
    await connecting.run(begin, connected);
    connecting.made();
    const again = await connecting.run(begin, () => false);
    connecting.end();
    expect(again.destroyed).toBe(true);
  });

  test("those are ended too that begin after the end", async () => {
    const connecting = createConnecting();
    let goOn = (): void => undefined;
    const waiting = new Promise<void>((resolve) => (goOn = resolve));
    const begun = connecting.run(async () => {
      await waiting;
      return connect(port, "127.0.0.1").on("error", () => undefined);
    }, connected);
    connecting.end();
    goOn();
    const socket = await begun;
    await vi.waitFor(() => expect(socket.destroyed).toBe(true), { timeout: 30_000 });
  });

  test("one of an agent of HTTP is left to its requests", async () => {
    const connecting = createConnecting();
    const agent = new Agent({ keepAlive: true });
    const asked = request({ port, host: "127.0.0.1", agent }).on("error", () => undefined);
    const socket = await connecting.run(async () => {
      asked.end();
      const [found] = (await once(asked, "socket")) as [Socket];
      return found;
    }, connected);
    connecting.end();
    expect([asked.destroyed, socket.destroyed]).toEqual([false, false]);
    asked.destroy();
  });

  test("those of others stay", async () => {
    const connecting = createConnecting();
    await connecting.run(begin, connected);
    const other = await begin();
    connecting.end();
    expect(other.destroyed).toBe(false);
    other.destroy();
  });
});
