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
