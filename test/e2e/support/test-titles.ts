import { readFileSync } from "node:fs";

/**
 * The full titles of the tests in a file, with the titles of the groups around them: `group test`. Read from the source, whose
 * formatter indents each level by two spaces. A title with `%s` stands for a row of a table.
 */
export function testTitlesOf(path: string): readonly string[] {
  const groups: { readonly indent: number; readonly title: string }[] = [];
  const titles: string[] = [];
  const lines = readFileSync(path, "utf8").split("\n");
  for (const [index, line] of lines.entries()) {
    const start = /^( *)(describe|test|it|\])(?![\w])/.exec(line);
    if (start === null) continue;
    const [, { length: indent } = "", word = ""] = start;
    while ((groups.at(-1)?.indent ?? -1) >= indent) groups.pop();
    const title = titleIn(line, lines[index + 1] ?? "");
    if (title === undefined) continue;
    const isGroup = word === "describe" || (word === "]" && opensGroup(lines, index, indent));
    if (isGroup) groups.push({ indent, title });
    else titles.push([...groups.map((group) => group.title), title].join(" "));
  }
  return titles;
}

/** The title in a call such as `test("title"`, `test.each(rows)("title"`, `])("title"`, or on the line after it. */
function titleIn(line: string, next: string): string | undefined {
  const here = /(?:\b(?:describe|test|it)(?:\.\w+)*|\))(?:<.*>)?\((["'`])((?:\\.|(?!\1).)*)\1/.exec(line);
  const after = line.endsWith("(") ? /^\s*(["'`])((?:\\.|(?!\1).)*)\1,$/.exec(next) : null;
  return (here ?? after)?.[2]?.replaceAll(/\\(["'`])/g, "$1");
}

/** Whether the table that ends in this line was begun by `describe.each`. */
function opensGroup(lines: readonly string[], end: number, indent: number): boolean {
  const begin = lines.slice(0, end).findLast((line) => new RegExp(`^ {${indent}}(describe|test|it)\\b`).test(line));
  return begin?.trimStart().startsWith("describe") ?? false;
}
