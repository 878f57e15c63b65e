import {
  type sendUnaryData,
  Server,
  type ServerOptions,
  type ServiceDefinition,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { SignerError } from "@signpost/core";
import type { KubernetesSigner } from "../signer-types.ts";
import type { CallLimit } from "./call-limit.ts";
import type { CallReport } from "./events.ts";
import { type Call, type Details, type Method, METHODS } from "./methods.ts";
import { OK, type Outcome, outcomeOf, OVERLOADED } from "./outcome.ts";

/** The versions of KEP-740: kube-apiserver asks for `v1` from 1.34 on, and for `v1alpha1` before. */
const VERSIONS = ["v1", "v1alpha1"] as const;
type Version = (typeof VERSIONS)[number];

const NAMES = Object.keys(METHODS) as readonly Method[];

/** Claims of a token are about 1 KB. A token with more than this does not fit into the header of a request. */
const MAX_MESSAGE_BYTES = 65_536;
/** kube-apiserver uses one connection. */
const MAX_STREAMS = 1000;

const OPTIONS: ServerOptions = {
  "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
  "grpc.max_concurrent_streams": MAX_STREAMS,
  "grpc.enable_channelz": 0,
};

export interface ServiceOptions {
  readonly signer: () => KubernetesSigner;
  /** Told how each call ended, before its answer is sent. A rejection keeps a token from leaving. */
  readonly report: (report: CallReport) => Promise<void> | void;
  readonly limit: CallLimit;
}

/** The end of a call, and the answer if it ended well. */
interface Ended {
  readonly outcome: Outcome;
  readonly body?: Buffer;
  readonly error?: unknown;
  /** Of the token in the answer. */
  readonly kid?: string | undefined;
}

/** The active key, and the one that replaced it while its token was reported. */
const MAX_KEYS_TRIED = 2;

/** The gRPC server with both versions of the service. It listens nowhere. */
export function createService({ signer, report, limit }: ServiceOptions): Server {
  const answer = async (method: Method, call: Call, note: (details: Details) => void): Promise<Ended> => {
    try {
      return { outcome: OK, body: await METHODS[method](call, signer(), note) };
    } catch (error) {
      return { outcome: outcomeOf(error), error };
    }
  };

  const runOnce = async (version: Version, method: Method, call: Call, isAllowed: boolean): Promise<Ended> => {
    const startedAt = performance.now();
    const details: Details = {};
    const note = (more: Details): void => void Object.assign(details, more);
    const ended = isAllowed ? await answer(method, call, note) : { outcome: OVERLOADED };
    const ms = performance.now() - startedAt;
    const { outcome, error }: Ended = ended;
    try {
      await report({ version, method, code: outcome.code, ms, error, ...details });
      return { ...ended, kid: details.kid };
    } catch (failure) {
      return { outcome: outcomeOf(failure) };
    }
  };

  const isPublished = (kid: string): boolean =>
    signer()
      .fetchKeys()
      .keys.some(({ keyId }) => keyId === kid);

  /** A report may take long, such as an audit line on a slow disk. If the key was revoked meanwhile, its token does not leave. */
  const run = async (version: Version, method: Method, call: Call, isAllowed: boolean): Promise<Ended> => {
    for (let keys = 1; keys <= MAX_KEYS_TRIED; keys += 1) {
      const ended = await runOnce(version, method, call, isAllowed);
      if (ended.body === undefined || ended.kid === undefined || isPublished(ended.kid)) return ended;
    }
    return { outcome: outcomeOf(new SignerError("unavailable", "each key was withdrawn before its token left")) };
  };

  const handle = async (
    version: Version,
    method: Method,
    ...[call, reply]: [Call, sendUnaryData<Buffer>]
  ): Promise<void> => {
    const leave = limit.enter();
    try {
      const { outcome, body } = await run(version, method, call, leave !== undefined);
      if (body === undefined) reply({ code: outcome.status, details: outcome.code });
      else reply(null, body);
    } catch (error) {
      const { status, code } = outcomeOf(error);
      reply({ code: status, details: code });
    } finally {
      leave?.();
    }
  };

  const server = new Server(OPTIONS);
  for (const version of VERSIONS) {
    const handlers = NAMES.map((method): [string, UntypedHandleCall] => [
      method,
      (call: Call, reply: sendUnaryData<Buffer>) => void handle(version, method, call, reply),
    ]);
    server.addService(definitionOf(version), Object.fromEntries(handlers));
  }
  return server;
}

/** Messages stay bytes here, so that a malformed one is answered with our code. */
function definitionOf(version: Version): ServiceDefinition {
  const pass = (bytes: Buffer): Buffer => bytes;
  const codecs = {
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  };
  return Object.fromEntries(
    NAMES.map((name) => [
      name,
      { path: `/${version}.ExternalJWTSigner/${name}`, requestStream: false, responseStream: false, ...codecs },
    ]),
  );
}
