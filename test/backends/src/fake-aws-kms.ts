import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { answerKms, errorReply, type KmsState, type WireReply } from "./fake-aws-kms-answers.ts";
import { createFakeKmsKey, type FakeKmsKey, type FakeKmsKeyOptions, type SignatureShape } from "./fake-aws-kms-keys.ts";
import { createFaultSchedule, faultSwitches, type Fault, type FaultSchedule } from "./faults.ts";

export type { FakeKeySpec, FakeKmsKey, FakeKmsKeyOptions, SignatureShape } from "./fake-aws-kms-keys.ts";

/** The faults that this fake supports. */
export const AWS_KMS_FAULTS: readonly Fault[] = [
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

export interface ReceivedRequest {
  readonly operation: string;
  readonly keyId: string;
  readonly accessKeyId: string;
  readonly region: string;
  readonly messageType: string | undefined;
}

export interface FakeAwsKms extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly endpoint: string;
  readonly port: number;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly faults: FaultSchedule;
  /** In order of arrival. */
  readonly requests: readonly ReceivedRequest[];
  readonly sockets: { readonly open: number; readonly highest: number; readonly total: number };
  /** Which signatures it makes from now on. Default `any`. */
  shape: SignatureShape;
  addKey(options?: FakeKmsKeyOptions): FakeKmsKey;
  /** From now on the alias (`alias/…`) points at the key. */
  pointAlias(alias: string, key: FakeKmsKey): void;
  setState(key: FakeKmsKey, state: "Enabled" | "Disabled" | "PendingDeletion"): void;
  /** The next `count` requests get this reply, regardless of faults. */
  replyNext(reply: WireReply | { readonly type: string; readonly status?: number }, count?: number): void;
  /** From now on other access keys get this error. `undefined` accepts all again. */
  acceptOnly(accessKeyIds: readonly string[] | undefined, refusal?: string): void;
  /** The switches of a conformance harness. `unreachable` closes the port. */
  switches(faults: readonly Fault[], operation?: string): Partial<Record<Fault, (on: boolean) => Promise<void>>>;
  /** Forgets the open connections, as a firewall or a NAT does: data on them gets no answer, or a reset. New ones work. */
  forgetConnections(how: "silent" | "reset"): void;
  /** Closes the port and cuts every connection, until `comeBack`. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** Forgets requests, faults and planned replies. */
  reset(): void;
  stop(): Promise<void>;
}

export interface FakeAwsKmsOptions {
  /** Default `eu-west-1`. */
  readonly region?: string | undefined;
}

const ACCOUNT_ID = "444455556666";

/** Starts a fake AWS KMS (GetPublicKey and Sign) that holds real keys and fails on demand. */
export async function startFakeAwsKms(options: FakeAwsKmsOptions = {}): Promise<FakeAwsKms> {
  const region = options.region ?? "eu-west-1";
  const arnPrefix = `arn:aws:kms:${region}:${ACCOUNT_ID}`;
  const faults = createFaultSchedule();
  const names = new Map<string, FakeKmsKey>();
  const states = new Map<FakeKmsKey, "Enabled" | "Disabled" | "PendingDeletion">();
  const stranger = createFakeKmsKey(arnPrefix);
  const planned: WireReply[] = [];
  const sockets = { open: 0, highest: 0, total: 0 };
  const requests: ReceivedRequest[] = [];
  let accepted: { readonly ids: readonly string[]; readonly refusal: string } | undefined;

  const replyTo = (request: ReceivedRequest, body: Readonly<Record<string, unknown>>): WireReply => {
    const fault = faults.take(request.operation);
    const plannedReply = planned.shift();
    if (plannedReply !== undefined) return plannedReply;
    if (accepted !== undefined && !accepted.ids.includes(request.accessKeyId)) return errorReply(accepted.refusal);
    const state: KmsState = {
      shape: fake.shape,
      stranger,
      find: (keyId) => names.get(keyId),
      stateOf: (key) => states.get(key) ?? "Enabled",
    };
    return answerKms({ operation: request.operation, input: body }, fault, state);
  };

  const server = createServer((incoming, response) => {
    void handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  const connections = new Set<Socket>();
  const forgotten = new Map<Socket, "silent" | "reset">();
  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const lost = forgotten.get(incoming.socket);
    if (lost === "reset") incoming.socket.resetAndDestroy();
    if (lost !== undefined) return;
    const body = JSON.parse(await readText(incoming)) as Readonly<Record<string, unknown>>;
    const request = describe(incoming, body);
    requests.push(request);
    const reply = replyTo(request, body);
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
      forgotten.delete(socket);
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

  const fake: FakeAwsKms = {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    region,
    credentials: { accessKeyId: "AKIAFAKEKMSEXAMPLE00", secretAccessKey: `secret-${randomUUID()}` },
    faults,
    requests,
    sockets,
    shape: "any",
    addKey: (key) => {
      const added = createFakeKmsKey(arnPrefix, key);
      names.set(added.keyId, added).set(added.arn, added);
      return added;
    },
    pointAlias: (alias, key) => void names.set(alias, key).set(`${arnPrefix}:${alias}`, key),
    setState: (key, state) => void states.set(key, state),
    replyNext: (reply, count = 1) => {
      const whole = "type" in reply ? errorReply(reply.type, reply.status) : reply;
      for (let index = 0; index < count; index += 1) planned.push(whole);
    },
    acceptOnly: (ids, refusal = "ExpiredTokenException") => {
      accepted = ids === undefined ? undefined : { ids, refusal };
    },
    switches: (words, operation) => ({
      ...faultSwitches(faults, words, operation),
      ...(words.includes("unreachable") && { unreachable: (on: boolean) => (on ? goAway() : listen(port)) }),
    }),
    forgetConnections: (how) => {
      for (const socket of connections) forgotten.set(socket, how);
    },
    goAway,
    comeBack: () => listen(port),
    reset: () => {
      faults.clear();
      planned.length = 0;
      requests.length = 0;
    },
    stop: goAway,
    [Symbol.asyncDispose]: goAway,
  };
  return fake;
}

async function readText(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
  return text;
}

function describe(incoming: IncomingMessage, body: Readonly<Record<string, unknown>>): ReceivedRequest {
  const target = incoming.headers["x-amz-target"];
  const scope = /Credential=([^/,]+)\/[^/]+\/([^/]+)\//.exec(incoming.headers.authorization ?? "");
  const { KeyId, MessageType } = body;
  return {
    operation: typeof target === "string" ? target.replace("TrentService.", "") : "",
    keyId: typeof KeyId === "string" ? KeyId : "",
    accessKeyId: scope?.[1] ?? "",
    region: scope?.[2] ?? "",
    messageType: typeof MessageType === "string" ? MessageType : undefined,
  };
}

function send(reply: WireReply, incoming: IncomingMessage, response: ServerResponse): void {
  if (reply.ending === "hang") return;
  if (reply.ending === "reset") return void incoming.socket.resetAndDestroy();
  response.writeHead(reply.status, {
    "content-type": reply.contentType,
    "content-length": Buffer.byteLength(reply.body),
    "x-amzn-requestid": randomUUID(),
  });
  if (reply.ending === "hang-after-headers") response.flushHeaders();
  else response.end(reply.body);
}
