/** What the OP is told by its environment. */
export interface Settings {
  readonly issuer: string;
  readonly port: number;
  /** JSON as `Schedule` in schedule.ts. */
  readonly scheduleFile: string;
  /** JSON: client id → its registered `jwks` or `jwksUri`. Public keys alone. */
  readonly clientsFile: string;
  /** Where used client assertions are kept, for more than one replica. One process keeps them itself without. */
  readonly redisUrl: string | undefined;
  /** How long the OP goes on serving after SIGTERM, until load balancers have seen that it is not ready. */
  readonly drainMs: number;
}

// A variable that is set to nothing, as deployment tools do it, is not set.
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  return {
    issuer: required(env, "ISSUER"),
    port: wholeNumber(env, "PORT", 3000),
    scheduleFile: required(env, "SCHEDULE_FILE"),
    clientsFile: required(env, "CLIENTS_FILE"),
    redisUrl: env["REDIS_URL"] || undefined,
    drainMs: wholeNumber(env, "DRAIN_MS", 5000),
  };
}

function required(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

function wholeNumber(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const value = Number(env[name] || otherwise);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} is no whole number`);
  return value;
}
