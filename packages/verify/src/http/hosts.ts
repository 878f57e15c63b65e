import { elapsedMs, readInstant, wasFrozen } from "@signpost/core/adapter";
import type { Instant } from "@signpost/core/adapter";
import { createRecentlyUsed } from "../recently-used.ts";

/** What is known about the kept connections to one host. */
export interface Host {
  /** Call it after each answer. */
  answered(): void;
  /**
   * Whether the process was frozen since the last answer, or shortly before it. A firewall may have dropped the kept connections
   * without a word, and no timer could close them. After the freeze, the timers of those that were not used need some time.
   */
  mayBeDead(): boolean;
}

/** How long undici and node:http keep an idle connection, and a second for timers that are late. */
const UNTIL_CLOSED_MS = 5000;

/** The hosts that are reached over the same connections, by their origin. */
export interface Hosts {
  of(origin: string): Host;
}

/** An OP fetches the sets of thousands of clients. Connections to the others are not used again soon. */
const MAX_HOSTS = 1000;

export function createHosts(instant: () => Instant): Hosts {
  const hosts = createRecentlyUsed<Host>(MAX_HOSTS);
  return {
    of(origin) {
      const host = hosts.get(origin) ?? createHost(instant);
      hosts.set(origin, host);
      return host;
    },
  };
}

function createHost(instant: () => Instant): Host {
  let answeredAt: Instant | undefined;
  let thawedAt: Instant | undefined;
  return {
    answered: () => {
      const now = instant();
      if (answeredAt !== undefined && wasFrozen(answeredAt, now)) thawedAt = now;
      answeredAt = now;
    },
    mayBeDead: () => {
      const now = instant();
      if (answeredAt !== undefined && wasFrozen(answeredAt, now)) return true;
      return thawedAt !== undefined && elapsedMs(thawedAt, now) < UNTIL_CLOSED_MS;
    },
  };
}

/** Several sets may use the connections of one dispatcher, or of one `fetch`. */
const byConnections = new WeakMap<object, Hosts>();
/** Stands for the connections that all sets without a dispatcher share: those of node:http, and undici's own. */
const DEFAULT_CONNECTIONS = {};

/** The hosts that are reached through a dispatcher or a `fetch`. Default: those that sets without either share. */
export function hostsBehind(connections: object = DEFAULT_CONNECTIONS): Hosts {
  const hosts = byConnections.get(connections) ?? createHosts(readInstant);
  byConnections.set(connections, hosts);
  return hosts;
}
