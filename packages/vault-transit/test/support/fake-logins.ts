import {
  errorReply,
  type FakeVaultTransit,
  type VaultReply,
  type VaultRequest,
} from "@signpost/test-backends/fake-vault-transit";

/** What the fake does with logins and tokens. Times are seconds, and may be fractions. */
export interface FakeLogins {
  lease: number;
  renewable: boolean;
  /** The lease that a renewal gives. */
  renewed: number;
  /** Answers instead, to a path such as `auth/approle/login`. */
  refuse: (request: VaultRequest) => VaultReply | undefined;
  /** Requests to a path, in order of arrival. */
  calls(path: string): readonly VaultRequest[];
  /** The tokens of the logins, in order. */
  readonly tokens: readonly string[];
  /** Forgets the tokens and all settings. The fake must have been reset. */
  reset(): void;
}

/** Lets a fake accept logins. Each gives a new token, which is accepted until it is revoked. */
export function acceptLogins(fake: FakeVaultTransit): FakeLogins {
  const tokens: string[] = [];
  const usual = { lease: 3600, renewable: true, renewed: 3600, refuse: () => undefined };
  const answer = (request: VaultRequest): VaultReply => {
    const refusal = logins.refuse(request);
    if (refusal !== undefined) return refusal;
    if (request.path.endsWith("/login")) {
      const token = `login-${tokens.length + 1}-secret`;
      tokens.push(token);
      fake.accepted = [...fake.accepted, token];
      return auth(token, logins.lease, logins.renewable);
    }
    if (request.token === undefined || !fake.accepted.includes(request.token)) {
      return errorReply(403, "permission denied");
    }
    if (request.path === "auth/token/renew-self") return auth(request.token, logins.renewed, true);
    if (request.path !== "auth/token/revoke-self") return errorReply(404);
    fake.accepted = fake.accepted.filter((token) => token !== request.token);
    return { status: 204, body: "" };
  };
  const logins: FakeLogins = {
    ...usual,
    calls: (path) => fake.requests.filter((request) => request.path === path),
    tokens,
    reset: () => {
      Object.assign(logins, usual);
      tokens.length = 0;
      fake.accepted = [];
      fake.tokens = answer;
    },
  };
  return logins;
}

function auth(token: string, lease: number, renewable: boolean): VaultReply {
  return {
    status: 200,
    body: JSON.stringify({ data: null, auth: { client_token: token, lease_duration: lease, renewable } }),
  };
}
