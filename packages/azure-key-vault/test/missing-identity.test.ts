import { expect, test, vi } from "vitest";
import { loadDefaultCredential } from "../src/identity.ts";

vi.mock("@azure/identity", () => {
  throw new Error("Cannot find package '@azure/identity' imported from /app/index.js");
});

test("a default credential that does not load is named, with the reason as the cause", async () => {
  await expect(loadDefaultCredential()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "credential",
    message: expect.stringMatching(/^credential: expected a credential, or @azure\/identity to /) as string,
    cause: expect.any(Error) as Error,
  });
});

test("one that is empty, as the second time in a bundle where it failed, cannot run inside the bundle", async () => {
  vi.doMock("@azure/identity", () => ({ DefaultAzureCredential: undefined }));
  await expect(loadDefaultCredential()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "credential",
    message: expect.stringMatching(
      /"DefaultAzureCredential is missing": its CommonJS cannot run inside this bundle/,
    ) as string,
  });
});
