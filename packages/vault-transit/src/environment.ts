/** A setting from the environment. OpenBao's own variable comes first, as its command-line tool does it. */
export interface FromEnvironment {
  /** Name of the variable. */
  readonly name: string;
  readonly value: string;
}

/** Reads `BAO_…` or `VAULT_…`. An empty variable counts as missing. */
export function readEnvironment(name: string): FromEnvironment | undefined {
  for (const variable of [`BAO_${name}`, `VAULT_${name}`]) {
    const value = process.env[variable];
    if (value !== undefined && value !== "") return { name: variable, value };
  }
  return undefined;
}
