import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

/** Anything faster than this needs no progress. */
const SHOWN_AFTER_MS = 500;
const FRAME_MS = 100;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const START_OF_LINE = "\r\u001B[K";

/** Shows `text` after half a second, until the work has ended. The work can replace the text. */
export async function withProgress<T>(
  text: string,
  work: (update: (text: string) => void) => Promise<T>,
  { write, colors }: Pick<Output, "write" | "colors">,
): Promise<T> {
  let current = text;
  let frame = -SHOWN_AFTER_MS / FRAME_MS;
  const timer = setInterval(() => {
    frame += 1;
    if (frame >= 0) write(`${START_OF_LINE}${colors.cyan(FRAMES[frame % FRAMES.length] ?? "")} ${printable(current)}`);
  }, FRAME_MS);
  try {
    return await work((next) => {
      current = next;
    });
  } finally {
    clearInterval(timer);
    if (frame >= 0) write(START_OF_LINE);
  }
}
