/** The environment of a program whose clock stands still at a time. */
export function frozenAt(instant: string): NodeJS.ProcessEnv {
  const code = `
    const RealDate = Date;
    const time = ${Date.parse(instant)};
    globalThis.Date = class Date extends RealDate {
      constructor(...parts) {
        super(...(parts.length === 0 ? [time] : parts));
      }
      static now() {
        return time;
      }
    };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}
