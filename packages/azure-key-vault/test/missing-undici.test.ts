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

test("undici that is empty, as the second time in a bundle where it failed, cannot run inside the bundle", async () => {
  vi.doMock("undici/index.js", () => ({ Agent: undefined }));
  await expect(loadUndici()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "undici",
    message: expect.stringMatching(/failed with "Agent is missing": it.* cannot run inside this bundle/) as string,
  });
});
