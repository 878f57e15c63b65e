import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { answerVault, errorReply, type FakeTransitKey, type VaultReply } from "./fake-vault-transit-answers.ts";
import { createFaultSchedule, faultSwitches, type Fault, type FaultSchedule } from "./faults.ts";

export { dataReply, errorReply } from "./fake-vault-transit-answers.ts";
export type { VaultReply } from "./fake-vault-transit-answers.ts";

/** The faults that this fake supports. */
export const VAULT_TRANSIT_FAULTS: readonly Fault[] = [
  "unreachable",
  "unavailable",
  "throttle",
  "backend-timeout",
  "reset",
  "hang",
  "hang-after-headers",
  "slow",
  "truncated",
  "empty",
  "html",
  "corrupted",
  "wrong-key",
  "foreign-signature",
  "bad-signature",
  "malformed-signature",
  "out-of-range-signature",
  "access-denied",
  "expired-credentials",
  "key-not-found",
  "key-disabled",
  "key-destroyed",
  "unsupported-key",
];

export interface VaultRequest {
  readonly method: string;
  /** Without `/v1/`. */
  readonly path: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface FakeVaultTransit extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly address: string;
  readonly port: number;
  /** The only token that is accepted, at first. */
  readonly token: string;
  /** SPKI PEM of version 1 of the key `transit/keys/op`, the only one at first. */
  readonly publicKey: string;
  readonly faults: FaultSchedule;
  /** In order of arrival. */
  readonly requests: readonly VaultRequest[];
  readonly sockets: { readonly open: number; readonly highest: number; readonly total: number };
  /** Answers logins and other calls about tokens. Default: 404. */
  tokens: (request: VaultRequest) => VaultReply;
  /** The tokens that are accepted. */
  accepted: readonly string[];
  /** Members of the answer to a read that differ from a usual key's. */
  changes: Readonly<Record<string, unknown>>;
  /** Makes another key `transit/keys/NAME`. Returns SPKI PEM of its version 1. */
  addKey(name: string): string;
  /** The next `count` requests about a key get this reply, regardless of faults. */
  replyNext(reply: VaultReply, count?: number): void;
  /** The switches of a conformance harness. `unreachable` closes the port. */
  switches(faults: readonly Fault[]): Partial<Record<Fault, (on: boolean) => Promise<void>>>;
  /** Forgets the open connections, as a firewall or a NAT does: data on them gets no answer. New ones work. */
  forgetConnections(): void;
  /** Drops what `requests` and `faults.calls` have recorded, and what is planned. */
  forgetRequests(): void;
  /** Closes the port and cuts every connection, until `comeBack`. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** Forgets requests, faults, changes, planned replies and the highest number of sockets. */
  reset(): void;
  stop(): Promise<void>;
}

/** A small fake Transit engine, for what a real server cannot be made to do. It holds real keys. */
export async function startFakeVaultTransit(): Promise<FakeVaultTransit> {
  const faults = createFaultSchedule();
  const [op, stranger] = [createKey(), createKey()];
  const keys = new Map([["op", op]]);
  const token = `fake-token-${randomBytes(8).toString("hex")}`;
  const planned: VaultReply[] = [];
  const requests: VaultRequest[] = [];
  const sockets = { open: 0, highest: 0, total: 0 };
  const connections = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();

  const replyTo = (request: VaultRequest): VaultReply => {
    if (request.path.startsWith("auth/")) return fake.tokens(request);
    const operation = request.method === "GET" ? "read" : "sign";
    const fault = faults.take(operation);
    const next = planned.shift();
    if (next !== undefined) return next;
    if (request.token === undefined || !fake.accepted.includes(request.token)) {
      return errorReply(403, "permission denied");
    }
    const path = operation === "read" ? /^transit\/keys\/([^/]+)$/ : /^transit\/sign\/([^/]+)\/sha2-256$/;
    const key = keys.get(path.exec(request.path)?.[1] ?? "");
    if (key === undefined) return errorReply(404, "no handler for route");
    return answerVault({ operation, body: request.body }, fault, { key, stranger, changes: fake.changes });
  };
  const server = createServer((incoming, response) => {
    void handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (forgotten.has(incoming.socket)) return;
    const request = await readRequest(incoming);
    requests.push(request);
    const reply = replyTo(request);
    const waitMs = faults.latencyMs + (reply.delayMs ?? 0);
    if (waitMs > 0) await delay(waitMs);
    send(reply, incoming, response);
  };
  server.on("connection", (socket) => {
    sockets.open += 1;
    sockets.total += 1;
    sockets.highest = Math.max(sockets.highest, sockets.open);
    connections.add(socket);
    socket.once("close", () => {
      sockets.open -= 1;
      connections.delete(socket);
    });
  });
  // Clients decide how long a connection lives: an idle one that the server closes would look like a fault.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;

  const listen = (port: number): Promise<void> =>
    new Promise((listening, failed) => {
      server.once("error", failed);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", failed);
        listening();
      });
    });
  const goAway = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;

  const fake: FakeVaultTransit = {
    address: `http://127.0.0.1:${port}`,
    port,
    token,
    publicKey: op.publicKey,
    faults,
    requests,
    sockets,
    tokens: () => errorReply(404, "no handler for route"),
    accepted: [token],
    changes: {},
    addKey: (name) => {
      const key = createKey();
      keys.set(name, key);
      return key.publicKey;
    },
    replyNext: (reply, count = 1) => {
      for (let index = 0; index < count; index += 1) planned.push(reply);
    },
    switches: (words) => ({
      ...faultSwitches(faults, words),
      ...(words.includes("unreachable") && { unreachable: (on: boolean) => (on ? goAway() : listen(port)) }),
    }),
    forgetConnections: () => {
      for (const socket of connections) forgotten.add(socket);
    },
    forgetRequests: () => {
      faults.clear();
      requests.length = 0;
    },
    goAway,
    comeBack: () => listen(port),
    reset: () => {
      faults.clear();
      planned.length = 0;
      requests.length = 0;
      sockets.highest = sockets.open;
      fake.changes = {};
      fake.accepted = [token];
      fake.tokens = () => errorReply(404, "no handler for route");
    },
    stop: goAway,
    [Symbol.asyncDispose]: goAway,
  };
  return fake;
}

function createKey(): FakeTransitKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return {
    publicKey: publicKey.export({ type: "spki", format: "pem" }).toString(),
    secret: Buffer.from(privateKey.export({ format: "jwk" }).d ?? "", "base64url"),
  };
}

async function readRequest(incoming: IncomingMessage): Promise<VaultRequest> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
  const { headers, method = "", url = "" } = incoming;
  const [token, namespace] = [headers["x-vault-token"], headers["x-vault-namespace"]];
  return {
    method,
    path: url.replace("/v1/", ""),
    token: typeof token === "string" ? token : undefined,
    namespace: typeof namespace === "string" ? namespace : undefined,
    headers,
    body: text === "" ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>),
  };
}

function send(reply: VaultReply, incoming: IncomingMessage, response: ServerResponse): void {
  if (reply.ending === "hang") return;
  if (reply.ending === "reset") return void incoming.socket.resetAndDestroy();
  response.writeHead(reply.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(reply.body),
    ...reply.headers,
  });
  if (reply.ending === "hang-after-headers") response.flushHeaders();
  else response.end(reply.body);
}
