/** Moves the clocks that caches read, the calendar and the monotonic one, without waiting. Timers are not moved. */
export function shiftTime(seconds: number): () => void {
  const { now: dateNow } = Date;
  const performanceNow = performance.now.bind(performance);
  Date.now = () => dateNow() + seconds * 1000;
  performance.now = () => performanceNow() + seconds * 1000;
  return () => {
    Date.now = dateNow;
    performance.now = performanceNow;
  };
}
