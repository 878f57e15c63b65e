/** What the program's exit code says. */
export const EXIT = {
  /** All is well. */
  ok: 0,
  /** The command did its work, and found something wrong. */
  finding: 1,
  /** The command line, the configuration or an argument is wrong. */
  usage: 2,
  /** A key, a backend or a host did not do its part. */
  backend: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What shells report for a program that SIGINT ended. */
export const INTERRUPTED = 130;
