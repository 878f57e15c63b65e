import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CallOptions, Client, type ClientUnaryCall, credentials, type ServiceError } from "@grpc/grpc-js";
import { loadSync, type MethodDefinition, type ServiceDefinition } from "@grpc/proto-loader";

export interface SignAnswer {
  readonly header: string;
  readonly signature: string;
}

export interface KeysAnswer {
  readonly keys: readonly {
    readonly keyId: string;
    readonly key: Buffer;
    readonly excludeFromOidcDiscovery: boolean;
  }[];
  readonly dataTimestamp: { readonly seconds: number; readonly nanos: number };
  readonly refreshHintSeconds: number;
}

export type Version = "v1" | "v1alpha1";

/** What kube-apiserver does, through protobufjs: an implementation of Protocol Buffers that is not ours. */
export interface KubeClient {
  sign(claims: string, options?: CallOptions): Promise<SignAnswer>;
  fetchKeys(): Promise<KeysAnswer>;
  metadata(): Promise<{ readonly maxTokenExpirationSeconds: number }>;
  /** Sends bytes that need not be a message. */
  raw(method: string, bytes: Buffer, options?: CallOptions): Promise<Buffer>;
  /** Cancels the calls that have no answer yet. */
  cancelAll(): void;
  close(): void;
}

export function connectTo(path: string, version: Version = "v1"): KubeClient {
  const service = definition(version);
  const client = new Client(`unix:${path}`, credentials.createInsecure());
  const open = new Set<ClientUnaryCall>();
  const call = <Answer>(name: string, request: object, options: CallOptions = {}): Promise<Answer> => {
    const method = service[name];
    if (method === undefined) throw new TypeError(`no method ${name}`);
    return unary<Answer>({ client, open }, method, request, options);
  };
  const bytes = (value: object): Buffer => value as Buffer;
  return {
    sign: (claims, options) => call("Sign", { claims }, options),
    fetchKeys: () => call("FetchKeys", {}),
    metadata: () => call("Metadata", {}),
    raw: (name, request, options = {}) =>
      unary(
        { client, open },
        { path: `/${version}.ExternalJWTSigner/${name}`, requestSerialize: bytes, responseDeserialize: bytes },
        request,
        options,
      ),
    cancelAll: () => {
      for (const each of open) each.cancel();
    },
    close: () => client.close(),
  };
}

function unary<Answer>(
  { client, open }: { readonly client: Client; readonly open: Set<ClientUnaryCall> },
  method: Pick<MethodDefinition<object, object>, "path" | "requestSerialize" | "responseDeserialize">,
  request: object,
  options: CallOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      options,
      (error: ServiceError | null, value) => {
        open.delete(call);
        if (error === null) resolve(value as Answer);
        else reject(error);
      },
    );
    open.add(call);
  });
}

function definition(version: Version): ServiceDefinition {
  const text = readFileSync(new URL("external-jwt-signer.proto", import.meta.url), "utf8");
  const folder = mkdtempSync(join(tmpdir(), "signpost-proto-"));
  try {
    const file = join(folder, "service.proto");
    writeFileSync(file, text.replace("package PACKAGE", `package ${version}`));
    const loaded = loadSync(file, { longs: Number, defaults: true });
    return loaded[`${version}.ExternalJWTSigner`] as ServiceDefinition;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
