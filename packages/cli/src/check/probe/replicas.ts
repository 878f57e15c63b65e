import { ConfigurationError } from "@signpost/core";
import type { ReplicaExchange } from "../rules/replicas.ts";
import { differ } from "../rules/replicas.ts";
import type { Address } from "./connect.ts";
import type { Prober } from "./prober.ts";
import { get } from "./requests.ts";

/** Where one replica is asked. */
export interface Replica {
  /** As it was given. */
  readonly name: string;
  /** Its own URL. A URL without a path gets the path of the key set. */
  readonly url: URL | undefined;
  /** Or an address for the host of the key set. */
  readonly address: Address | undefined;
}

/** Reads a list of URLs, or of `host:port` for the host of the key set. */
export function readReplicas(list: string): readonly Replica[] {
  const replicas = list.split(",").map((name) => readReplica(name.trim()));
  if (replicas.length < 2) throw new ConfigurationError("replicas", "expected two or more, separated by commas");
  return replicas;
}

/** A host, which may be an address of IPv6 in brackets, and a port. */
const ADDRESS = /^(?:\[[0-9a-f:.]+\]|[a-z0-9.-]+):\d{1,5}$/i;

function readReplica(name: string): Replica {
  if (/^https?:\/\//i.test(name) && URL.canParse(name)) {
    const url = new URL(name);
    if (url.username === "" && url.password === "") return { name, url, address: undefined };
    throw new ConfigurationError("replicas", "expected URLs without credentials");
  }
  const colon = name.lastIndexOf(":");
  const port = Number(name.slice(colon + 1));
  if (!ADDRESS.test(name) || port > 65_535) {
    throw new ConfigurationError("replicas", "expected URLs, or addresses such as 10.0.0.7:8443");
  }
  return { name, url: undefined, address: { host: name.slice(0, colon).replaceAll(/[[\]]/g, ""), port } };
}

/** Asks all replicas for the key set at the same time. If they differ, once more: a change takes a moment. */
export async function askReplicas(
  replicas: readonly Replica[],
  jwksUrl: string | undefined,
  prober: Prober,
): Promise<readonly ReplicaExchange[]> {
  if (jwksUrl === undefined || replicas.length === 0) return [];
  const askAll = (): Promise<readonly ReplicaExchange[]> =>
    Promise.all(
      replicas.map(async ({ name, url, address }) => {
        const asked = url === undefined ? jwksUrl : placeAt(url, jwksUrl);
        return { name, exchange: await prober.askAt(get(asked), address) };
      }),
    );
  const exchanges = await askAll();
  return differ(exchanges) ? askAll() : exchanges;
}

function placeAt(replica: URL, jwksUrl: string): string {
  if (replica.pathname !== "/" || replica.search !== "") return replica.href;
  const { pathname, search } = new URL(jwksUrl);
  return new URL(pathname + search, replica).href;
}
