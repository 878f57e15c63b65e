import { expect } from "vitest";

/** Expects that all calls of both sides were made at each level, and that none failed. */
export function expectMeasured(
  stdout: string,
  { name, calls }: { readonly name: string; readonly calls: number },
): void {
  const { ok, levels } = JSON.parse(stdout) as { readonly ok: boolean; readonly levels: readonly object[] };
  expect(ok).toBe(true);
  expect(levels).toHaveLength(2);
  for (const level of levels) {
    expect(level).toMatchObject({
      signpost: { signatures: calls, failures: 0, errors: {}, repeats: 0 },
      raw: { name, signatures: calls, failures: 0, errors: {} },
      added: { ratio: { p50: expect.any(Number) } },
    });
  }
}
