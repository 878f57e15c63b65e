import { expect, test, vi } from "vitest";
import { loadSdk } from "../src/sdk.ts";

vi.mock("@aws-sdk/client-kms", () => {
  throw new Error("Cannot find package '@aws-sdk/client-kms' imported from /app/index.js");
});

test("an SDK that does not load is named, with the reason as the cause", async () => {
  await expect(loadSdk()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "client",
    message: expect.stringMatching(/^client: expected (?:the peer dependency )?@aws-sdk\/client-kms to /) as string,
    cause: expect.any(Error) as Error,
  });
});

test("an SDK that is empty, as the second time in a bundle where it failed, cannot run inside the bundle", async () => {
  vi.doMock("@aws-sdk/client-kms", () => ({ KMSClient: undefined }));
  await expect(loadSdk()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "client",
    message: expect.stringMatching(/failed with "KMSClient is missing": it.* cannot run inside this bundle/) as string,
  });
});
