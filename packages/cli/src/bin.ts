#!/usr/bin/env node
import { createApp } from "./app.ts";
import { propose } from "./complete/propose.ts";
import { watchEndings } from "./program/endings.ts";
import { EXIT } from "./program/exit-codes.ts";
import { processContext } from "./program/process-context.ts";
import { runProgram } from "./program/run-program.ts";
import { programVersion } from "./program/version.ts";

async function main(): Promise<void> {
  const endings = watchEndings();
  const context = processContext(endings);
  const inputs = process.argv.slice(2);
  let isDone = false;
  // If nothing is left that the command waits for, Node ends it without a word.
  process.once("exit", () => {
    if (isDone || endings.exitCode() !== undefined) return;
    process.stderr.write("error the command ended before its work was done\n");
    process.exitCode = EXIT.backend;
  });
  const app = createApp(programVersion());
  const [command, separator, ...words] = inputs;
  // The scripts of the shells ask for proposals in this form.
  if (command === "complete" && separator === "--") {
    await propose(app, words, context);
    isDone = true;
    return;
  }
  const exitCode = await runProgram(app, inputs, context);
  isDone = true;
  // A request that was given up may keep its connection for a while.
  if (endings.exitCode() !== undefined) process.exit(endings.exitCode());
  process.exitCode = exitCode;
}

await main();
