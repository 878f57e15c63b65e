import { printable } from "../../terminal/printable.ts";

/** HTML that is safe to be part of a page. Only the function `html` makes it. */
export interface Html {
  readonly markup: string;
}

type Part = Html | string | number | readonly Html[];

/** A template of HTML. Text in it is escaped, and characters that could turn its direction are shown by their codes. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const markup = texts.map((text, index) => (index === 0 ? text : `${markupOf(parts[index - 1] ?? "")}${text}`));
  return { markup: markup.join("") };
}

export const NOTHING: Html = { markup: "" };

function markupOf(part: Part): string {
  if (typeof part === "string" || typeof part === "number") return escaped(String(part));
  return "markup" in part ? part.markup : part.map(({ markup }) => markup).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
