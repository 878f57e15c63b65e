export interface Section {
  readonly title: string;
  readonly text: string;
}

/** The numbered steps that the demo tells. */
export function sectionsOf(output: string): readonly Section[] {
  return output
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .map((part) => {
      const [title = "", ...lines] = part.split("\n");
      return { title, text: lines.join("\n") };
    });
}
