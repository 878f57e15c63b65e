import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, buildConnector } from "undici";
import { tokenRefusal } from "./fake-azure-key-vault-challenges.ts";
import {
  answerAzure,
  azureError,
  managedHsmRefusal,
  versionsReply,
  type AzureCall,
  type AzureReply,
} from "./fake-azure-key-vault-answers.ts";
import {
  createFakeKey,
  createKeyMaterial,
  type FakeAzureKey,
  type VersionSettings,
} from "./fake-azure-key-vault-keys.ts";
import { createFakeEntra, type FakeEntra } from "./fake-azure-key-vault-tokens.ts";
import { answerManagement, createManagement, type FakeManagement } from "./fake-azure-key-vault-management.ts";
import {
  operationOf,
  readDigest,
  readRequest,
  send,
  type AzureRequest,
  type Operation,
} from "./fake-azure-key-vault-wire.ts";
import { createFaultSchedule, faultSwitches, type Fault, type FaultSchedule } from "./faults.ts";
import { selfSignedCertificate } from "./self-signed.ts";

export { azureError, okReply } from "./fake-azure-key-vault-answers.ts";
export type { AzureReply } from "./fake-azure-key-vault-answers.ts";
export type { AzureRequest } from "./fake-azure-key-vault-wire.ts";
export { createKeyMaterial } from "./fake-azure-key-vault-keys.ts";
export type { FakeAzureKey, FakeKeyVersion } from "./fake-azure-key-vault-keys.ts";

/** The faults that this fake supports. */
export const AZURE_KEY_VAULT_FAULTS: readonly Fault[] = [
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

export interface FakeAzureKeyVault extends AsyncDisposable {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  /** Path of a PEM file with the certificate, to trust. */
  readonly caFile: string;
  readonly entra: FakeEntra;
  /** The key `op`, which exists at first and after `reset`. */
  readonly key: FakeAzureKey;
  readonly faults: FaultSchedule;
  /** In order of arrival. */
  readonly requests: readonly AzureRequest[];
  readonly sockets: {
    readonly open: number;
    readonly highest: number;
    readonly total: number;
    /** Requests on connections that were forgotten. */
    readonly lost: number;
  };
  /** The resource that challenges name. Default: the one of the host's cloud, or `https://HOST` for other hosts. */
  resource: string | undefined;
  /** What the vault calls itself in identifiers and links, as some emulators do. Default: `https://HOST`. */
  calledAs: string | undefined;
  /** The tags of all versions in lists. */
  tags: Readonly<Record<string, string>>;
  /** The header of challenges, instead of the usual one. */
  challenge: string | undefined;
  /** What the caller may not do on a Managed HSM, such as `sign`. */
  readonly denied: Set<"sign" | "read">;
  /** What the caller may do that signing does not need: nothing at first. */
  readonly management: FakeManagement;
  addKey(name: string, settings?: VersionSettings): FakeAzureKey;
  /** The next `count` requests with an accepted token get this reply, regardless of faults. */
  replyNext(reply: AzureReply, count?: number): void;
  /** Drops the replies of `replyNext` that no request has got yet. */
  forgetReplies(): void;
  /** The switches of a conformance harness. `unreachable` closes the port. */
  switches(faults: readonly Fault[]): Partial<Record<Fault, (on: boolean) => Promise<void>>>;
  /** A dispatcher that connects to this fake for each host, such as `op.vault.azure.net`. */
  dispatcher(): Agent;
  /** Forgets the open connections, as a firewall or a NAT does: data on them gets no answer. New ones work. */
  forgetConnections(): void;
  /** Drops what `requests` has recorded. */
  forgetRequests(): void;
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  reset(): void;
  stop(): Promise<void>;
}

const HOSTS = [
  "localhost",
  "127.0.0.1",
  ...["vault.azure.net", "managedhsm.azure.net", "vault.azure.cn", "vault.usgovcloudapi.net"].map(
    (zone) => `*.${zone}`,
  ),
  "*.vault.example",
];

/** A small fake of Azure Key Vault over HTTPS, by its documentation. It is strict, and holds real keys. */
export async function startFakeAzureKeyVault(): Promise<FakeAzureKeyVault> {
  const faults = createFaultSchedule();
  const entra = createFakeEntra();
  const [stranger, material] = [createKeyMaterial(), createKeyMaterial()];
  const keys = new Map<string, FakeAzureKey>();
  const planned: AzureReply[] = [];
  const requests: AzureRequest[] = [];
  const sockets = { open: 0, highest: 0, total: 0, lost: 0 };
  const connections = new Set<Socket>();
  const forgotten = new WeakSet<Socket>();
  const { cert, key: tlsKey } = selfSignedCertificate("fake.vault.example", ...HOSTS);
  const folder = await mkdtemp(join(tmpdir(), "signpost-azure-"));
  const caFile = join(folder, "ca.pem");
  await writeFile(caFile, cert);

  const replyTo = (request: AzureRequest): AzureReply => {
    const operation = operationOf(request);
    const fault = faults.take(operation ?? "unknown");
    const refused = tokenRefusal(request, entra, fake);
    if (refused !== undefined) return refused;
    const next = planned.shift();
    if (next !== undefined) return next;
    if (!/^(?:7\.\d+|\d{4}-\d\d-\d\d)$/.test(request.query.get("api-version") ?? "")) {
      return azureError(400, "BadParameter", "The api-version query parameter is missing or wrong.");
    }
    if (operation !== undefined) return answer(request, operation, fault);
    return answerManagement(request, managed) ?? azureError(404, "NotFound", "There is no such resource.");
  };
  const answer = (request: AzureRequest, operation: Operation, fault: Fault | undefined): AzureReply => {
    const [, , name = "", named] = request.path.split("/");
    const key = keys.get(name.toLowerCase());
    if (key === undefined || key.softDeleted) {
      return azureError(404, "KeyNotFound", `A key with (name/id) ${name} was not found in this key vault.`);
    }
    const vault = fake.calledAs ?? `https://${request.host}`;
    if (fake.denied.has(operation === "sign" ? "sign" : "read")) {
      return managedHsmRefusal(`Microsoft.KeyVault/managedHsm/keys/${operation}/action`, name);
    }
    if (operation === "list") {
      return fault === undefined
        ? versionsReply(vault, key, request.query, fake.tags)
        : versionFault(key, vault, fault);
    }
    const version = named === undefined ? key.latest : key.versions.find((each) => each.version === named);
    if (version === undefined) return azureError(404, "KeyNotFound", "There is no such version of the key.");
    const call = { operation, key, version, vault, digest: new Uint8Array(32) } as const;
    if (operation === "getKey") return answerAzure(call, fault, stranger);
    const digest = readDigest(request);
    if (digest === undefined) return azureError(400, "BadParameter", "Property has invalid value.");
    return answerAzure({ ...call, digest } satisfies AzureCall, fault, stranger);
  };
  const versionFault = (key: FakeAzureKey, vault: string, fault: Fault): AzureReply =>
    answerAzure({ operation: "getKey", key, version: key.latest, vault, digest: new Uint8Array(32) }, fault, stranger);
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (forgotten.has(incoming.socket)) {
      sockets.lost += 1;
      return;
    }
    const request = await readRequest(incoming);
    requests.push(request);
    const reply = replyTo(request);
    const waitMs = faults.latencyMs + (reply.delayMs ?? 0);
    if (waitMs > 0) await delay(waitMs);
    await send(reply, incoming, response);
  };
  const server = createServer({ cert, key: tlsKey }, (incoming, response) => {
    void handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.on("secureConnection", (socket: Socket) => {
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

  const listen = async (port: number): Promise<void> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const goAway = (): Promise<void> =>
    new Promise((closed) => {
      server.close(() => closed());
      server.closeAllConnections();
    });
  const stop = async (): Promise<void> => {
    await goAway();
    await rm(folder, { recursive: true });
  };
  const addKey = (name: string, settings?: VersionSettings): FakeAzureKey => {
    const key = createFakeKey(name, settings);
    keys.set(name.toLowerCase(), key);
    return key;
  };
  await listen(0);
  const managed = {
    keys,
    addKey,
    get management() {
      return fake.management;
    },
    describe: (key: FakeAzureKey) => {
      const call = { operation: "getKey", key, version: key.latest, digest: new Uint8Array(32) } as const;
      return answerAzure({ ...call, vault: fake.calledAs ?? fake.url }, undefined, stranger);
    },
  };
  const { port } = server.address() as AddressInfo;
  let op = addKey("op", { material });

  const fake: FakeAzureKeyVault = {
    url: `https://127.0.0.1:${port}`,
    port,
    caFile,
    entra,
    get key() {
      return op;
    },
    faults,
    requests,
    sockets,
    resource: undefined,
    calledAs: undefined,
    tags: {},
    challenge: undefined,
    denied: new Set(),
    management: createManagement(),
    addKey,
    replyNext: (reply, count = 1) => {
      for (let index = 0; index < count; index += 1) planned.push(reply);
    },
    forgetReplies: () => {
      planned.length = 0;
    },
    switches: (words) => ({
      ...faultSwitches(faults, words),
      ...(words.includes("unreachable") && { unreachable: (on: boolean) => (on ? goAway() : listen(port)) }),
    }),
    dispatcher: () => {
      const connector = buildConnector({ ca: cert });
      const here = { hostname: "127.0.0.1", port: String(port) };
      return new Agent({
        connect: (target, callback) => {
          const servername = /^[\d.]+$/.test(target.hostname) ? undefined : target.hostname;
          connector({ ...target, ...here, ...(servername !== undefined && { servername }) }, callback);
        },
      });
    },
    forgetConnections: () => {
      for (const socket of connections) forgotten.add(socket);
    },
    forgetRequests: () => {
      requests.length = 0;
    },
    goAway,
    comeBack: () => listen(port),
    reset: () => {
      faults.clear();
      planned.length = 0;
      requests.length = 0;
      sockets.highest = sockets.open;
      entra.reset();
      fake.denied.clear();
      Object.assign(fake.management, createManagement());
      fake.resource = undefined;
      fake.calledAs = undefined;
      fake.tags = {};
      fake.challenge = undefined;
      keys.clear();
      op = addKey("op", { material });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return fake;
}
