import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

/** Anything faster than this needs no progress. */
const SHOWN_AFTER_MS = 500;
const FRAME_MS = 100;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const START_OF_LINE = "\r\u001B[K";

/** The line of a terminal that says what a command waits for. */
export interface Progress {
  /** Shows `text` after half a second, until the work has ended. The work can replace the text. Work inside of it shows its own. */
  during<T>(text: string, work: (update: (text: string) => void) => Promise<T>): Promise<T>;
  /** Shows nothing meanwhile: a prompt has the terminal for itself. */
  undisturbed<T>(work: () => Promise<T>): Promise<T>;
}

export function createProgress({ write, colors, width }: Pick<Output, "write" | "colors" | "width">): Progress {
  /** What is waited for, the innermost last. */
  const waiting: { text: string }[] = [];
  const firstFrame = -SHOWN_AFTER_MS / FRAME_MS;
  let frame = firstFrame;
  let prompts = 0;
  let timer: NodeJS.Timeout | undefined;

  const erase = (): void => {
    if (frame >= 0) write(START_OF_LINE);
    frame = firstFrame;
  };
  const draw = (): void => {
    if (prompts > 0) return;
    frame += 1;
    if (frame < 0) return;
    // A line that wraps could not be erased.
    const text = printable(waiting.at(-1)?.text ?? "").slice(0, Math.max(width - 3, 1));
    write(`${START_OF_LINE}${colors.cyan(FRAMES[frame % FRAMES.length] ?? "")} ${text}`);
  };

  return {
    async during(text, work) {
      const entry = { text };
      waiting.push(entry);
      timer ??= setInterval(draw, FRAME_MS);
      try {
        return await work((next) => {
          entry.text = next;
        });
      } finally {
        waiting.splice(waiting.indexOf(entry), 1);
        if (waiting.length === 0) {
          clearInterval(timer);
          timer = undefined;
          erase();
        }
      }
    },
    async undisturbed(work) {
      erase();
      prompts += 1;
      try {
        return await work();
      } finally {
        prompts -= 1;
      }
    },
  };
}

/** For a stream that is no terminal, or one that cannot erase a line. */
export const NO_PROGRESS: Progress = {
  during: (_text, work) => work(() => undefined),
  undisturbed: (work) => work(),
};
