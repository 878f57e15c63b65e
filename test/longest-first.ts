import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Seconds by file, as `scripts/record-durations.mjs` measured them. A file that is not there is short. */
const durations = JSON.parse(readFileSync(new URL("durations.json", import.meta.url), "utf8")) as Readonly<
  Record<string, number>
>;

/** The longest files start first, so that no worker is left alone with one at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = ({ moduleId }: TestSpecification): number =>
      durations[relative(this.ctx.config.root, moduleId)] ?? 0;
    return files.toSorted((one, other) => seconds(other) - seconds(one));
  }
}
