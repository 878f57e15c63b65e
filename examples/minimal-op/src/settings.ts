/** The settings from the environment. */
export interface Settings {
  readonly issuer: string;
  readonly port: number;
  /** JSON as `Schedule` in schedule.ts. */
  readonly scheduleFile: string;
  /** JSON: client id → its registered `jwks` or `jwksUri`. Only public keys. */
  readonly clientsFile: string;
  /** The store of used client assertions. Without it the process keeps them in memory, which works for only one replica. */
  readonly redisUrl: string | undefined;
  /** How long the OP keeps serving after SIGTERM, until load balancers have noticed that it is not ready. */
  readonly drainMs: number;
}

// Deployment tools set unused variables to an empty string. These count as not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    issuer: required(env, "ISSUER"),
    port: wholeNumber(env, "PORT", 3000),
    scheduleFile: required(env, "SCHEDULE_FILE"),
    clientsFile: required(env, "CLIENTS_FILE"),
    redisUrl: redisUrlOf(env["REDIS_URL"] || undefined),
    drainMs: wholeNumber(env, "DRAIN_MS", 5000),
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

/** Looked at here, since Node prints what is no URL when the process ends by it, and this one has a password. */
function redisUrlOf(url: string | undefined): string | undefined {
  if (url === undefined || URL.canParse(url)) return url;
  throw new Error("REDIS_URL is no URL: percent-encode what its password has of / ? # @ and %");
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = Number(env[name] || otherwise);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} is not a whole number: ${env[name]}`);
  return value;
}
