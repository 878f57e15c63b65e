import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { createFaultSchedule, type FaultSchedule } from "./faults.ts";
import { createGrpcServer } from "./fake-gcp-kms-grpc.ts";
import { createFakeKeyring, type FakeKeyVersion, type FakeVersionOptions } from "./fake-gcp-kms-keys.ts";
import { createRestServer } from "./fake-gcp-kms-rest.ts";
import type { FakeService, Intercept } from "./fake-gcp-kms-service.ts";

export { DEFAULT_CRYPTO_KEY } from "./fake-gcp-kms-keys.ts";
export type { FakeKeyVersion, FakeVersionOptions, FakeVersionState } from "./fake-gcp-kms-keys.ts";
export { RpcStatus, STATUS } from "./fake-gcp-kms-service.ts";
export type { Intercept, Operation, RpcResponse, StatusName } from "./fake-gcp-kms-service.ts";

/** A Google Cloud KMS with real keys that makes the faults a test asks for, over both gRPC and REST. */
export interface FakeGcpKms extends AsyncDisposable {
  readonly host: "127.0.0.1";
  readonly grpcPort: number;
  readonly restPort: number;
  readonly faults: FaultSchedule;
  addVersion(options?: FakeVersionOptions): FakeKeyVersion;
  /** Changes correct answers in ways that the shared fault names do not cover. Undefined undoes it. */
  intercept(change: Intercept | undefined): void;
  /** Whether a message about a version that is not enabled includes its state. Default true. */
  sayState(on: boolean): void;
  /** Whether a ping over gRPC ends its connection, with GOAWAY and too_many_pings. Default false. */
  refusePings(on: boolean): void;
  /** Pings received over gRPC. */
  pings(): number;
  /** `false` refuses connections and cuts the open ones; `true` listens on the same ports again. */
  setReachable(on: boolean): Promise<void>;
  /** Open connections, of both kinds. */
  connections(): number;
  /** Idempotent. */
  stop(): Promise<void>;
}

export async function startFakeGcpKms(): Promise<FakeGcpKms> {
  const service: FakeService = {
    faults: createFaultSchedule(),
    keyring: createFakeKeyring(),
    intercept: undefined,
    stateInMessages: true,
    pings: 0,
    refusePings: false,
  };
  const grpc = listener(createGrpcServer(service));
  const rest = listener(createRestServer(service));
  const both = [grpc, rest];
  const ports = await Promise.all(both.map((each) => each.listen(0)));
  const [grpcPort = 0, restPort = 0] = ports;
  const stop = async (): Promise<void> => {
    await Promise.all(both.map((each) => each.close()));
  };
  return {
    host: "127.0.0.1",
    grpcPort,
    restPort,
    faults: service.faults,
    addVersion: service.keyring.add,
    intercept: (change) => {
      service.intercept = change;
    },
    sayState: (on) => {
      service.stateInMessages = on;
    },
    refusePings: (on) => {
      service.refusePings = on;
    },
    pings: () => service.pings,
    setReachable: async (on) => {
      if (on) await Promise.all(both.map((each, index) => each.listen(ports[index] ?? 0)));
      else await stop();
    },
    connections: () => grpc.sockets.size + rest.sockets.size,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface Listener {
  readonly sockets: ReadonlySet<Socket>;
  listen(port: number): Promise<number>;
  close(): Promise<void>;
}

/** Keeps the connections, because a server that closes waits for them and never cuts them. */
function listener(server: Server): Listener {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  return {
    sockets,
    listen: async (port) => {
      if (server.listening) return (server.address() as AddressInfo).port;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return (server.address() as AddressInfo).port;
    },
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
