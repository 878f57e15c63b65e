const FIRST_MS = 1000;
const LONGEST_MS = 30_000;

/** The pause after so many failures: 1 s, 2 s, 4 s and so on, at most 30 s. Up to a fifth less, so that replicas spread. */
export function retryPauseMs(failures: number): number {
  const pause = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
  return Math.round(pause * (1 - Math.random() / 5));
}
