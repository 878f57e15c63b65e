import { resolve } from "node:path";
import { readRegularFile, repeatsSecret } from "@signpost/core/adapter";
import type { AdapterOptions } from "../keys/adapters.ts";
import type { CliContext } from "../program/context.ts";
import { openRest, type RestAnswer, type RestTls } from "./rest.ts";

/** Calls of Vault or OpenBao that signing does not need, with the token of the options or of the environment. */
export interface VaultCalls {
  send(method: "GET" | "POST", path: string, body?: object): Promise<RestAnswer>;
  /** Whether a text repeats a part of the token. */
  repeatsToken(text: string): boolean;
  close(): void;
}

const CALL_MS = 5000;

/** Undefined if there is no address, or if the token comes from a login, which these calls do not repeat. */
export async function openVaultCalls(options: AdapterOptions, context: CliContext): Promise<VaultCalls | undefined> {
  const { env, signal, cwd } = context;
  const address = vaultAddress(options, env);
  const headers = await vaultHeaders(options, context);
  if (address === undefined || headers === undefined) return undefined;
  const server = await openRest(address, tlsOf(options, env), cwd);
  return {
    send: (method, path, body) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      return server.send({ method, path: `/v1/${path}`, headers, body, signal: bounded });
    },
    repeatsToken: (text) => repeatsSecret(text, [headers["x-vault-token"]]),
    close: () => server.close(),
  };
}

/** Where the server is. Undefined if nothing says so. */
export function vaultAddress({ address }: AdapterOptions, env: NodeJS.ProcessEnv): string | undefined {
  const given = textOf(address) ?? variable("ADDR", env);
  return given !== undefined && URL.canParse(given) ? given : undefined;
}

export function tlsOf({ tls }: AdapterOptions, env: NodeJS.ProcessEnv): RestTls {
  const given = Object(tls) as Readonly<Record<string, unknown>>;
  return {
    caFile: textOf(given["caFile"]) ?? variable("CACERT", env),
    certFile: textOf(given["certFile"]) ?? variable("CLIENT_CERT", env),
    keyFile: textOf(given["keyFile"]) ?? variable("CLIENT_KEY", env),
    serverName: textOf(given["serverName"]) ?? variable("TLS_SERVER_NAME", env),
  };
}

/** The headers of each call. Undefined for a login, which these calls do not repeat. */
export async function vaultHeaders(
  options: AdapterOptions,
  { env, cwd }: CliContext,
): Promise<Readonly<Record<string, string>> | undefined> {
  const token = await tokenOf(options, env, cwd);
  if (token === undefined) return undefined;
  const namespace = textOf(options["namespace"]) ?? variable("NAMESPACE", env);
  return {
    "x-vault-request": "true",
    ...(token === AGENT ? {} : { "x-vault-token": token }),
    ...(namespace === undefined ? {} : { "x-vault-namespace": namespace }),
  };
}

const MAX_TOKEN_BYTES = 16_384;

/** An agent or a proxy adds the token. */
const AGENT = Symbol("agent");

async function tokenOf(
  { auth }: AdapterOptions,
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<string | typeof AGENT | undefined> {
  if (auth === undefined) return variable("TOKEN", env);
  const { method, token, path } = Object(auth) as Readonly<Record<string, unknown>>;
  if (method === "none") return AGENT;
  if (typeof token === "function") return String(await token());
  if (typeof path !== "string") return undefined;
  return Buffer.from(await readRegularFile("auth.path", resolve(cwd, path), MAX_TOKEN_BYTES))
    .toString("utf8")
    .trim();
}

/** OpenBao's name for a variable, and then Vault's. */
function variable(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return [env[`BAO_${name}`], env[`VAULT_${name}`]].find((value) => value !== undefined && value !== "");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The parts of a key URI. */
export interface VaultKeyName {
  readonly mount: string;
  readonly key: string;
  readonly version: string | undefined;
}

/** Reads `vault:///transit/keys/op?version=3`. Undefined for anything else. */
export function vaultKeyName(uri: string): VaultKeyName | undefined {
  const [, mount, key, version] = /^vault:\/\/\/(.+)\/keys\/([^/?#]+)(?:\?version=(\d+))?$/i.exec(uri) ?? [];
  return mount === undefined || key === undefined ? undefined : { mount, key, version };
}

/** The `data` of an answer. Undefined if the call was refused. */
export function dataOf({ status, json }: RestAnswer): Readonly<Record<string, unknown>> | undefined {
  const data: unknown = status >= 200 && status < 300 ? Reflect.get(Object(json), "data") : undefined;
  return typeof data === "object" && data !== null ? (data as Record<string, unknown>) : undefined;
}
