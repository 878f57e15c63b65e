import { CliError } from "./cli-error.ts";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-codes.ts";

/** Reads all of stdin as text, without white space around it. Refuses nothing, and more than `maxBytes`. */
export async function readStdin(context: CliContext, what: string, maxBytes: number): Promise<string> {
  const { stdin, messages, signal } = context;
  if (stdin.isTTY) messages.line(`Type or paste ${what}, then press Ctrl-D on an empty line.`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  const stop = (): void => void stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stdin) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      length += bytes.length;
      if (length > maxBytes)
        throw new CliError(EXIT.usage, "stdin_too_long", `stdin: ${what} is at most ${maxBytes} bytes`);
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const text = Buffer.concat(chunks).toString().trim();
  if (text === "") throw new CliError(EXIT.usage, "stdin_empty", `stdin is empty, and ${what} was expected there`);
  return text;
}
