import { randomBytes } from "node:crypto";

/** What a token was issued for. */
export interface IssuedToken {
  readonly token: string;
  readonly scope: string;
  readonly tenantId: string | undefined;
  readonly claims: string | undefined;
}

/** Options of `getToken`, as the credentials of `@azure/identity` take them. */
export interface FakeGetTokenOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly claims?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly enableCae?: boolean | undefined;
}

/** The identity provider of a fake vault. */
export interface FakeEntra {
  /** The tenant of the vault, which challenges name. */
  readonly tenantId: string;
  /** The tokens in order. */
  readonly issued: readonly IssuedToken[];
  /** How long a token lives. Seconds. */
  lifeSeconds: number;
  /** A vault with continuous access evaluation accepts only tokens with these claims. */
  requiredClaims: string | undefined;
  /** A vault accepts only tokens of its tenant. */
  requiresTenant: boolean;
  /** A credential as those of `@azure/identity`. */
  readonly credential: {
    getToken(
      scopes: string | string[],
      options?: FakeGetTokenOptions,
    ): Promise<{ token: string; expiresOnTimestamp: number }>;
  };
  issue(scope: string, options?: FakeGetTokenOptions): IssuedToken;
  find(token: string): IssuedToken | undefined;
  /** Ends all tokens. */
  revokeAll(): void;
  reset(): void;
}

export function createFakeEntra(): FakeEntra {
  const tenantId = "0f2c7a41-5d5e-4a53-9d0e-6b1f7c2d9e10";
  const issued: IssuedToken[] = [];
  const accepted = new Map<string, IssuedToken>();
  const usual = { lifeSeconds: 3600, requiredClaims: undefined, requiresTenant: false };
  const entra: FakeEntra = {
    tenantId,
    issued,
    ...usual,
    credential: {
      getToken: async (scopes, options) => {
        const [scope = ""] = typeof scopes === "string" ? [scopes] : scopes;
        const { token } = entra.issue(scope, options);
        return { token, expiresOnTimestamp: Date.now() + entra.lifeSeconds * 1000 };
      },
    },
    issue: (scope, { claims, tenantId: tenant } = {}) => {
      const found = { token: `fake-token-${randomBytes(12).toString("hex")}`, scope, claims, tenantId: tenant };
      issued.push(found);
      accepted.set(found.token, found);
      return found;
    },
    find: (token) => accepted.get(token),
    revokeAll: () => accepted.clear(),
    reset: () => {
      Object.assign(entra, usual);
      issued.length = 0;
      accepted.clear();
    },
  };
  return entra;
}
