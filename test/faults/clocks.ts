/** Both clocks of this process, as everything in it reads them. Timers run on. */
export interface Clocks extends Disposable {
  /** Milliseconds to add to the wall clock, and to the monotonic clock. */
  stepWall(ms: number): void;
  stepMonotonic(ms: number): void;
  freezeWall(): void;
  freezeMonotonic(): void;
  /** Both run with the machine's again. */
  restore(): void;
}

interface Hand {
  offset: number;
  frozenAt: number | undefined;
}

/** Replaces `Date` and `performance.now` of this process. */
export function takeClocks(): Clocks {
  const MachineDate = Date;
  const machineNow = performance.now.bind(performance);
  const wall: Hand = { offset: 0, frozenAt: undefined };
  const monotonic: Hand = { offset: 0, frozenAt: undefined };
  const wallNow = (): number => wall.frozenAt ?? MachineDate.now() + wall.offset;
  const monotonicNow = (): number => monotonic.frozenAt ?? machineNow() + monotonic.offset;

  const SetDate = new Proxy(MachineDate, {
    construct: (target, args: readonly unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [wallNow()] : args, newTarget) as object,
    get: (target, name, receiver): unknown => (name === "now" ? wallNow : Reflect.get(target, name, receiver)),
  });
  globalThis.Date = SetDate;
  performance.now = monotonicNow;

  const restore = (): void => {
    for (const hand of [wall, monotonic]) Object.assign(hand, { offset: 0, frozenAt: undefined });
  };
  return {
    stepWall: (ms) => void (wall.offset += ms),
    stepMonotonic: (ms) => void (monotonic.offset += ms),
    freezeWall: () => void (wall.frozenAt = wallNow()),
    freezeMonotonic: () => void (monotonic.frozenAt = monotonicNow()),
    restore,
    [Symbol.dispose]: () => {
      globalThis.Date = MachineDate;
      // The method of the prototype is there again.
      Reflect.deleteProperty(performance, "now");
    },
  };
}
