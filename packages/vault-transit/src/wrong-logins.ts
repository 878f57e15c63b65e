import { createHmac, randomBytes } from "node:crypto";
import { SignerError } from "@signpost/core";
import { elapsedOnBothMs, readInstant, type Instant } from "@signpost/core/adapter";
import { areCredentialsRefused } from "./token-calls.ts";

/** A server counts the wrong logins of a role for 15 minutes, unless it is configured otherwise. Milliseconds. */
const COUNTED_MS = 900_000;
/** How many wrong logins a role may have. With the fifth, a server locks it. */
const MAX_PER_ROLE = 4;
/** More roles than any process uses. The oldest one is forgotten. */
const MAX_ROLES = 256;

interface Refusal {
  /** Of the secret id, with a key that only this thread has. */
  readonly hash: string;
  readonly at: Instant;
}

/** What is known of one role. */
interface Role {
  refusals: readonly Refusal[];
  /** The end of the last login. */
  turn: Promise<unknown>;
}

/** Of all signers in this thread, since the server counts their logins together. */
const roles = new Map<string, Role>();
const key = randomBytes(32);

/** Makes a login with a secret id, unless it might lock the role. */
export type CountedLogin = <Lease>(secretId: string, logIn: () => Promise<Lease>) => Promise<Lease>;

/**
 * Counts the wrong logins of a role. Vault and OpenBao lock a role for 15 minutes after five of them. Then its other users,
 * whose secret ids are right, cannot log in either. Logins of one role are made one after the other, so that none is sent
 * before the answer to the last one is known.
 *
 * `what`: the login, with its server and its mount. The function rejects with `access_denied` instead of a login that might
 * lock the role.
 */
export function countedLogins(what: string, roleId: string): CountedLogin {
  return (secretId, logIn) => {
    const role = roleOf(JSON.stringify([what, roleId]));
    const login = role.turn.then(async () => {
      const hash = createHmac("sha256", key).update(secretId).digest("base64");
      role.refusals = role.refusals.filter(({ at }) => elapsedOnBothMs(at) < COUNTED_MS);
      const refusal = refusalAfter(role.refusals, hash);
      if (refusal !== undefined) throw new SignerError("access_denied", `cannot ${what}: ${refusal}. ${ADVICE}`);
      try {
        const lease = await logIn();
        role.refusals = [];
        return lease;
      } catch (error) {
        if (areCredentialsRefused(error)) role.refusals = [...role.refusals, { hash, at: readInstant() }];
        throw error;
      }
    });
    role.turn = login.catch(() => undefined);
    return login;
  };
}

function roleOf(name: string): Role {
  const known = roles.get(name);
  if (known !== undefined) return known;
  for (const [oldest] of roles) {
    if (roles.size < MAX_ROLES) break;
    roles.delete(oldest);
  }
  const role = { refusals: [], turn: Promise.resolve() };
  roles.set(name, role);
  return role;
}

/** Why a login with this secret id is not made. */
function refusalAfter(refusals: readonly Refusal[], hash: string): string | undefined {
  // Once is enough: replicas often share a secret id, and the server counts the logins of all of them.
  if (refusals.some((refusal) => refusal.hash === hash)) {
    return "the server refused this secret id before, so it was not sent again";
  }
  if (refusals.length < MAX_PER_ROLE) return undefined;
  return `the server refused ${MAX_PER_ROLE} logins of this role, so no other secret id was sent`;
}

const ADVICE =
  "Servers lock a role after five wrong logins. Provide another secret id, or wait until 15 minutes after the last refusal";
