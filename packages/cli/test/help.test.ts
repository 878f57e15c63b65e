import { generateHelpTextForAllCommands, type Application, type CommandContext } from "@stricli/core";
import { expect, test } from "vitest";
import { createApp } from "../src/app.ts";

// It reads only the texts of commands, and asks for a context that commands get when they run.
const app = createApp("0.0.0") as unknown as Application<CommandContext>;

test.each(generateHelpTextForAllCommands(app))("the help of %s", (_command, text) => {
  expect(text).toContain("EXAMPLES");
  expect(text.split("\n").filter((line) => line.length > 120)).toEqual([]);
  expect(text).toMatchSnapshot();
});
