import type { Output } from "../../terminal/output.ts";
import { tableText } from "../../terminal/table.ts";
import type { Rotation } from "../inspect.ts";
import { drawRotation } from "./draw.ts";
import { eventFinder, nextChange } from "./events.ts";
import { distance, instantText } from "./instants.ts";

/** Prints the picture of a schedule. */
export function printPicture(rotation: Rotation, at: number, output: Output): void {
  for (const text of drawRotation(rotation, at, output).lines) output.line(text);
}

/** Prints what the bars of a picture mean. */
export function printLegend(rotation: Rotation, at: number, output: Output): void {
  output.line(drawRotation(rotation, at, output).legend);
}

/** Prints the exact time of each change that the picture shows, and what happens then. */
export function printEvents(rotation: Rotation, at: number, output: Output): void {
  const { colors } = output;
  const { shown } = drawRotation(rotation, at, output);
  const next = nextChange(rotation, at);
  const eventAt = eventFinder(rotation);
  const rows = shown.changes.map((time) => {
    const { words } = eventAt(time);
    const color = time === next ? colors.bold : time <= at ? colors.dim : (text: string) => text;
    return [color(instantText(time)), color(distance(time, at)), color(words)];
  });
  if (rows.length > 0) output.line(tableText(rows, output));
  const left = [count(shown.earlier, "earlier"), count(shown.later, "later")].filter((part) => part !== undefined);
  if (left.length > 0) output.line(colors.dim(`Not shown: ${left.join(" and ")}. --json has all.`));
}

function count(changes: number, which: string): string | undefined {
  return changes === 0 ? undefined : `${changes} ${which} ${changes === 1 ? "change" : "changes"}`;
}
