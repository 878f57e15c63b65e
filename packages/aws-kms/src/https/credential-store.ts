import { elapsedMs, readInstant, type Instant } from "@signpost/core/adapter";
import { CredentialsError } from "../credential-errors.ts";
import type { CredentialProvider } from "../credential-source.ts";
import { NO_CREDENTIALS } from "../error-table.ts";
import type { SigningCredentials } from "./sigv4.ts";

/** Credentials of AWS, as the providers of the SDK return them. */
export interface AwsKmsCredentials {
  /** Access key id, such as `AKIAIOSFODNN7EXAMPLE`. */
  readonly accessKeyId: string;
  /** Secret access key. */
  readonly secretAccessKey: string;
  /** Session token of temporary credentials. Default none. */
  readonly sessionToken?: string | undefined;
  /** When temporary credentials expire. Default: they are kept until AWS refuses them. */
  readonly expiration?: Date | undefined;
}

/** The credentials in use. */
export interface CredentialStore {
  /** The credentials for a request. Rejects with `CredentialsError`. */
  get(): SigningCredentials | Promise<SigningCredentials>;
  /** Replaces credentials that were refused. */
  renew(): Promise<void>;
}

/** Credentials are renewed this long before they expire, while requests go on with them. */
const RENEWAL_MS = 300_000;
/** The pause after a renewal that failed or brought nothing newer, while the credentials are still valid. */
const PAUSE_MS = 5000;

interface Kept {
  readonly credentials: SigningCredentials;
  readonly readAt: Instant;
  readonly validMs: number;
}

/** Keeps credentials for as long as they are valid. Requests that need new ones at the same time share one question. */
export function createCredentialStore(provide: CredentialProvider<unknown>): CredentialStore {
  let kept: Kept | undefined;
  let triedAt: Instant | undefined;
  let asked: Promise<Kept> | undefined;

  const ask = (options?: Record<string, unknown>): Promise<Kept> => {
    asked ??= provide(options)
      .then((identity) => (kept = keep(identity)))
      .finally(() => {
        asked = undefined;
        triedAt = readInstant();
      });
    return asked;
  };
  const renewEarly = (): void => {
    if (asked !== undefined || (triedAt !== undefined && elapsedMs(triedAt) < PAUSE_MS)) return;
    // The credentials in use are still valid, so a failure concerns no request yet.
    ask().catch(() => undefined);
  };
  return {
    get: () => {
      if (kept !== undefined) {
        const leftMs = kept.validMs - elapsedMs(kept.readAt);
        if (leftMs <= RENEWAL_MS && leftMs > 0) renewEarly();
        if (leftMs > 0) return kept.credentials;
      }
      return ask().then(({ credentials }) => credentials);
    },
    renew: async () => {
      // A question that is already under way may bring the refused ones.
      await asked?.catch(() => undefined);
      await ask({ forceRefresh: true });
    },
  };
}

function keep(identity: unknown): Kept {
  const { accessKeyId, secretAccessKey, ...temporary } = (identity ?? {}) as Partial<AwsKmsCredentials>;
  if (!isText(accessKeyId) || !isText(secretAccessKey)) throw unusable("expected accessKeyId and secretAccessKey");
  // As for the SDK, an empty token is none.
  const sessionToken = temporary.sessionToken || undefined;
  if (sessionToken !== undefined && !isText(sessionToken)) throw unusable("expected a sessionToken that is a string");
  const expiresAt = Number(temporary.expiration ?? Number.POSITIVE_INFINITY);
  if (Number.isNaN(expiresAt)) throw unusable("expected an expiration that is a Date");
  // This machine's clock may be wrong, so KMS decides whether these have expired.
  const validMs = Math.max(expiresAt - Date.now(), PAUSE_MS);
  return { credentials: { accessKeyId, secretAccessKey, sessionToken }, readAt: readInstant(), validMs };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function unusable(what: string): CredentialsError {
  return new CredentialsError({ code: "access_denied", text: `${NO_CREDENTIALS.text}: ${what}` }, undefined);
}
