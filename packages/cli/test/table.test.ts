import { createColors } from "picocolors";
import { expect, test } from "vitest";
import { tableText } from "../src/terminal/table.ts";

const colors = createColors(true);

test("columns are aligned, and colors have no width", () => {
  const rows = [
    ["sig-1", colors.dim("active")],
    ["sig-2026", colors.dim("retiring")],
  ];
  expect(tableText(rows, { width: 80, colors })).toBe(
    `sig-1     ${colors.dim("active")}\nsig-2026  ${colors.dim("retiring")}`,
  );
});

test("the last column wraps at the width of the terminal, and a long word continues on the next line", () => {
  const rows = [["a", `${"word ".repeat(8).trim()} ${"x".repeat(40)}`]];
  const lines = tableText(rows, { width: 30, colors }).split("\n");
  expect(lines.every((line) => line.length <= 30)).toBe(true);
  expect(lines.join("").replaceAll(/[^x]/g, "")).toHaveLength(40);
});

test("a cell of hundreds of lines is printed as soon as hundreds of rows", () => {
  const lines = Array.from({ length: 500 }, (_, index) => `${index} → ${"word ".repeat(10).trim()}`);
  const printed = tableText([["must", lines.join("\n")]], { width: 80, colors });
  expect(printed.split("\n")).toEqual(lines.map((line, index) => `${index === 0 ? "must" : "    "}  ${line}`));
});
