import { isLoopbackHost, withinDeadline } from "@signpost/core/adapter";
import type { AdapterOptions } from "../keys/adapters.ts";
import { importPackage } from "../keys/import-package.ts";
import { CliError } from "../program/cli-error.ts";
import type { CliContext } from "../program/context.ts";
import { EXIT } from "../program/exit-codes.ts";
import { openRest, type RestAnswer, type RestServer } from "./rest.ts";

/** Calls of Azure Key Vault or a Managed HSM that signing does not need. */
export interface AzureCalls {
  /** `path` without `api-version`. */
  send(method: "GET" | "POST", path: string, body?: object): Promise<RestAnswer>;
  /** A call without a time limit, and without another try after a token was refused. */
  sendBare(method: "GET" | "POST", path: string, body?: object): Promise<RestAnswer>;
  /** The claims of the access token. Empty if it is not a JWT. Not verified, and never printed. */
  tokenClaims(): Promise<Readonly<Record<string, unknown>>>;
  close(): void;
}

/** The parts of a key URI. */
export interface AzureKeyName {
  /** Host and port of the vault. */
  readonly host: string;
  readonly key: string;
  readonly version: string | undefined;
}

const CANONICAL = /^azurekms:\/\/\/?([^/?#]+)\/keys\/([^/?#]+)(?:\/([^/?#]+))?$/i;
const SIGSTORE = /^azurekms:\/\/([^/?#]+)\/([^/?#]+)(?:\/([^/?#]+))?$/i;

/** Reads `azurekms:///HOST/keys/KEY/VERSION`, and sigstore's form. Undefined for anything else. */
export function azureKeyName(uri: string): AzureKeyName | undefined {
  const [, host, key, version] = CANONICAL.exec(uri) ?? SIGSTORE.exec(uri) ?? [];
  return host === undefined || key === undefined ? undefined : { host, key, version };
}

const DOMAINS = /\.((?:vault|managedhsm)\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))$/i;

/** Whether a host is a Managed HSM. */
export function isManagedHsm(host: string): boolean {
  return DOMAINS.exec(hostnameOf(host))?.[1]?.startsWith("managedhsm.") === true;
}

const API_VERSION = "2025-07-01";
const CALL_MS = 10_000;

/** Undefined if the options have no credential, and `@azure/identity` is not installed. */
export async function openAzureCalls(
  host: string,
  options: AdapterOptions,
  { cwd, signal }: CliContext,
): Promise<AzureCalls | undefined> {
  const credential = await credentialOf(options, cwd);
  if (credential === undefined) return undefined;
  const tls = Object(options["tls"]) as Readonly<Record<string, string | undefined>>;
  const server = await openRest(`https://${host}`, { caFile: tls["caFile"], serverName: tls["serverName"] }, cwd);
  const version = typeof options["apiVersion"] === "string" ? options["apiVersion"] : API_VERSION;
  const withVersion = (path: string): string => `${path}${path.includes("?") ? "&" : "?"}api-version=${version}`;
  const tokens = createTokens(server, host, options, credential);
  const sendBare: AzureCalls["sendBare"] = async (method, path, body) => {
    const headers = { authorization: `Bearer ${await tokens.get(withVersion("/keys"))}` };
    return server.send({ method, path: withVersion(path), headers, body });
  };
  return {
    sendBare,
    tokenClaims: async () => claimsOf(await tokens.get(withVersion("/keys"))),
    send: async (method, path, body) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
      const send = async (): Promise<RestAnswer> => {
        const headers = { authorization: `Bearer ${await tokens.get(withVersion("/keys"))}` };
        return server.send({ method, path: withVersion(path), headers, body, signal: bounded });
      };
      const answer = await send();
      if (answer.status !== 401) return answer;
      tokens.forget();
      return send();
    },
    close: () => server.close(),
  };
}

/** Gets a token for a scope. */
type Credential = (scope: string) => Promise<{ readonly token: string; readonly until: number }>;

async function credentialOf({ credential }: AdapterOptions, cwd: string): Promise<Credential | undefined> {
  const given = credential ?? (await defaultCredential(cwd));
  if (given === undefined) return undefined;
  const ask: unknown = typeof given === "function" ? given : Reflect.get(Object(given), "getToken");
  if (typeof ask !== "function") return undefined;
  return async (scope) => {
    // Its error may contain the secret of the identity. The adapter says what it can say of such an error.
    const asking = async (): Promise<unknown> => Reflect.apply(ask, given, [scope, { enableCae: false }]);
    const answer = await withinDeadline(asking, { deadlineMs: CALL_MS }).catch(() => {
      throw new CliError(EXIT.backend, "credentials", "The credential failed");
    });
    const token: unknown = typeof answer === "string" ? answer : Reflect.get(Object(answer), "token");
    if (typeof token !== "string") throw new CliError(EXIT.backend, "credentials", "The credential gave no token");
    const until: unknown = Reflect.get(Object(answer), "expiresOnTimestamp");
    return { token, until: typeof until === "number" ? until : Infinity };
  };
}

async function defaultCredential(cwd: string): Promise<object | undefined> {
  const identity = await importPackage("@azure/identity", cwd);
  const Default: unknown = Reflect.get(identity ?? {}, "DefaultAzureCredential");
  return typeof Default === "function" ? (Reflect.construct(Default, []) as object) : undefined;
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const payload = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
    return Object(JSON.parse(payload)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

interface Tokens {
  /** `path`: what is asked for without a token, if only the server can say for what a token must be. */
  get(path: string): Promise<string>;
  forget(): void;
}

/** A token is replaced this long before it ends. */
const EARLY_MS = 60_000;

function createTokens(server: RestServer, host: string, options: AdapterOptions, credential: Credential): Tokens {
  let known: ReturnType<Credential> | undefined;
  let until = 0;
  const ask = async (path: string): ReturnType<Credential> => {
    const got = await credential(scopeOf(host, options) ?? (await challengedScope(server, host, path)));
    until = got.until;
    return got;
  };
  return {
    get: async (path) => {
      if (known === undefined || Date.now() > until - EARLY_MS) {
        until = Infinity;
        known = ask(path);
        known.catch(() => (known = undefined));
      }
      return (await known).token;
    },
    forget: () => {
      known = undefined;
    },
  };
}

function scopeOf(host: string, { scope }: AdapterOptions): string | undefined {
  if (typeof scope === "string") return scope;
  const domain = DOMAINS.exec(hostnameOf(host))?.[1];
  return domain === undefined ? undefined : `https://${domain.toLowerCase()}/.default`;
}

/** The scope that the server asks for. */
async function challengedScope(server: RestServer, host: string, path: string): Promise<string> {
  const signal = AbortSignal.timeout(CALL_MS);
  const { headers } = await server.send({ method: "GET", path, headers: {}, signal });
  const scope = coveringScope(headers["www-authenticate"], host);
  if (scope !== undefined) return scope;
  throw new CliError(EXIT.backend, "credentials", `${host} does not ask for a token for its resource`, {
    hint: "Name the vault by its own host, or set scope in the options of the adapter",
  });
}

/** As the adapter reads it: a user, a query or a second scope would mean another resource to another parser. */
const SCOPE = /^https:\/\/(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:\/[0-9A-Za-z._~-]*)*$/;

/** The scope in a `WWW-Authenticate` header. Undefined if its resource does not cover the host: a token goes nowhere else. */
export function coveringScope(header: string | undefined, host: string): string | undefined {
  const [, resource = ""] = /\b(?:resource|scope)="([^"]+)"/.exec(header ?? "") ?? [];
  if (!SCOPE.test(resource) || !URL.canParse(resource)) return undefined;
  const name = new URL(resource).hostname;
  const hostname = hostnameOf(host);
  const isDomain = name.includes(".") && !/^[\d.]+$/.test(name) && !isLoopbackHost(hostname);
  const covers = name === hostname || (isDomain && hostname.endsWith(`.${name}`));
  return covers ? `${resource.replace(/\/(?:\.default)?$/, "")}/.default` : undefined;
}

function hostnameOf(host: string): string {
  return new URL(`https://${host}`).hostname;
}

/** What the service says about a refusal: its codes, and never its message, which names callers and addresses. */
export function azureRefusal({ status, json }: RestAnswer): string {
  const error: unknown = Reflect.get(Object(json), "error");
  const code: unknown = Reflect.get(Object(error), "code");
  const inner: unknown = Reflect.get(Object(Reflect.get(Object(error), "innererror")), "code");
  const words = [code, inner].filter((word) => typeof word === "string" && /^\w{1,60}$/.test(word));
  return [status, ...words].join(" ");
}
