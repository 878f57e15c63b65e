/** How long libuv's pool may take. Other work can block its threads forever, such as files on a mount that hangs. Milliseconds. */
const PATIENCE_MS = 250;

/** Verifications that the pool has not done in that time. */
let late = 0;

/** Whether verifications are late in the pool now. The next ones should not wait for it. */
export function isPoolLate(): boolean {
  return late > 0;
}

/** The result of a verification in the pool. If that is late, the result of the same verification here. */
export function orHere(inPool: Promise<void>, verifyHere: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    let turn: NodeJS.Immediate | undefined;
    const verifyLate = (): void => {
      isLate = true;
      late += 1;
      new Promise<void>((done) => done(verifyHere())).then(resolve, reject);
    };
    const timer = setTimeout(() => {
      // After the event loop was busy, the result may already be there. It is read before this.
      turn = setImmediate(verifyLate);
    }, PATIENCE_MS);
    const end = (): void => {
      clearTimeout(timer);
      clearImmediate(turn);
      if (isLate) late -= 1;
    };
    inPool.finally(end).then(resolve, reject);
  });
}
