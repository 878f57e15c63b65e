import { expect, test, vi } from "vitest";
import { loadClientClass } from "../src/sdk.ts";

vi.mock("@google-cloud/kms", () => {
  throw new Error("Cannot find package '@google-cloud/kms' imported from /app/index.js");
});

test("an SDK that does not load is named, with the reason as the cause", async () => {
  await expect(loadClientClass()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "client",
    message: expect.stringMatching(/^client: expected (?:a client, or )?@google-cloud\/kms to /) as string,
    cause: expect.any(Error) as Error,
  });
});

test("an SDK that is empty, as the second time in a bundle where it failed, cannot run inside the bundle", async () => {
  vi.doMock("@google-cloud/kms", () => ({ KeyManagementServiceClient: undefined }));
  await expect(loadClientClass()).rejects.toMatchObject({
    name: "ConfigurationError",
    argument: "client",
    message: expect.stringMatching(
      /failed with "KeyManagementServiceClient is missing": it.* cannot run inside this bundle/,
    ) as string,
  });
});
