import { expect, test, vi } from "vitest";
import { loadUndici } from "../src/undici.ts";

vi.mock("undici/index.js", () => {
  throw new Error("Cannot find package 'undici' imported from /app/index.js");
});

test("undici that does not load is named, with the reason as the cause", async () => {
  await expect(loadUndici()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "undici",
    message: expect.stringMatching(/^undici: expected the package undici to /) as string,
    cause: expect.any(Error) as Error,
  });
});
