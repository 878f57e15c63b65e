import { CliError } from "./cli-error.ts";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-codes.ts";

type Asking = Pick<CliContext, "stdin" | "messages" | "signal" | "interrupt" | "undisturbed">;

/** Whether a person sits at the terminal. */
export function canAsk({ stdin, messages }: Pick<CliContext, "stdin" | "messages">): boolean {
  return stdin.isTTY && messages.isTerminal;
}

/** Asks for a secret, which is not shown. */
export async function askSecret(context: Asking, message: string): Promise<string> {
  requireTerminal(context, message);
  const { password, isCancel } = await import("@clack/prompts");
  const { signal, stdin: input } = context;
  const answer = await context.undisturbed(() =>
    password({ message, mask: "•", signal, input, output: process.stderr }),
  );
  if (isCancel(answer)) throw cancelled(context);
  return answer ?? "";
}

/** Asks a question that yes or no answers. The answer that a careless Enter gives is no. */
export async function askConsent(context: Asking, message: string): Promise<boolean> {
  requireTerminal(context, message);
  const { confirm, isCancel } = await import("@clack/prompts");
  const { signal, stdin: input } = context;
  const answer = await context.undisturbed(() =>
    confirm({ message, initialValue: false, signal, input, output: process.stderr }),
  );
  if (isCancel(answer)) throw cancelled(context);
  return answer;
}

function cancelled(context: Asking): CliError {
  context.interrupt();
  return new CliError(EXIT.usage, "cancelled", "Stopped, as you asked");
}

function requireTerminal(context: Asking, message: string): void {
  if (canAsk(context)) return;
  throw new CliError(EXIT.usage, "no_terminal", `There is no terminal to ask for this: ${message}`);
}
