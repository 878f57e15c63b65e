import { isDeepStrictEqual } from "node:util";
import { ConfigurationError } from "@signpost/core";
import type { Config } from "../config/config.ts";

/** What kube-apiserver asked for once, and what is open. */
const FIXED = ["issuer", "socket", "admin", "audit"] as const;

/**
 * Refuses a configuration that a running signer cannot take over. kube-apiserver asks for the longest lifetime only when it starts:
 * with a shorter one, tokens that it asks for would be refused.
 */
export function requireUnchanged(before: Config, next: Config, lifetimeSeconds: number): void {
  for (const name of FIXED) {
    if (!isDeepStrictEqual(before[name], next[name])) {
      throw new ConfigurationError(name, "changes only with a restart of this signer");
    }
  }
  const { host, port } = before.publicJwks ?? {};
  if (before.publicJwks?.host !== next.publicJwks?.host || port !== next.publicJwks?.port) {
    const now = host === undefined && port === undefined ? "is not served" : "has its port";
    throw new ConfigurationError("publicJwks", `${now} until a restart of this signer`);
  }
  if (next.maxTokenLifetimeSeconds >= lifetimeSeconds) return;
  throw new ConfigurationError(
    "maxTokenLifetimeSeconds",
    `expected at least ${lifetimeSeconds}: kube-apiserver goes on asking for it until this signer and kube-apiserver restart`,
  );
}
