import { SignerError } from "@signpost/core";
import { incompleteAnswer } from "@signpost/core/adapter";
import type { Vault } from "./vault.ts";

const KID = /^https?:\/\/([^/?#]+)\/keys\/([0-9A-Za-z-]{1,127})\/([0-9A-Za-z]{32})$/;

/** Reads the identifiers in the answers of one vault about one key. */
export interface KidReader {
  /**
   * The version in `kid`.
   *
   * @throws SignerError `integrity` for something else than an identifier; `wrong_key` for one of another key or vault.
   */
  versionOf(kid: unknown, call: string): string;
  /** Whether a URL leads to this vault. */
  isHere(url: URL): boolean;
}

/**
 * A vault in Azure names itself by its host. A proxy or an emulator may name the vault behind it, which then must be the
 * same in all answers. The service ignores case in names, but not in versions.
 */
export function createKidReader(vault: Vault, key: string): KidReader {
  let known = vault.domain === undefined ? undefined : vault.hostname;
  return {
    versionOf: (kid, call) => {
      if (kid === undefined || kid === null || kid === "") throw incompleteAnswer(call, "kid");
      const [, authority = "", name = "", version = ""] = typeof kid === "string" ? (KID.exec(kid) ?? []) : [];
      const host = hostnameOf(authority);
      if (host === undefined) throw new SignerError("integrity", `${call}: kid is not the identifier of a version`);
      known ??= host;
      if (host !== known) throw new SignerError("wrong_key", `${call}: the key of another vault answered`);
      if (name.toLowerCase() !== key.toLowerCase()) {
        throw new SignerError("wrong_key", `${call}: another key answered, expected ${key}`);
      }
      return version;
    },
    isHere: ({ protocol, host, hostname, port }) => {
      // An emulator behind a proxy may not know the scheme and the port by which it is reached.
      if (vault.domain === undefined && hostname === known) return protocol === "https:" || protocol === "http:";
      const isNamed = hostname === known && (port === "" || port === String(vault.port));
      return protocol === "https:" && (host === vault.host || isNamed);
    },
  };
}

function hostnameOf(authority: string): string | undefined {
  const url = `https://${authority}`;
  return authority !== "" && URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** Refuses the answer of another version. */
export function requireVersion(found: string, expected: string, call: string): void {
  if (found === expected) return;
  throw new SignerError("wrong_key", `${call}: version ${found} answered, expected ${expected}`);
}
